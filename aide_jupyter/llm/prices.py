"""What tokens cost, and how many a call could use at worst. All money is in US dollars."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import records as r

_PER_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars per token: ``prompt`` and ``completion`` as usual, and ``worst_*`` at the dearest rate of the map.

    The worst rates cover surcharges (long prompts, priority tiers) that a call may turn out to meet.
    """

    prompt: float
    completion: float
    worst_prompt: float
    worst_completion: float

    @classmethod
    def per_million(cls, prompt: float, completion: float) -> Price:
        """A price that a person gave, in US dollars per million tokens."""
        one, other = prompt / _PER_MILLION, completion / _PER_MILLION
        return cls(one, other, one, other)

    @classmethod
    def from_map(cls, entry: Mapping[str, Any]) -> Price | None:
        """The price in one entry of litellm's price map; None where the entry names none."""
        prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
        if prompt is None or completion is None:
            return None
        return cls(float(prompt), float(completion), _dearest(entry, "input_cost_per_token"),
                   _dearest(entry, "output_cost_per_token"))  # fmt: skip

    def of(self, tokens: r.Tokens) -> float:
        """What these tokens cost at the usual rates."""
        return self.prompt * tokens.prompt + self.completion * tokens.completion

    def worst(self, tokens: r.Tokens) -> float:
        """What these tokens cost at most."""
        return self.worst_prompt * tokens.prompt + self.worst_completion * tokens.completion


FREE = Price(0.0, 0.0, 0.0, 0.0)


def _dearest(entry: Mapping[str, Any], prefix: str) -> float:
    return max(float(value) for name, value in entry.items() if name.startswith(prefix) and _is_number(value))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def worst_prompt_tokens(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> int:
    """The most tokens that these messages should take: one for every two UTF-8 bytes, and some for each message.

    English and code take one for every three to four bytes, dense numbers one for every two to three, with the
    tokenizers in use today.
    """
    size = sum(len(message["content"].encode("utf-8", "replace")) for message in messages)
    size += len(json.dumps(schema)) if schema else 0
    return size // 2 + 16 * (len(messages) + 1)


def likely_tokens(text: str) -> int:
    """An estimate for a provider that reports no usage: one token for every three UTF-8 bytes."""
    return -(-len(text.encode("utf-8", "replace")) // 3)
