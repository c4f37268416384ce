"""What the engine asks of models: a program, a review, a report. Each is a call, its reading and at most one repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from .. import records as r
from ..errors import ModelUnusable
from ..untrusted import Untrusted
from . import wire
from .calls import Calls, FormRefused, Reply, ToolSpec
from .prompts import Messages, repair_messages
from .replies import REVIEW_SCHEMA, BadReply, Program, Review, parse_program, parse_review, prose
from .routes import Route, key_advice

AUTHOR_TOKENS = 8_192
REVIEW_TOKENS = 2_048
REPORT_TOKENS = 4_096
SAID_CHARS = 300
"""How much is shown of a reply that holds no program."""

REVIEW_TOOL = ToolSpec("submit_review", "Submit what was learned from the execution.", REVIEW_SCHEMA)


@dataclass
class _Habit:
    """How a reviewer is asked: in which form, and whether plain words are all that is expected of it."""

    form: str
    plain: bool = False


class Gateway(Calls):
    """The way to all models of a run; see :class:`~aide_jupyter.llm.calls.Calls` for its parameters."""

    @cached_property
    def _habits(self) -> dict[str, _Habit]:
        return {}

    def warm(self) -> None:
        """Begin to load what calls need, which takes seconds, and wait for nothing."""
        wire.warm()

    async def check(self, choices: Iterable[r.ModelChoice], budgets: r.Budgets) -> None:
        """Refuse what cannot work before anything starts.

        Raises
        ------
        ModelUnusable
            A model is unknown, its key is not set, or a cost cap is asked for and its price is not known.
        """
        self.warm()
        for choice in choices:
            found = await self.route(choice)
            if found.missing:
                raise ModelUnusable(f"No key is set for the model {choice.model}.", key_advice(found))
            if budgets.cost_usd is not None and found.price is None:
                raise ModelUnusable(
                    f"The price of the model {choice.model} is not known, so a budget of "
                    f"{budgets.cost_usd:g} US dollars cannot be kept.",
                    "Give its price with --price IN OUT (US dollars per million tokens), "
                    "or set --max-tokens instead of --max-cost.",
                )

    async def author(self, choice: r.ModelChoice, messages: Messages, *, candidate: str | None = None) -> Program:
        """Ask for a plan and a program; ask once more where the reply cannot be used.

        Raises
        ------
        ModelError
            There is no usable program in the second reply either, or no reply came.
        """
        found = await self.route(choice)
        limit = _limit(found, AUTHOR_TOKENS)
        reply = await self.complete("author", choice, messages, max_tokens=limit, candidate=candidate)
        try:
            return parse_program(reply.text, cut=reply.cut)
        except BadReply as bad:
            again = repair_messages(messages, reply.text, bad.message)
        limit = min(2 * limit, found.most or 2 * limit) if reply.cut else limit
        reply = await self.complete("author repair", choice, again, max_tokens=limit, candidate=candidate)
        try:
            return parse_program(reply.text, cut=reply.cut)
        except BadReply as bad:
            said = Untrusted(reply.text.strip(), "reply").render(SAID_CHARS, one_line=True)
            said = f" It said: “{said}”" if said else ""
            raise BadReply(
                f"The model {choice.model} gave no usable program, asked twice: {bad.message}{said}"
            ) from None

    async def review(self, choice: r.ModelChoice, messages: Messages, *, candidate: str | None = None) -> Review:
        """Ask what was learned: as a tool call, then as JSON, and take plain text where that is all that comes.

        What a model can do is remembered, so that it is asked in that way from then on. ``failed`` is None where the
        model gave words but no verdict.

        Raises
        ------
        ModelError
            Two replies held nothing, or no reply came.
        """
        found = await self.route(choice)
        habit = self._habits.setdefault(choice.model, _Habit("json" if found.tools is False else "tool"))
        reply = await self._ask_review("review", choice, messages, habit, candidate)
        try:
            first = parse_review(reply.text, reply.tool_arguments)
            if first.failed is not None or habit.plain:
                return first
            problem = "it is not the JSON object that was asked for."
        except BadReply as bad:
            first, problem = None, bad.message
        again = repair_messages(messages, reply.text, problem)
        asked = replace(habit, form="json") if habit.form == "tool" else habit
        reply = await self._ask_review("review repair", choice, again, asked, candidate)
        try:
            second = parse_review(reply.text, reply.tool_arguments)
        except BadReply as bad:
            if first is not None:
                return first
            raise BadReply(f"The model {choice.model} gave no review, asked twice: {bad.message}") from None
        self._habits[choice.model] = replace(asked, plain=second.failed is None)
        return second

    async def report(self, choice: r.ModelChoice, messages: Messages) -> str:
        """Ask for a report's prose, which is untrusted text."""
        found = await self.route(choice)
        reply = await self.complete("report", choice, messages, max_tokens=_limit(found, REPORT_TOKENS))
        return prose(reply.text)

    async def _ask_review(
        self, purpose: str, choice: r.ModelChoice, messages: Messages, habit: _Habit, candidate: str | None
    ) -> Reply:
        """Ask in the form that the model is known for; where the provider refuses it, in the next."""
        limit = _limit(await self.route(choice), REVIEW_TOKENS)
        while True:
            tool = REVIEW_TOOL if habit.form == "tool" else None
            schema = REVIEW_SCHEMA if habit.form == "json" else None
            try:
                return await self.complete(
                    purpose, choice, messages, tool=tool, schema=schema, max_tokens=limit, candidate=candidate
                )
            except FormRefused:
                if habit.form == "text":
                    raise
                habit.form = "json" if habit.form == "tool" else "text"


def _limit(found: Route, tokens: int) -> int:
    """The longest reply to ask for: more where the model thinks before it answers, never over what it can give."""
    return min(2 * tokens if found.thinks else tokens, found.most or 2 * tokens)
