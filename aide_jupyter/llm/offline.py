"""The model ``offline``: a litellm provider that needs no network and no key.

It is not a language model. A rule-based author (:mod:`aide_jupyter.llm.author`) reads the same prompts that any model
gets, and answers with complete programs, reviews and reports. The same prompt always gets the same answer.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # before the import, which else asks the network

import litellm
from litellm.types.utils import Choices, GenericStreamingChunk, Message, ModelResponse, Usage

from .author import author

if TYPE_CHECKING:

    class CustomLLM:
        """What litellm calls for a provider's models."""
else:
    from litellm import CustomLLM

PROVIDER = "offline"
MODEL = "offline/author"
NAMES = (MODEL, "offline/offline")
CHARACTERS_PER_TOKEN = 4


class OfflineAuthor(CustomLLM):
    """Answers chat completions of ``offline/…`` models by rule. litellm calls these methods with keyword arguments;
    ``optional_params`` holds the tools of the request."""

    def completion(self, *_: Any, **request: Any) -> ModelResponse:
        """The whole answer. Its usage is estimated at four characters a token; its cost is nothing."""
        return _answer(request)

    async def acompletion(self, *_: Any, **request: Any) -> ModelResponse:
        """:meth:`completion`, off the event loop: a long conversation takes tens of milliseconds to read."""
        return await asyncio.to_thread(_answer, request)

    def streaming(self, *_: Any, **request: Any) -> Iterator[GenericStreamingChunk]:
        """The answer as a stream of one piece."""
        yield _chunk(_answer(request))

    async def astreaming(self, *_: Any, **request: Any) -> AsyncIterator[GenericStreamingChunk]:
        """:meth:`streaming`, off the event loop."""
        yield _chunk(await self.acompletion(**request))


def register() -> str:
    """Make the provider known to litellm, once however often it is called, and return the model's name for litellm.

    The price map gets the model at a price of nothing, so that a run with a cap on cost can use it.
    """
    if all(item["provider"] != PROVIDER for item in litellm.custom_provider_map):
        litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": OfflineAuthor()})
    litellm.utils.custom_llm_setup()
    price = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "litellm_provider": PROVIDER, "mode": "chat"}
    for name in NAMES:
        litellm.model_cost.setdefault(name, price)
    return MODEL


def _answer(request: Mapping[str, Any]) -> ModelResponse:
    messages: Sequence[dict[str, Any]] = request["messages"]
    text = author.reply(messages)
    tool = _tool(request.get("optional_params") or {})
    message = Message(content=text, role="assistant")
    finish = "stop"
    if tool is not None and _is_object(text):
        call = {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": text}}
        message, finish = Message(content=None, role="assistant", tool_calls=[call]), "tool_calls"
    asked = sum(len(json.dumps(one.get("content"), ensure_ascii=False)) for one in messages) // CHARACTERS_PER_TOKEN
    given = max(1, len(text) // CHARACTERS_PER_TOKEN)
    response: ModelResponse = request.get("model_response") or ModelResponse()
    response.model = f"{PROVIDER}/{request.get('model', 'author')}"
    response.choices = [Choices(finish_reason=finish, index=0, message=message)]
    response.usage = Usage(prompt_tokens=asked, completion_tokens=given, total_tokens=asked + given)
    return response


def _tool(options: Mapping[str, Any]) -> str | None:
    """The name of the first tool that the request offers."""
    for tool in options.get("tools") or ():
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            return str(function["name"])
    return None


def _is_object(text: str) -> bool:
    return text.startswith("{") and isinstance(json.loads(text), dict)


def _chunk(response: ModelResponse) -> GenericStreamingChunk:
    message = response.choices[0].message
    usage = response.usage
    return GenericStreamingChunk(
        finish_reason="stop",
        index=0,
        is_finished=True,
        text=message.content or message.tool_calls[0].function.arguments,
        tool_use=None,
        usage={
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        },
    )
