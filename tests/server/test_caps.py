"""What the administrator allows: filled in where left open, refused in words where more is asked."""

from __future__ import annotations

from typing import Any

import pytest

from aide_jupyter import records as r
from aide_jupyter.errors import BadRequest
from aide_jupyter.options import request_from_options
from aide_jupyter.server.caps import Caps

TIGHT = Caps(
    review_modes=("every", "flagged"),
    previews=("off", "schema"),
    models=("offline", "ollama/*"),
    policies=("aide",),
    network_hosts=("localhost", "*.example.org"),
    steps=5,
    max_time=600,
    max_tokens=1000,
    max_cost=2.5,
    timeout=60,
    memory=1 << 30,
    workers=2,
)
BASE: dict[str, Any] = {"policy": "aide"}


def opened(**settings: Any) -> r.Opened:
    return r.Opened(
        task=r.Task(goal="g", direction="minimize", direction_source="t"),
        policy="aide",
        seed=0,
        mode="every",
        budgets=r.Budgets(),
        settings=r.Settings.model_validate({"policy": "aide", "preview": "schema", **settings}),
        grants=r.Grants(),
        data=r.DataView(source="d", sha256="a" * 64, files=1, bytes=1, manifest=""),
        versions={},
        key="k",
    )


def test_what_is_left_open_is_filled_in_within_the_caps() -> None:
    options = TIGHT.options(BASE)
    assert {name: options[name] for name in ("steps", "max_time", "max_tokens", "max_cost", "timeout", "workers")} == {
        "steps": 5, "max_time": 600, "max_tokens": 1000, "max_cost": 2.5, "timeout": 60, "workers": 1,
    }  # fmt: skip
    assert (options["review"], options["preview"], options["memory"]) == ("every", "off", 1 << 30)
    request = request_from_options({**options, "data": "d", "goal": "g"})
    assert (request.budgets.cost_usd, request.settings.limits.seconds, request.settings.data_preview) == (
        2.5,
        60,
        False,
    )


def test_without_caps_the_usual_values_stand_and_no_cost_is_set() -> None:
    options = Caps().options({})
    assert (options["steps"], options["max_time"], options["review"], options["preview"]) == (
        20, 21600, "every", "statistics",
    )  # fmt: skip
    assert "max_cost" not in options


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"steps": 6}, "5 steps at most, and 6"),
        ({"max_time": 601.0}, "600 seconds of run time"),
        ({"max_tokens": 1001}, "1000 tokens"),
        ({"max_cost": 3.0}, "2.5 US dollars"),
        ({"timeout": 61.0}, "60 seconds for one program"),
        ({"memory": 2 << 30}, "bytes of memory"),
        ({"workers": 3}, "2 workers"),
        ({"review": "auto"}, "review mode “auto”"),
        ({"preview": "samples"}, "preview level “samples”"),
        ({"model": "openai/gpt-4o"}, "model “openai/gpt-4o”"),
        ({"feedback_model": "openai/gpt-4o"}, "model “openai/gpt-4o”"),
        ({"report_model": "openai/gpt-4o"}, "model “openai/gpt-4o”"),
        ({"policy": "default"}, "policy “default”"),
        ({"base_url": "https://evil.test/v1"}, "host “evil.test”"),
        ({"base_url": "https://example.org.evil.test"}, "host “example.org.evil.test”"),
        ({"base_url": "nonsense"}, "not the address of a server"),
    ],
)
def test_more_than_is_allowed_is_refused_in_words(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words.replace("(", r"\(")):
        TIGHT.options({**BASE, **asked})


def test_what_is_allowed_passes() -> None:
    asked = {"steps": 5, "model": "ollama/llama3", "base_url": "http://localhost:11434", "review": "flagged"}
    assert TIGHT.options({**BASE, **asked}).items() >= asked.items()


def test_a_run_that_began_elsewhere_is_judged_before_it_goes_on() -> None:
    budgets = r.Budgets(steps=5, seconds=600, tokens=1000, cost_usd=2)
    limits = {"seconds": 60, "memory_bytes": 1 << 30}
    TIGHT.must_allow_run(opened(limits=limits), "every", budgets, None)
    for body, mode, caps in (
        (opened(limits=limits), "auto", budgets),
        (opened(), "every", budgets),
        (opened(limits=limits), "every", r.Budgets(steps=5, seconds=600, tokens=1000)),
        (opened(limits=limits, preview="samples"), "every", budgets),
        (opened(limits=limits, code={"model": "openai/x"}), "every", budgets),
        (opened(limits=limits, base_url="https://evil.test"), "every", budgets),
        (opened(limits=limits).model_copy(update={"grants": r.Grants(network=("evil.test",))}), "every", budgets),
    ):
        with pytest.raises(BadRequest):
            TIGHT.must_allow_run(body, mode, caps, body.settings.base_url)  # type: ignore[arg-type]
