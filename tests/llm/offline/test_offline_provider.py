"""The author as a provider of litellm."""

import asyncio
import json

import litellm
import pytest

from aide_jupyter import records as r
from aide_jupyter.llm import offline
from aide_jupyter.llm.prompts import reviewer_messages
from aide_jupyter.task import Attempt

pytestmark = pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning")  # litellm's own types, at its first call
TASK = r.Task(goal="Predict y", metric="rmse", direction="minimize", direction_source="test")
PROGRAM = Attempt(id="c0001", operator="draft", plan="", code="print(1)", output="Validation metric: 0.3", value=None,
                  failed=False, summary="")  # fmt: skip
MESSAGES = reviewer_messages(TASK, PROGRAM, status="ok", seconds=1.0)
TOOL = {"type": "function", "function": {"name": "review", "parameters": {"type": "object", "properties": {}}}}


def test_a_completion_has_text_usage_and_no_cost():
    response = litellm.completion(
        model=offline.register(), messages=MESSAGES, temperature=0.5, max_tokens=500, timeout=30
    )
    assert json.loads(response.choices[0].message.content)["failed"] is False
    assert response.usage.prompt_tokens > 100
    assert response.usage.completion_tokens > 5
    assert response._hidden_params["response_cost"] == 0


def test_an_asynchronous_completion_answers_by_tool_call_where_one_is_offered():
    offline.register()
    response = asyncio.run(litellm.acompletion(model="offline/offline", messages=MESSAGES, tools=[TOOL]))
    (call,) = response.choices[0].message.tool_calls
    assert call.function.name == "review"
    assert json.loads(call.function.arguments)["failed"] is False


def test_an_author_prompt_is_answered_by_text_even_where_a_tool_is_offered():
    offline.register()
    response = litellm.completion(model="offline/author", messages=[{"role": "user", "content": "hello"}], tools=[TOOL])
    assert response.choices[0].message.content


def test_a_stream_holds_the_whole_answer():
    offline.register()
    pieces = litellm.completion(model="offline/author", messages=MESSAGES, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert json.loads(text)["failed"] is False


def test_registering_twice_registers_once():
    offline.register()
    offline.register()
    assert [item["provider"] for item in litellm.custom_provider_map].count("offline") == 1
