"""Who may do what: every verb is authenticated, and authorized with its own action and resource."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from aide_jupyter.server.routes import ROUTES

from .conftest import Client, Recording
from .fakes import Stage

RUNS, MODELS, DATA, SANDBOX = (f"aide_jupyter:{name}" for name in ("runs", "models", "data", "sandbox"))
SHA = "0" * 64
VERBS: list[tuple[str, tuple[str, ...], str, str]] = [
    ("GET", ("version",), "read", RUNS),
    ("GET", ("runs",), "read", RUNS),
    ("POST", ("runs",), "execute", RUNS),
    ("GET", ("runs", "r1", "state"), "read", RUNS),
    ("GET", ("runs", "r1", "candidates", "c0001"), "read", RUNS),
    ("GET", ("runs", "r1", "records"), "read", RUNS),
    ("GET", ("runs", "r1", "cells"), "read", RUNS),
    ("GET", ("runs", "r1", "blobs", SHA), "read", RUNS),
    ("GET", ("runs", "r1", "reviews"), "execute", RUNS),
    ("POST", ("runs", "r1", "decisions"), "execute", RUNS),
    ("POST", ("runs", "r1", "control"), "execute", RUNS),
    ("GET", ("runs", "r1", "verify"), "read", RUNS),
    ("GET", ("runs", "r1", "export"), "read", RUNS),
    ("POST", ("runs", "r1", "export"), "write", RUNS),
    ("GET", ("verify",), "read", RUNS),
    ("GET", ("models",), "read", MODELS),
    ("GET", ("columns",), "read", DATA),
    ("GET", ("form",), "read", RUNS),
    ("GET", ("doctor",), "read", SANDBOX),
    ("POST", ("doctor",), "execute", SANDBOX),
]


def body(method: str) -> dict[str, Any]:
    return {"body": "{}"} if method == "POST" else {}


def test_every_verb_of_every_route_is_in_this_table() -> None:
    found = set()
    for pattern, handler in ROUTES:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            if method.lower() in vars(handler) and handler.__name__ != "LiveSocket":
                found.add(
                    (method, pattern.rsplit("/", 1)[-1] if "(c" not in pattern and "blobs" not in pattern else "")
                )
    table = {(method, "" if "candidates" in parts or "blobs" in parts else parts[-1]) for method, parts, _, _ in VERBS}
    assert found == table


@pytest.mark.parametrize(("method", "parts", "action", "resource"), VERBS)
async def test_a_verb_asks_for_its_own_action_and_resource(
    client: Client, recording: type[Recording], method: str, parts: tuple[str, ...], action: str, resource: str
) -> None:
    recording.refused.add((action, resource))
    response = await client.raw(method, *parts, **body(method))
    assert response.code == 403
    assert recording.asked == [(method, action, resource)]
    assert "message" in json.loads(response.body)


async def test_what_a_verb_asks_for_does_not_depend_on_what_was_asked_before(
    client: Client, recording: type[Recording]
) -> None:
    for method, parts, action, resource in [*VERBS, *reversed(VERBS)]:
        recording.asked.clear()
        recording.refused = {(action, resource)}
        await client.raw(method, *parts, **body(method))
        assert recording.asked == [(method, action, resource)]


@pytest.mark.parametrize(("method", "parts", "action", "resource"), VERBS)
async def test_a_request_without_a_token_is_refused(
    client: Client, recording: type[Recording], method: str, parts: tuple[str, ...], action: str, resource: str
) -> None:
    response = await client.raw(method, *parts, headers={"Authorization": "token wrong"}, **body(method))
    assert response.code == 403
    assert recording.asked == []


async def test_a_socket_needs_a_token_the_right_to_read_and_a_tab(
    client: Client, stage: Stage, recording: type[Recording], jp_ws_fetch: Any
) -> None:
    run = await client.start(review="every", steps=1)
    where = ("aide-jupyter", "runs", run, "live")
    for headers, params, refused, code in (
        ({"Authorization": "token wrong"}, {"tab": "tab-aaaa"}, set(), 403),
        ({}, {"tab": "tab-aaaa"}, {("read", RUNS)}, 403),
        ({}, {"tab": "x"}, set(), 400),
        ({}, {}, set(), 400),
    ):
        recording.refused = refused
        with pytest.raises(HTTPClientError) as error:
            await jp_ws_fetch(*where, headers=dict(headers), params=params)
        assert error.value.code == code
    recording.refused = set()
    with pytest.raises(HTTPClientError) as error:
        await jp_ws_fetch("aide-jupyter", "runs", "20261130t000000-00000000", "live", params={"tab": "tab-aaaa"})
    assert error.value.code == 404
    recording.asked.clear()
    page = await client.live(run, "tab-aaaa")
    assert recording.asked == [("GET", "read", RUNS), ("GET", "write", RUNS)]
    page.close()


async def test_who_may_only_read_writes_no_notebook(client: Client, stage: Stage, recording: type[Recording]) -> None:
    run = await client.start(review="every", steps=1)
    notebook = (await client.get("runs", run, "state"))["notebook"]
    recording.refused = {("write", RUNS)}
    page = await client.live(run, "tab-aaaa")
    await page.say("open", path=notebook)
    assert (await page.hear("lease"))["state"] == "refused"
    page.close()


async def cookie_of(jp_serverapp: Any, jp_fetch: Any, host: str = "") -> str:
    """What a browser has after it opened the server's link, in place of a token."""
    token = jp_serverapp.identity_provider.token
    headers = {"Authorization": "", **({"Host": host} if host else {})}
    login = await jp_fetch("lab-none", headers=headers, params={"token": token}, raise_error=False)
    found = "; ".join(value.split(";")[0] for value in login.headers.get_list("Set-Cookie"))
    assert "username" in found
    return found


async def test_a_socket_from_another_origin_is_refused(
    client: Client, stage: Stage, jp_ws_fetch: Any, jp_serverapp: Any, jp_fetch: Any, jp_http_port: int
) -> None:
    run = await client.start(review="every", steps=1)
    cookie = await cookie_of(jp_serverapp, jp_fetch, f"localhost:{jp_http_port}")

    async def connect(origin: str) -> Any:
        headers = {"Authorization": "", "Cookie": cookie, "Origin": origin}
        return await jp_ws_fetch("aide-jupyter", "runs", run, "live", params={"tab": "tab-aaaa"}, headers=headers)

    with pytest.raises(HTTPClientError) as error:
        await connect("https://evil.test")
    assert error.value.code == 403
    del error
    (await connect(f"http://localhost:{jp_http_port}")).close()


async def test_a_form_from_another_site_cannot_act(
    client: Client, jp_serverapp: Any, jp_fetch: Any, http_server_client: Any, jp_base_url: str
) -> None:
    """With a cookie instead of a token, as a browser has it, a POST needs the XSRF cookie's value too."""
    cookie = await cookie_of(jp_serverapp, jp_fetch)
    url = f"{jp_base_url}aide-jupyter/runs"
    ask = {"method": "POST", "body": "{}", "raise_error": False}
    refused = await http_server_client.fetch(url, headers={"Cookie": cookie}, **ask)
    assert refused.code == 403
    assert "_xsrf" in refused.body.decode()
    listed = await http_server_client.fetch(url, headers={"Cookie": cookie}, raise_error=False)
    assert listed.code == 200
    foreign = {"Cookie": cookie, "Origin": "https://evil.test", "Host": "localhost"}
    assert (await http_server_client.fetch(url, headers=foreign, **ask)).code in (403, 404)


async def test_the_acting_user_is_the_identity_providers(
    client: Client, stage: Stage, root: Any, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jupyter_server.auth.identity import User

    from .test_reviews import records

    ada = User(username="ada", name="Ada Lovelace", display_name="Ada \u202eecalevoL")
    monkeypatch.setattr(type(jp_serverapp.identity_provider), "generate_anonymous_user", lambda self, handler: ada)
    run = await client.start(review="every", steps=1)
    await client.decide(run, await client.question(run), "approve")
    await client.closed(run)
    names = {one.actor.name for kind in ("opened", "decided") for one in records(root, kind)}
    assert names == {"Ada \\u202eecalevoL (ada)"}


async def test_an_unknown_run_or_candidate_is_not_found(client: Client, stage: Stage) -> None:
    for parts in (("runs", "20261130t000000-00000000", "state"), ("runs", "none", "cells")):
        answer = await client.get(*parts)
        assert (answer.status, answer["reason"]) == (404, "NotFound")
    run = await client.start(review="every", steps=1)
    assert (await client.get("runs", run, "candidates", "c0099")).status == 404
    assert (await client.get("runs", run, "blobs", SHA)).status == 404
