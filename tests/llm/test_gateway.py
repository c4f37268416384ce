from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from aide_jupyter import records as r
from aide_jupyter.errors import BudgetSpent, ModelError, ModelUnusable
from aide_jupyter.llm import wire
from aide_jupyter.llm.gateway import REVIEW_TOOL, Gateway
from aide_jupyter.llm.replies import BadReply, Program, Review

ASK = [{"role": "system", "content": "You write programs."}, {"role": "user", "content": "# Task\nPredict y."}]
FINISHED = [{"role": "user", "content": "Its output: Validation metric: 0.25"}]
CRASHED = [{"role": "user", "content": "Traceback (most recent call last)\nKeyError"}]
SCRIPTED = r.ModelChoice(model="openai/scripted", temperature=0.5)
PROGRAM = "Plan.\n```python\nprint('Validation metric: 1')\n```"


class Ledger:
    """What the engine's callbacks would write."""

    def __init__(self) -> None:
        self.spent: list[r.Spent] = []

    def take(self, spent: r.Spent) -> None:
        self.spent.append(spent)

    @property
    def settled(self) -> list[r.Spent]:
        return [one for one in self.spent if one.phase == "settled"]

    def balanced(self) -> bool:
        calls = {phase: [one.call for one in self.spent if one.phase == phase] for phase in ("reserved", "settled")}
        return sorted(calls["reserved"]) == sorted(calls["settled"]) and len(set(calls["settled"])) == len(self.settled)


class Waits:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def gateway(ledger: Ledger, url: str | None = None, **more: Any) -> Gateway:
    more = {"environ": {}, "sleep": Waits(), "attempt_seconds": 20.0, **more}
    return Gateway(reserve=ledger.take, settle=ledger.take, base_url=url, **more)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


# --- the scripted server and its faults ----------------------------------------------------------------------------


def test_a_program_is_asked_for_reserved_and_settled_with_the_reported_usage(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted()
    program = run(gateway(ledger, server.url).author(SCRIPTED, ASK, candidate="c0001"))
    assert "Validation metric" in program.code
    reserved, settled = ledger.spent
    assert (reserved.phase, settled.phase) == ("reserved", "settled")
    assert reserved.call == settled.call == 1
    assert reserved.candidate == settled.candidate == "c0001"
    assert settled.tokens.prompt <= reserved.tokens.prompt
    assert 0 < settled.tokens.completion < reserved.tokens.completion
    assert settled.cost is None
    assert not settled.estimated


def test_a_review_is_a_tool_call(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted()

    async def both() -> list[Review]:
        one = gateway(ledger, server.url)
        return [await one.review(SCRIPTED, FINISHED), await one.review(SCRIPTED, CRASHED)]

    assert [one.failed for one in run(both())] == [False, True]
    assert [one["kind"] for one in server.requests()] == ["review", "review"]


@pytest.mark.parametrize("fault", ["429", "500", "drop"])
def test_what_passes_by_itself_is_tried_again_with_records_of_its_own(fault: str, scripted: Callable[..., Any]) -> None:
    ledger, waits, server = Ledger(), Waits(), scripted(f"{fault}:2")

    async def twice() -> None:
        one = gateway(ledger, server.url, sleep=waits)
        await one.author(SCRIPTED, ASK)
        await one.author(SCRIPTED, ASK)

    run(twice())
    assert len(server.requests()) == 3
    assert len(waits.seconds) == 1
    assert ledger.balanced()
    failed = ledger.settled[1]
    assert failed.error
    charged = failed.tokens.completion > 0
    assert charged == (fault == "drop"), "a call lost in flight is charged its reservation, a refused one is not"


@pytest.mark.parametrize("fault", ["429", "500", "drop"])
def test_retries_end_in_a_clear_error(fault: str, scripted: Callable[..., Any]) -> None:
    ledger, waits, server = Ledger(), Waits(), scripted(f"{fault}:1")
    with pytest.raises(ModelError, match="no answer in 4 tries") as caught:
        run(gateway(ledger, server.url, sleep=waits, attempts=4).author(SCRIPTED, ASK))
    assert not isinstance(caught.value, ModelUnusable)
    assert len(server.requests()) == 4
    assert waits.seconds == sorted(waits.seconds)
    assert len(ledger.settled) == 4
    assert ledger.balanced()


def test_a_wrong_key_stops_at_once_and_says_what_to_set(scripted: Callable[..., Any]) -> None:
    ledger, waits, server = Ledger(), Waits(), scripted("401:1")
    secret = "sk-very-secret-key-0123456789"
    with pytest.raises(ModelUnusable, match="OPENAI_API_KEY") as caught:
        run(gateway(ledger, server.url, sleep=waits, environ={"OPENAI_API_KEY": secret}).author(SCRIPTED, ASK))
    assert waits.seconds == []
    assert len(server.requests()) == 1
    assert secret[3:12] not in str(caught.value) + repr(caught.value) + str(ledger.spent)
    assert ledger.settled[0].tokens == r.Tokens()


def test_a_server_that_hangs_is_given_up_and_asked_again(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("hang:2")

    async def twice() -> Program:
        one = gateway(ledger, server.url, attempt_seconds=2.0)
        await one.author(SCRIPTED, ASK)
        return await one.author(SCRIPTED, ASK)

    started = time.monotonic()
    assert run(twice()).code
    assert time.monotonic() - started < 15
    assert ledger.settled[1].estimated
    assert ledger.settled[1].tokens == ledger.spent[2].tokens


def test_the_deadline_of_a_call_ends_all_its_tries(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("hang:1")
    started = time.monotonic()
    with pytest.raises(ModelError, match="no answer"):
        run(gateway(ledger, server.url).complete("author", SCRIPTED, ASK, max_tokens=100, deadline=1.0))
    assert time.monotonic() - started < 10
    assert len(ledger.settled) == 1


def test_cut_json_in_a_review_is_read_as_far_as_it_goes(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("badjson:1")
    assert run(gateway(ledger, server.url).review(SCRIPTED, CRASHED)).failed is True
    assert len(ledger.settled) == 1


def test_plain_text_for_a_review_is_asked_again_as_json_and_then_taken(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("text:1")

    async def twice() -> list[Review]:
        one = gateway(ledger, server.url)
        return [await one.review(SCRIPTED, FINISHED), await one.review(SCRIPTED, FINISHED)]

    assert run(twice()) == [Review(None, "Looks fine to me.")] * 2
    assert len(server.requests()) == 3, "what the model can do is remembered"
    assert {one["kind"] for one in server.requests()} == {"review"}


def test_plain_text_once_is_repaired_by_json(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("text:3")

    async def thrice() -> list[Review]:
        one = gateway(ledger, server.url)
        return [await one.review(SCRIPTED, FINISHED) for _ in range(3)]

    assert [one.failed for one in run(thrice())] == [False, False, False]
    assert len(server.requests()) == 4


def test_a_reply_without_a_fence_is_read(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("nofence:1")
    program = run(gateway(ledger, server.url).author(SCRIPTED, ASK))
    assert "Validation metric" in program.code
    assert program.plan
    assert len(ledger.settled) == 1


@pytest.mark.parametrize(("fault", "problem"), [("empty", "it is empty"), ("truncate", "cut off by its length limit")])
def test_a_malformed_reply_is_repaired_once(fault: str, problem: str, scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted(f"{fault}:2")

    async def twice() -> Program:
        one = gateway(ledger, server.url)
        await one.author(SCRIPTED, ASK)
        return await one.author(SCRIPTED, ASK)

    assert run(twice()).code
    assert [one.purpose for one in ledger.settled] == ["author", "author", "author repair"]
    assert problem in server.requests()[2]["prompt"]


def test_what_is_said_in_the_place_of_a_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aide_jupyter.llm.author.author.reply", lambda messages: "There is no\x1b table." + "x" * 1000)
    ledger = Ledger()
    with pytest.raises(BadReply, match=r"It said: “There is no\\x1b table\..*left out") as bad:
        run(gateway(ledger).author(r.ModelChoice(), ASK))
    assert len(bad.value.message) < 600
    assert ledger.balanced()


@pytest.mark.parametrize("fault", ["empty", "truncate"])
def test_a_reply_malformed_twice_is_a_failed_step(fault: str, scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted(f"{fault}:1")
    with pytest.raises(BadReply, match="asked twice"):
        run(gateway(ledger, server.url).author(SCRIPTED, ASK))
    assert len(server.requests()) == 2
    assert ledger.balanced()


# --- servers that behave worse -------------------------------------------------------------------------------------


def test_a_reply_that_never_ends_is_cut_by_its_deadline(server: Callable[..., str]) -> None:
    gone = threading.Event()

    def drip(_: dict[str, Any], handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"1\r\n \r\n")
                time.sleep(0.02)
        except OSError:
            gone.set()
            raise

    ledger = Ledger()
    started = time.monotonic()
    with pytest.raises(ModelError, match="no answer"):
        run(gateway(ledger, server(drip), attempt_seconds=1.0, attempts=2).author(SCRIPTED, ASK))
    assert time.monotonic() - started < 15
    assert gone.wait(10), "the connection is closed, so that the server can stop"
    assert all(one.tokens.completion > 0 for one in ledger.settled)


def test_a_reply_of_endless_bytes_is_cut_by_size(server: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "REPLY_BYTES", 1 << 20)
    sent = []

    def flood(_: dict[str, Any], handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while len(sent) < 4096:
            handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            sent.append(1)

    ledger = Ledger()
    with pytest.raises(ModelError, match="without end"):
        run(gateway(ledger, server(flood), attempts=1).author(SCRIPTED, ASK))
    assert len(sent) < 4096


def test_an_answer_that_is_not_json_is_tried_again(server: Callable[..., str]) -> None:
    answers = iter(["<html>starting</html>", None])

    def answer(_: dict[str, Any], handler: Any) -> None:
        page = next(answers)
        if page is None:
            handler.say(PROGRAM)
        else:
            handler.reply(200, {"page": page}, Content_Type="text/html")

    ledger = Ledger()
    assert run(gateway(ledger, server(answer)).author(SCRIPTED, ASK)).code
    assert len(ledger.settled) == 2


def test_retry_after_is_honoured_up_to_a_cap(server: Callable[..., str]) -> None:
    asked = iter(["7", "3600"])

    def busy(_: dict[str, Any], handler: Any) -> None:
        handler.reply(429, {"error": {"message": "slow down"}}, Retry_After=next(asked))

    waits = Waits()
    with pytest.raises(ModelError, match="asks to wait 3600 s"):
        run(gateway(Ledger(), server(busy), sleep=waits).author(SCRIPTED, ASK))
    assert waits.seconds == [7.0]


def test_a_server_that_cannot_be_reached_is_said_and_costs_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ledger = Ledger()
    with pytest.raises(ModelError, match="could not be reached"):
        run(gateway(ledger, f"http://127.0.0.1:{port}/v1", attempts=2).author(SCRIPTED, ASK))
    assert [one.tokens for one in ledger.settled] == [r.Tokens(), r.Tokens()]


def test_a_redirect_is_not_followed(server: Callable[..., str]) -> None:
    reached = threading.Event()
    other = server(lambda _, handler: (reached.set(), handler.say(PROGRAM))[1])

    def redirect(_: dict[str, Any], handler: Any) -> None:
        handler.reply(307, {}, Location=f"{other}/chat/completions")

    with pytest.raises(ModelError):
        run(gateway(Ledger(), server(redirect), attempts=1).author(SCRIPTED, ASK))
    assert not reached.is_set()


@pytest.mark.parametrize(
    ("status", "message", "error", "words"),
    [
        (403, "no", ModelUnusable, "OPENAI_API_KEY"),
        (404, "no such model", ModelUnusable, "name of the model"),
        (400, "bad request", ModelUnusable, "did not take the request"),
        (402, "pay first", ModelUnusable, "credit"),
        (429, "insufficient_quota", ModelUnusable, "credit"),
    ],
)
def test_what_cannot_pass_ends_at_once(
    status: int, message: str, error: type[Exception], words: str, server: Callable[..., str]
) -> None:
    ledger = Ledger()
    url = server(lambda _, handler: handler.reply(status, {"error": {"message": message}}))
    with pytest.raises(error, match=words):
        run(gateway(ledger, url).author(SCRIPTED, ASK))
    assert len(ledger.settled) == 1
    assert ledger.settled[0].cost == 0.0


def test_a_key_in_a_providers_message_is_masked(server: Callable[..., str]) -> None:
    secret = "s3cr3t-0123456789"

    def echo(_: dict[str, Any], handler: Any) -> None:
        key = handler.headers["Authorization"].removeprefix("Bearer ")
        handler.reply(400, {"error": {"message": f"odd key {key}, also sk-abcdefgh1234 and abcd****wxyz \x1b[31m"}})

    ledger = Ledger()
    with pytest.raises(ModelUnusable) as caught:
        run(gateway(ledger, server(echo), environ={"OPENAI_API_KEY": secret}).author(SCRIPTED, ASK))
    said = str(caught.value) + str(ledger.spent)
    assert "odd key" in said
    assert not any(part in said for part in (secret, "abcdefgh", "wxyz", "\x1b"))


def test_a_context_too_small_for_the_reply_is_asked_for_a_shorter_one(server: Callable[..., str]) -> None:
    asked: list[int] = []

    def small(body: dict[str, Any], handler: Any) -> None:
        asked.append(body["max_tokens"])
        if body["max_tokens"] > 2100:
            handler.reply(400, {"error": {"message": "maximum context length is 4096 tokens"}})
        else:
            handler.say(PROGRAM)

    assert run(gateway(Ledger(), server(small)).author(SCRIPTED, ASK)).code
    assert asked == [8192, 4096, 2048]


def test_without_reported_usage_the_tokens_are_estimated_and_said_to_be(server: Callable[..., str]) -> None:
    ledger = Ledger()
    run(gateway(ledger, server(lambda _, handler: handler.say(PROGRAM)), price=(1.0, 2.0)).author(SCRIPTED, ASK))
    settled = ledger.settled[0]
    assert settled.estimated
    assert settled.tokens.prompt > 5
    assert settled.tokens.completion > 5
    assert settled.cost == pytest.approx((settled.tokens.prompt + 2 * settled.tokens.completion) / 1e6)


@pytest.mark.parametrize("refused", [("tools",), ("tools", "response_format")])
def test_a_server_that_refuses_tools_is_asked_as_it_can_and_that_is_remembered(
    refused: tuple[str, ...], server: Callable[..., str]
) -> None:
    forms: list[str] = []

    def picky(body: dict[str, Any], handler: Any) -> None:
        form = next((name for name in ("tools", "response_format") if name in body), "text")
        forms.append(form)
        if form in refused:
            handler.reply(400, {"error": {"message": f"{form} is not supported"}})
        else:
            handler.say('{"failed": false, "summary": "Fine."}')

    async def twice() -> list[Review]:
        one = gateway(Ledger(), server(picky))
        return [await one.review(SCRIPTED, FINISHED), await one.review(SCRIPTED, FINISHED)]

    assert run(twice()) == [Review(False, "Fine.")] * 2
    assert forms[-1] == forms[-2]
    assert len(forms) == len(refused) + 2


def test_a_model_that_does_not_call_tools_is_asked_for_json(server: Callable[..., str]) -> None:
    forms: list[str] = []

    def wordy(body: dict[str, Any], handler: Any) -> None:
        forms.append(next((name for name in ("tools", "response_format") if name in body), "text"))
        handler.say("Fine, I think." if forms[-1] == "tools" else '{"failed": true, "summary": "Leaks."}')

    async def twice() -> list[Review]:
        one = gateway(Ledger(), server(wordy))
        return [await one.review(SCRIPTED, FINISHED), await one.review(SCRIPTED, FINISHED)]

    assert run(twice()) == [Review(True, "Leaks.")] * 2
    assert forms == ["tools", "response_format", "response_format"]


def test_no_number_and_no_direction_is_asked_of_a_reviewer() -> None:
    assert {name: kind["type"] for name, kind in REVIEW_TOOL.schema["properties"].items()} == {
        "failed": "boolean",
        "summary": "string",
    }


@pytest.mark.parametrize("name", ["llama3", "qwen2.5:7b", "Qwen/Qwen2.5-Coder", "gpt-4o", "claude-3-5-sonnet-latest"])
def test_any_name_can_be_asked_at_a_base_url_without_a_key(name: str, server: Callable[..., str]) -> None:
    asked: list[tuple[str, str]] = []

    def answer(body: dict[str, Any], handler: Any) -> None:
        asked.append((body["model"], handler.headers["Authorization"]))
        handler.say(PROGRAM)

    choice = r.ModelChoice(model=name)

    async def both(url: str) -> None:
        one = gateway(Ledger(), url)
        await one.check([choice], r.Budgets())
        await one.author(choice, ASK)

    run(both(server(answer)))
    assert asked == [(name, "Bearer none")]


def test_the_usual_base_url_variable_counts(server: Callable[..., str]) -> None:
    url = server(lambda _, handler: handler.say(PROGRAM))

    async def both() -> Program:
        one = gateway(Ledger(), environ={"OPENAI_BASE_URL": url})
        await one.check([SCRIPTED], r.Budgets())
        return await one.author(SCRIPTED, ASK)

    assert run(both()).code


# --- budgets -------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_once_a_reservation_is_refused(scripted: Callable[..., Any]) -> None:
    server, settled = scripted(), []

    def refuse(spent: r.Spent) -> None:
        raise BudgetSpent("tokens", 10, spent.tokens.prompt + spent.tokens.completion)

    one = Gateway(reserve=refuse, settle=settled.append, base_url=server.url, environ={})
    with pytest.raises(BudgetSpent):
        run(one.author(SCRIPTED, ASK))
    assert server.requests() == []
    assert settled == []


def test_a_cancelled_call_is_charged_its_reservation(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("hang:1")

    async def stop() -> None:
        work = asyncio.create_task(gateway(ledger, server.url).author(SCRIPTED, ASK))
        while not ledger.spent:
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    run(stop())
    reserved, settled = ledger.spent
    assert settled.tokens == reserved.tokens
    assert settled.estimated


def test_concurrent_calls_have_numbers_of_their_own(scripted: Callable[..., Any]) -> None:
    ledger, server = Ledger(), scripted("500:3")

    async def many() -> None:
        one = gateway(ledger, server.url, first_call=7)
        await asyncio.gather(*(one.author(SCRIPTED, ASK) for _ in range(6)))

    run(many())
    assert ledger.balanced()
    assert min(one.call for one in ledger.spent) == 7


def test_a_cost_cap_with_an_unknown_price_refuses_and_a_given_price_is_taken() -> None:
    capped = r.Budgets(cost_usd=1.0)
    url = "http://127.0.0.1:9/v1"
    with pytest.raises(ModelUnusable, match="--price IN OUT") as caught:
        run(gateway(Ledger(), url).check([SCRIPTED], capped))
    assert "--max-tokens" in str(caught.value)
    run(gateway(Ledger(), url, price=(1.0, 2.0)).check([SCRIPTED], capped))
    run(gateway(Ledger(), url).check([SCRIPTED], r.Budgets()))


def test_a_known_price_is_used_without_asking_anyone() -> None:
    ledger = Ledger()
    one = gateway(ledger, "http://127.0.0.1:9/v1", attempts=1)
    with pytest.raises(ModelError):
        run(one.complete("author", r.ModelChoice(model="openai/gpt-4o"), ASK, max_tokens=1000))
    reserved = ledger.spent[0]
    assert reserved.cost is not None
    assert reserved.cost >= reserved.tokens.completion * 1e-5


def test_a_missing_key_is_found_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    choice = r.ModelChoice(model="anthropic/claude-sonnet-4-5")
    with pytest.raises(ModelUnusable, match="ANTHROPIC_API_KEY"):
        run(gateway(Ledger()).check([choice], r.Budgets()))


def test_an_unknown_model_is_refused_with_words() -> None:
    with pytest.raises(ModelUnusable, match="provider/model"):
        run(gateway(Ledger()).check([r.ModelChoice(model="nonesuch")], r.Budgets()))


@pytest.mark.parametrize(
    ("url", "key"),
    [("https://gpu.example/v1", "k" * 20), ("http://localhost:1/v1", "k" * 20), ("http://gpu.example/v1", "none")],
)
def test_a_key_is_never_sent_in_the_clear(url: str, key: str) -> None:
    found = run(gateway(Ledger(), url, environ={"OPENAI_API_KEY": "k" * 20}).route(SCRIPTED))
    assert found.api_key == key
    assert "kkkk" not in repr(found)


# --- litellm itself ------------------------------------------------------------------------------------------------


def test_known_secrets_are_masked_in_what_is_sent(scripted: Callable[..., Any]) -> None:
    server = scripted()
    one = gateway(Ledger(), server.url, mask=lambda text: text.replace("hunter2hunter2", "[masked]"))
    run(one.author(SCRIPTED, [{"role": "user", "content": "the password is hunter2hunter2"}]))
    assert server.requests()[0]["prompt"] == "the password is [masked]"


def test_the_offline_author_is_a_provider_that_needs_no_key_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def register() -> None:
        import litellm

        class Offline(litellm.CustomLLM):
            async def acompletion(self, *_: Any, **given: Any) -> Any:
                asked.append(given)
                message = litellm.Message(content=PROGRAM)
                return litellm.ModelResponse(choices=[litellm.Choices(message=message, finish_reason="stop")])

        kept = [one for one in litellm.custom_provider_map if one["provider"] != "offline"]
        monkeypatch.setattr(
            litellm, "custom_provider_map", [*kept, {"provider": "offline", "custom_handler": Offline()}]
        )

    stub = types.ModuleType("aide_jupyter.llm.offline")
    stub.register = register  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aide_jupyter.llm.offline", stub)
    ledger = Ledger()

    async def both() -> Program:
        one = gateway(ledger, "http://127.0.0.1:9/v1")
        await one.check([r.ModelChoice()], r.Budgets(cost_usd=1.0))
        return await one.author(r.ModelChoice(), ASK)

    assert "Validation metric" in run(both()).code
    assert asked[0]["messages"] == ASK
    assert [one.cost for one in ledger.spent] == [0.0, 0.0]
    assert ledger.spent[1].model == "offline"


def test_a_bug_in_a_provider_is_a_failed_call_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = types.ModuleType("aide_jupyter.llm.offline")
    stub.register = lambda: 1 / 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aide_jupyter.llm.offline", stub)
    ledger = Ledger()
    with pytest.raises(ModelError):
        run(gateway(ledger, attempts=1).author(r.ModelChoice(), ASK))
    assert ledger.balanced()


def test_mock_answers_of_litellm_carry_text_usage_and_cost() -> None:
    call = wire.Call("gpt-4o-mini", ASK, 100, 5.0, arguments={"mock_response": "yes"})
    answer = run(wire.send(call, {}))
    assert answer.text == "yes"
    assert answer.prompt_tokens
    assert answer.cost


BEATING = """
import asyncio, sys, time
from aide_jupyter import records as r
from aide_jupyter.llm.gateway import Gateway

assert "litellm" not in sys.modules
beats = []

async def beat():
    while True:
        beats.append("litellm.main" in sys.modules)
        await asyncio.sleep(0.01)

async def main():
    beating = asyncio.create_task(beat())
    gateway = Gateway(reserve=lambda spent: print("reserved", flush=True), settle=lambda spent: None,
                      base_url=sys.argv[1], environ={})
    call = asyncio.create_task(gateway.author(r.ModelChoice(model="openai/m"), [{"role": "user", "content": "x"}]))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

asyncio.run(main())
print(beats.count(False))
"""


def test_importing_litellm_does_not_stop_the_event_loop_and_no_thread_keeps_the_process() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        command = [sys.executable, "-c", BEATING, url]
        with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                out, err = process.communicate("stop\n", timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    reserved, beats = out.split()
    assert reserved == "reserved"
    assert int(beats) > 20, "the loop went on while litellm was imported"
