"""The one place that touches litellm: imported late, in a thread and an event loop of its own.

Importing litellm takes seconds, and each call of it does some tens of milliseconds of work and leaves tasks in its
loop; none of that may stop the engine. The thread is a daemon, so that no call under way keeps the process alive.
litellm's settings are global to the process, which other extensions may share: all that can be is set per call.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import gc
import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .failures import ReplyTooLong, failure_of

REPLY_BYTES = 8 << 20
"""The most bytes of one HTTP reply. A model's longest answers take well under a megabyte."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Call:
    """One request, as litellm takes it. ``arguments`` are further keyword arguments of ``acompletion``."""

    model: str
    messages: list[dict[str, str]]
    max_tokens: int
    timeout: float
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came back. Token counts are None where the provider reported none, ``cost`` where litellm knows no price;
    ``tool_arguments`` is the JSON of the first tool call, as the model wrote it."""

    text: str
    tool_arguments: str | None
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None


async def send(call: Call, environ: Mapping[str, str]) -> Answer:
    """Make one request; cancelling it closes its connection.

    Raises
    ------
    Failure
        The request failed, for whatever reason.
    """
    return await _in_thread(lambda: _send(call, environ))


async def ask(question: Callable[[Any], _T]) -> _T:
    """What ``question`` finds in the litellm module, asked in litellm's thread."""

    async def asked() -> _T:
        return question(_litellm())

    return await _in_thread(asked)


def warm() -> None:
    """Begin to import litellm, and wait for nothing: it takes seconds, which other preparations can fill."""

    async def imported() -> None:
        _litellm()

    asyncio.run_coroutine_threadsafe(imported(), _running_loop())


_prepared: contextvars.ContextVar[list[Coroutine[Any, Any, Any]]] = contextvars.ContextVar("prepared")
"""Requests that litellm has prepared in a thread and not yet begun to send: closed if the call is cancelled then."""


class _Executor(concurrent.futures.ThreadPoolExecutor):
    """A daemon thread for each job: a pool's own threads are joined at exit, and one that hangs would prevent it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        prepared = _prepared.get([])

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)
                return
            if asyncio.iscoroutine(result):
                prepared.append(result)
            if future.set_running_or_notify_cancel():
                future.set_result(result)
            elif asyncio.iscoroutine(result):
                result.close()

        threading.Thread(target=work, name="aide-litellm-job", daemon=True).start()
        return future


_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603  one thread per process, as litellm's own state is
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _loop.set_default_executor(_Executor())
            threading.Thread(target=_loop.run_forever, name="aide-litellm", daemon=True).start()
        return _loop


async def _in_thread(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), _running_loop()))


def _litellm() -> Any:
    """The module, with no network touched by its import (price map) and no ``.env`` file read (mode)."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    litellm: Any = sys.modules.get("litellm") or _imported()
    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def _imported() -> Any:
    """The module, without what it would do at exit: there it waits, in another loop, for connections of this module's
    thread, and can wait for ever (seen with a call in flight)."""
    register = atexit.register

    def own(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        theirs = (getattr(function, "__module__", None) or "").startswith("litellm")
        return function if theirs else register(function, *args, **kwargs)

    atexit.register = own  # type: ignore[assignment]
    collecting = gc.isenabled()
    gc.disable()  # a quarter of the time of this import, which leaves no garbage
    try:
        return importlib.import_module("litellm")
    finally:
        atexit.register = register
        if collecting:
            gc.enable()


async def _send(call: Call, environ: Mapping[str, str]) -> Answer:
    litellm = _litellm()
    prepared: list[Coroutine[Any, Any, Any]] = []
    _prepared.set(prepared)
    provider = call.model.split("/", 1)[0]
    arguments = {"drop_params": True, "num_retries": 0, "max_retries": 0, **call.arguments}
    if call.api_base is not None:
        arguments["api_base"] = call.api_base
    if call.api_key is not None:
        arguments["api_key"] = call.api_key
    if provider == "openai" and call.api_base is not None and call.api_key is not None:
        arguments["client"] = _client(call.api_base, call.api_key)
    try:
        if provider == "offline":
            importlib.import_module(".offline", __package__).register()
        response = await litellm.acompletion(
            model=call.model,
            messages=call.messages,
            max_tokens=call.max_tokens,
            timeout=call.timeout,
            stream=False,
            **arguments,
        )
        return _answer(response)
    except Exception as error:
        raise failure_of(error, environ) from None
    finally:
        for one in prepared:
            if inspect.iscoroutine(one) and inspect.getcoroutinestate(one) == inspect.CORO_CREATED:
                one.close()


_clients: dict[tuple[str, str], Any] = {}


def _client(base_url: str, key: str) -> Any:
    """An OpenAI client for a server of one's own: it follows no redirect and stops reading a reply without end.

    A reply is read whole before anything else sees it, so a server that never stops sending would fill the memory.
    """
    if (base_url, key) not in _clients:
        import openai

        http = openai.DefaultAsyncHttpxClient(event_hooks={"response": [_cap]}, follow_redirects=False)
        _clients[base_url, key] = openai.AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, http_client=http)
    return _clients[base_url, key]


async def _cap(response: Any) -> None:
    response.stream = _capped_stream(response.stream)


def _capped_stream(stream: Any) -> Any:
    """``stream`` with at most ``REPLY_BYTES``; made here because its base class is that of the HTTP library in use."""
    base = next(one for one in type(stream).__mro__ if one.__name__ == "AsyncByteStream")

    class Capped(base):  # type: ignore[misc, valid-type]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = 0
            async for chunk in stream:
                total += len(chunk)
                if total > REPLY_BYTES:
                    raise ReplyTooLong
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Capped()


def _answer(response: Any) -> Answer:
    choice = response.choices[0]
    calls = getattr(choice.message, "tool_calls", None) or ()
    arguments = next((call.function.arguments for call in calls if getattr(call, "function", None)), None)
    usage = getattr(response, "usage", None)
    prompt, completion = (getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens"))
    reported = prompt > 0 or completion > 0
    cost = (getattr(response, "_hidden_params", None) or {}).get("response_cost")
    return Answer(
        text=_text(choice.message.content),
        tool_arguments=arguments if isinstance(arguments, str) else None,
        finish_reason=str(choice.finish_reason or ""),
        prompt_tokens=prompt if reported else None,
        completion_tokens=completion if reported else None,
        cost=float(cost) if isinstance(cost, (int, float)) else None,
    )


def _text(content: Any) -> str:
    """A message's text, which some providers give as a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
