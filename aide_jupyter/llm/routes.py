"""Which server a model name means: its provider, address, price and abilities, and the keys that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .. import records as r
from ..errors import ModelUnusable
from . import wire
from .prices import FREE, Price

OFFLINE = "offline"
_NO_KEY = "none"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_KEYLESS = {"ollama", "ollama_chat", "lm_studio", "hosted_vllm", "llamafile", "xinference", "docker_model_runner"}
_OPENAI_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}


@dataclass(frozen=True)
class Route:
    """Where the calls to one model go.

    ``model`` is litellm's name for it. ``api_base`` is set for a server of one's own. ``price`` is None where it is
    unknown. ``most`` is the longest reply in tokens that the model gives, ``tools`` whether it takes tool calls;
    both None where that is unknown. ``thinks`` says that it spends tokens on reasoning. ``missing`` are the
    environment variables that hold no key yet.
    """

    model: str
    provider: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    price: Price | None = None
    most: int | None = None
    tools: bool | None = None
    thinks: bool = False
    missing: tuple[str, ...] = ()

    def cost(self, tokens: r.Tokens) -> float | None:
        """US dollars for these tokens; None where the price is unknown."""
        return None if self.price is None else self.price.of(tokens)

    def worst_cost(self, tokens: r.Tokens) -> float | None:
        """US dollars for these tokens at the dearest rates; None where the price is unknown."""
        return None if self.price is None else self.price.worst(tokens)


async def route(
    model: str, *, base_url: str | None, price: tuple[float, float] | None, environ: Mapping[str, str]
) -> Route:
    """Where calls to ``model`` go.

    With a base URL, a name without a provider that litellm knows is a model of an OpenAI-compatible server
    (vLLM, LM Studio, Ollama's ``/v1``, a gateway). ``OPENAI_BASE_URL`` counts for ``openai/`` models as elsewhere.

    Parameters
    ----------
    price
        US dollars per million tokens (prompt, completion), used where litellm's map has no price.

    Raises
    ------
    ModelUnusable
        No provider is known for the name.
    """
    if model == OFFLINE:
        return Route(f"{OFFLINE}/{OFFLINE}", OFFLINE, price=FREE, tools=True)
    given = None if price is None else Price.per_million(*price)
    return await wire.ask(lambda litellm: _found(litellm, model, base_url, given, environ))


def key_variables() -> Mapping[str, str]:
    """The well-known providers by litellm's names, and the environment variable that holds the key of each."""
    return dict(_KEYS)


def providers_with_keys(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The well-known providers for which a key is set, by litellm's names."""
    return tuple(provider for provider, name in _KEYS.items() if environ.get(name))


def key_advice(one: Route) -> str:
    """What to set so that the provider accepts a key."""
    names = one.missing or ((_KEYS[one.provider],) if one.provider in _KEYS else ())
    if names:
        where = f" for {one.api_base}" if one.api_base else ""
        return f"Set {' and '.join(names)} to a valid key{where} where the server process is started, and start again."
    return f"Set the key that the provider {one.provider} asks for in the environment of the server process."


def _found(litellm: Any, model: str, base_url: str | None, given: Price | None, environ: Mapping[str, str]) -> Route:
    name = model
    if base_url is not None and model.split("/", 1)[0] not in _providers(litellm, model):
        name = f"openai/{model}"
    try:
        short, provider, _, _ = litellm.get_llm_provider(name)
    except Exception:
        raise ModelUnusable(
            f"The model {model!r} is not known.",
            "Give it as provider/model (openai/gpt-4o, anthropic/…, ollama/llama3), or give the base URL of an "
            "OpenAI-compatible server that serves it. The model 'offline' needs neither.",
        ) from None
    if base_url is None and provider == "openai":
        base_url = next((environ[variable] for variable in _OPENAI_URLS if environ.get(variable)), None)
    entry = _entry(litellm, model, name, short, provider)
    missing = () if base_url or provider in _KEYLESS else _missing(litellm, name, provider, environ)
    return Route(
        model=f"{provider}/{short}" if provider == "openai" else name,
        provider=provider,
        api_base=base_url,
        api_key=_own_key(base_url, provider, environ) if base_url else None,
        price=Price.from_map(entry) or given,
        most=_positive(entry.get("max_output_tokens")),
        tools=entry.get("supports_function_calling"),
        thinks=bool(entry.get("supports_reasoning")),
        missing=missing,
    )


def _providers(litellm: Any, model: str) -> set[str]:
    """The names that mean a provider before a slash; a name without one never does."""
    return {str(getattr(one, "value", one)) for one in litellm.provider_list} if "/" in model else set()


def _entry(litellm: Any, model: str, name: str, short: str, provider: str) -> Mapping[str, Any]:
    """The model's entry in the price map, read directly: litellm's own look-up asks local servers over the network."""
    costs = litellm.model_cost
    return next((costs[one] for one in (model, name, f"{provider}/{short}", short) if one in costs), {})


def _missing(litellm: Any, name: str, provider: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that are not set, or are set to nothing. Providers with other ways to sign in are not judged here."""
    own = _KEYS.get(provider)
    if own is not None and environ.get(own) == "":
        return (own,)
    found = litellm.validate_environment(name)
    names = tuple(found["missing_keys"])
    plain = bool(names) and all(one.endswith(("_API_KEY", "_TOKEN", "_APIKEY")) for one in names)
    return () if found["keys_in_environment"] or not plain else names


def _own_key(base_url: str, provider: str, environ: Mapping[str, str]) -> str:
    """The provider's key for a server of one's own; a placeholder where there is none.

    A key is never sent in the clear: plain http gets it only on this machine.
    """
    url = urlsplit(base_url)
    safe = url.scheme == "https" or url.hostname in _LOOPBACK
    return (environ.get(_KEYS.get(provider, "")) if safe else None) or _NO_KEY


def _positive(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value > 0 else None
