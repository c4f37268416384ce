"""One call to a model: reserved before it is sent, capped, retried within bounds, settled after.

A call is tried again for what passes by itself (a busy server, a lost connection, no answer in time); each try has
records of its own. What cannot pass (a wrong key, an unknown model) is :class:`~aide_jupyter.errors.ModelUnusable`
at once. The callbacks ``reserve`` and ``settle`` run in the caller's event loop, one at a time, so concurrent calls
cannot overspend.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import records as r
from ..errors import ModelError, ModelUnusable
from . import wire
from .failures import TRANSIENT, Failure
from .prices import likely_tokens, worst_prompt_tokens
from .prompts import Messages
from .routes import Route, key_advice, route

FEWEST_TOKENS = 1_024
LONGEST_WAIT = 60.0
QUICKEST_LIMIT = 60.0


@dataclass(frozen=True)
class ToolSpec:
    """A function that the model is asked to call, its arguments as a JSON schema."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer. ``tool_arguments`` is JSON as the model wrote it. ``tokens`` and ``cost`` are of the last try alone;
    ``cost`` is None where the price is unknown; ``estimated`` says that the provider reported no usage."""

    text: str
    tool_arguments: str | None
    tokens: r.Tokens
    cost: float | None
    estimated: bool
    finish_reason: str
    model: str
    attempts: int
    max_tokens: int

    @property
    def cut(self) -> bool:
        """Whether it ended because it had reached its length limit."""
        return self.finish_reason in ("length", "max_tokens")


class Calls:
    """Makes the calls of one run. All methods must be called in one event loop.

    Parameters
    ----------
    reserve, settle
        Called with a :class:`~aide_jupyter.records.Spent` before and after each try. ``reserve`` may raise
        :class:`~aide_jupyter.errors.BudgetSpent`, and then nothing is sent.
    base_url
        The address of a server of one's own, for every model but ``offline``.
    price
        US dollars per million tokens (prompt, completion), for models whose price is not known.
    first_call
        The number of the next call in the journal.
    attempts, attempt_seconds, call_seconds
        Most tries of a call; the most seconds of one, and of all with the waiting between.
    mask
        Applied to every message just before it is sent; removes the secrets that the server knows.
    sleep
        Waits between tries; tests pass their own.
    """

    def __init__(
        self,
        *,
        reserve: Callable[[r.Spent], None],
        settle: Callable[[r.Spent], None],
        base_url: str | None = None,
        price: tuple[float, float] | None = None,
        first_call: int = 1,
        seed: int = 0,
        mask: Callable[[str], str] = str,
        environ: Mapping[str, str] | None = None,
        attempts: int = 6,
        attempt_seconds: float = 300.0,
        call_seconds: float = 900.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._reserve, self._settle = reserve, settle
        self._base_url, self._price = base_url, price
        self._next_call = first_call
        self._environ = os.environ if environ is None else environ
        self._attempts, self._attempt_seconds, self._call_seconds = attempts, attempt_seconds, call_seconds
        self._sleep = sleep
        self._jitter = random.Random(f"retries:{seed}")  # noqa: S311  it spreads retries, it protects nothing
        self._routes: dict[str, Route] = {}
        self._mask = mask
        self._answered: dict[tuple[str, str], tuple[int, float]] = {}

    async def complete(
        self,
        purpose: str,
        choice: r.ModelChoice,
        messages: Messages,
        *,
        tool: ToolSpec | None = None,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        deadline: float | None = None,
        candidate: str | None = None,
    ) -> Reply:
        """Make one call, in as many tries as it takes and is allowed.

        Parameters
        ----------
        purpose
            What the call is for, as it stands in its records.
        tool, schema
            A tool that the model must call, or a JSON schema that its text must fit; left out of the request where
            the provider takes neither.
        max_tokens
            The longest reply. Halved, down to ``FEWEST_TOKENS``, where the model's context is too small for it.
        deadline
            Seconds for all tries together; ``call_seconds`` unless given.

        Raises
        ------
        ModelUnusable
            No call to this model can succeed.
        ModelError
            All tries failed, or the model refused this prompt.
        BudgetSpent
            Raised by ``reserve``.
        """
        found = await self.route(choice)
        until = time.monotonic() + (self._call_seconds if deadline is None else deadline)
        request = _Request(purpose, choice, found, messages, tool, schema, max_tokens, candidate)
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._try(request, attempt, until)
            except Failure as failure:
                last = failure
            if last.kind == "length" and request.max_tokens > FEWEST_TOKENS:
                request = replace(request, max_tokens=max(FEWEST_TOKENS, request.max_tokens // 2))
                continue
            if last.kind not in TRANSIENT:
                raise _for_person(last, choice, found)
            wait = self._wait(attempt, last)
            if attempt == self._attempts or time.monotonic() + wait >= until:
                break
            await self._sleep(wait)
        asked = f" It asks to wait {last.retry_after:.0f} s." if last.retry_after else ""
        raise ModelError(
            f"The model {choice.model} gave no answer in {attempt} tries; at the last, {last.message}.{asked}",
            "Resume later, or choose another model.",
        )

    async def route(self, choice: r.ModelChoice) -> Route:
        """Where calls to this model go; found out once."""
        if choice.model not in self._routes:
            self._routes[choice.model] = await route(
                choice.model, base_url=self._base_url, price=self._price, environ=self._environ
            )
        return self._routes[choice.model]

    async def _try(self, request: _Request, attempt: int, until: float) -> Reply:
        """One try: reserve, send, settle. However it ends, it is settled."""
        worst = r.Tokens(
            prompt=worst_prompt_tokens(request.messages, request.tool.schema if request.tool else request.schema),
            completion=request.max_tokens,
        )
        reserved = r.Spent(
            call=self._next_call,
            phase="reserved",
            purpose=request.purpose,
            model=request.choice.model,
            tokens=worst,
            cost=request.route.worst_cost(worst),
            candidate=request.candidate,
        )
        self._next_call += 1
        self._reserve(reserved)
        settled = reserved.model_copy(update={"phase": "settled", "estimated": True, "error": "cut off"})
        started = time.monotonic()
        seconds = min(self._patience(request, attempt), max(0.0, until - started))
        try:
            async with asyncio.timeout(seconds):
                answer = await wire.send(request.call(self._attempt_seconds, self._mask), self._environ)
        except TimeoutError:
            settled = settled.model_copy(update={"error": f"no answer in {seconds:.0f} s"})
            raise Failure("timeout", f"there was no answer in {seconds:.0f} s", charged=True) from None
        except Failure as failure:
            settled = settled.model_copy(update={"error": failure.message} | ({} if failure.charged else _NOTHING))
            raise
        else:
            settled = _settled(reserved, request, answer)
            self._note(request, time.monotonic() - started)
        finally:
            self._settle(settled)
        return Reply(
            text=answer.text,
            tool_arguments=answer.tool_arguments,
            tokens=settled.tokens,
            cost=settled.cost,
            estimated=settled.estimated,
            finish_reason=answer.finish_reason,
            model=request.choice.model,
            attempts=attempt,
            max_tokens=request.max_tokens,
        )

    def _patience(self, request: _Request, attempt: int) -> float:
        """Seconds to wait for an answer. A first try is given up early where the model has been far quicker so far:
        most servers that hang do so for one request, and the next is answered at once."""
        answers, slowest = self._answered.get((request.choice.model, request.purpose), (0, 0.0))
        if attempt > 1 or answers < 3:
            return self._attempt_seconds
        return min(self._attempt_seconds, max(QUICKEST_LIMIT, 20 * slowest))

    def _note(self, request: _Request, seconds: float) -> None:
        key = request.choice.model, request.purpose
        answers, slowest = self._answered.get(key, (0, 0.0))
        self._answered[key] = answers + 1, max(slowest, seconds)

    def _wait(self, attempt: int, failure: Failure) -> float:
        """Seconds before the next try: what the provider asks for, else doubling from one, with jitter."""
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= LONGEST_WAIT else float("inf")
        return min(LONGEST_WAIT, 2.0 ** (attempt - 1)) * self._jitter.uniform(0.5, 1.0)


_NOTHING: dict[str, Any] = {"tokens": r.Tokens(), "cost": 0.0, "estimated": False}


@dataclass(frozen=True)
class _Request:
    purpose: str
    choice: r.ModelChoice
    route: Route
    messages: Messages
    tool: ToolSpec | None
    schema: Mapping[str, Any] | None
    max_tokens: int
    candidate: str | None

    def call(self, timeout: float, mask: Callable[[str], str]) -> wire.Call:
        """The request as it is sent."""
        messages = [{**message, "content": mask(message["content"])} for message in self.messages]
        arguments: dict[str, Any] = {}
        if self.choice.temperature is not None:
            arguments["temperature"] = self.choice.temperature
        if self.tool is not None:
            function = {"name": self.tool.name, "description": self.tool.description, "parameters": self.tool.schema}
            arguments["tools"] = [{"type": "function", "function": function}]
            arguments["tool_choice"] = {"type": "function", "function": {"name": self.tool.name}}
        elif self.schema is not None:
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": self.schema, "strict": True},
            }
        one = self.route
        return wire.Call(one.model, messages, self.max_tokens, timeout, one.api_base, one.api_key, arguments)


class FormRefused(ModelUnusable):
    """The provider does not take the request as it was made."""


def _settled(reserved: r.Spent, request: _Request, answer: wire.Answer) -> r.Spent:
    estimated = answer.prompt_tokens is None or answer.completion_tokens is None
    if estimated:
        found = sum(likely_tokens(message["content"]) for message in request.messages)
        written = likely_tokens(answer.text + (answer.tool_arguments or ""))
        tokens = r.Tokens(prompt=found, completion=written)
    else:
        tokens = r.Tokens(prompt=answer.prompt_tokens or 0, completion=answer.completion_tokens or 0)
    price = request.route.price
    cost = request.route.cost(tokens) if estimated or answer.cost is None or price is None else answer.cost
    update = {"phase": "settled", "tokens": tokens, "cost": cost, "estimated": estimated}
    return reserved.model_copy(update=update)


def _for_person(failure: Failure, choice: r.ModelChoice, found: Route) -> ModelError:
    """The error that ends a call for good, and what to do about it."""
    where = f"The model {choice.model}"
    if failure.kind == "key":
        return ModelUnusable(f"{where} cannot be used: {failure.message}.", key_advice(found))
    if failure.kind == "model":
        return ModelUnusable(f"{where} is not known to its server: {failure.message}", "Check the name of the model.")
    if failure.kind == "quota":
        return ModelUnusable(f"{where} cannot be used: {failure.message}", "Check the account's credit and limits.")
    if failure.kind == "rejected":
        return FormRefused(f"{where} did not take the request: {failure.message}", "Choose another model.")
    if failure.kind == "length":
        return ModelError(
            f"The prompt does not fit {where[4:]}: {failure.message}", "Choose one with a longer context."
        )
    return ModelError(f"{where} refused to answer this prompt: {failure.message}")
