"""Masking: what a secret looks like, wherever it hides, and what is never touched."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.audit.redact import Redactor, known_secrets

SECRET = "p@ss/w0rd+ü 'x'\"y\\z="
REDACTOR = Redactor({"DB_PASSWORD": SECRET})


def test_a_known_value_is_masked_by_name_and_counted() -> None:
    assert REDACTOR.mask(f"a {SECRET} b {SECRET}{SECRET} c") == (
        "a [masked: DB_PASSWORD] b [masked: DB_PASSWORD][masked: DB_PASSWORD] c",
        3,
    )
    assert REDACTOR.mask("nothing here") == ("nothing here", 0)
    assert Redactor({}).mask("") == ("", 0)


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        repr(SECRET)[1:-1],
        SECRET.replace("\\", "\\\\").replace('"', '\\"'),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_encoded_spellings_are_masked(spelling: str) -> None:
    masked, count = REDACTOR.mask(f"header {spelling} tail")
    assert count == 1
    assert masked.startswith("header [masked: DB_PASSWORD]")
    assert masked.endswith(" tail")


@settings(max_examples=200, deadline=None)
@given(before=st.binary(max_size=9), after=st.binary(max_size=9), secret=st.binary(min_size=9, max_size=40))
def test_base64_of_a_longer_text_is_masked_at_every_offset(before: bytes, after: bytes, secret: bytes) -> None:
    value = secret.hex()
    encoded = base64.b64encode(before + value.encode() + after).decode()
    masked, count = Redactor({"A_KEY": value}).mask(encoded)
    assert count == 1
    left = masked.replace("[masked: A_KEY]", "")
    assert len(left) <= 4 * -(-(len(before) + len(after)) // 3) + 6


def test_short_values_are_ignored() -> None:
    assert Redactor({"A_KEY": "x" * 11}).mask("x" * 11) == ("x" * 11, 0)
    assert Redactor({"A_KEY": "x" * 12}).mask("x" * 12)[1] == 1


def test_one_secret_within_another_or_within_a_mask_is_masked_once() -> None:
    redactor = Redactor({"SHORT_KEY": "abcdefghijkl", "LONG_KEY": "abcdefghijkl-mnopqr", "NAME_KEY": "masked: LONG"})
    assert redactor.mask("<abcdefghijkl-mnopqr>") == ("<[masked: LONG_KEY]>", 1)
    assert redactor.mask("<abcdefghijkl>") == ("<[masked: SHORT_KEY]>", 1)
    overlapping = Redactor({"A_KEY": "0123456789ab", "B_KEY": "6789abcdefgh"})
    assert overlapping.mask("x0123456789abcdefghx") == ("x[masked: A_KEY]x", 1)


def test_numbers_are_never_altered() -> None:
    redactor = Redactor({"PIN_KEY": "123456789012"})
    metric = "Validation metric: 0.1234567890123\nloss 123456789012.5 1123456789012 123456789012e-3"
    masked, count = redactor.mask(metric)
    assert masked.startswith("Validation metric: 0.1234567890123\nloss 123456789012.5 1123456789012 ")
    assert count == 1
    assert redactor.mask("pin=123456789012;") == ("pin=[masked: PIN_KEY];", 1)


# Put together at run time, so that no scanner takes this file for a leak.
SHAPES = {
    "OpenAI key": ["sk-" + "a1B2" * 12, "sk-proj-" + "a1B2_-" * 8, "sk-svcacct-" + "abcd" * 6],
    "Anthropic key": ["sk-ant-" + "api03-" + "aB3_-" * 10],
    "OpenRouter key": ["sk-or-v1-" + "0f" * 32],
    "AWS access key": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Z" * 16],
    "GitHub token": ["ghp_" + "a1" * 18, "gho_" + "Z9" * 18, "github_pat_" + "a1_" * 20],
    "GitLab token": ["glpat-" + "x1-_" * 5],
    "Google key": ["AIza" + "Sy" + "a_-" * 11],
    "Slack token": ["xoxb-" + "1234567890-abc"],
    "Hugging Face token": ["hf_" + "aB" * 17],
    "Stripe key": ["sk_live_" + "a1" * 12],
    "JSON web token": ["eyJ" + "hbGciOiJI.eyJ" + "zdWIiOiIx.SflKxwRJSM"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SHAPES.items() for text in texts])
def test_shapes_are_masked_by_the_name_of_their_pattern(name: str, text: str) -> None:
    for around in ("{}", "key={}\n", '"{}"', "({})"):
        masked, count = Redactor({}).mask(around.format(text))
        assert (masked, count) == (around.format(f"[masked: {name}]"), 1)


def _pem(kind: str) -> str:
    key = {
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
        "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "encrypted": lambda: rsa.generate_private_key(65537, 2048),
        "openssh": ed25519.Ed25519PrivateKey.generate,
    }[kind]()
    form = {"rsa": PrivateFormat.TraditionalOpenSSL, "encrypted": PrivateFormat.TraditionalOpenSSL}.get(
        kind, PrivateFormat.OpenSSH if kind == "openssh" else PrivateFormat.PKCS8
    )
    lock = BestAvailableEncryption(b"x") if kind == "encrypted" else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, lock).decode()


@pytest.mark.parametrize("kind", ["rsa", "ec", "ed25519", "encrypted", "openssh"])
def test_private_keys_are_masked_whole_escaped_or_cut(kind: str) -> None:
    pem = _pem(kind)
    middle = pem.splitlines()[-2][:20]
    for text in (pem, repr(pem), pem.replace("\n", "\r\n"), pem.replace("\n", " ")):
        masked, count = Redactor({}).mask(f"before {text} after")
        assert count == 1
        assert middle not in masked
        assert masked.startswith("before ")
        assert masked.endswith(" after")
    cut = pem[: pem.rindex("-----END")]
    assert middle not in Redactor({}).mask(cut)[0]


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn sk-container-id-1 sk-estimator-doc-link-fitted-and-more risk-adjusted-0123456789abcdef",
        "d41d8cd98f00b204e9800998ecf8427e " * 3 + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0.12345678901234567890 1e-300 123456789012345678901234567890",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "if '-----BEGIN PRIVATE KEY-----' in text:\n    raise ValueError('a private key was found in the text')",
        "-----BEGIN PUBLIC KEY-----\n" + "MCowBQYDK2VwAyEA" * 4 + "\n-----END PUBLIC KEY-----",
        "ghp_short AKIAtoolower hf_model AIza eyJ.eyJ.x xoxo-hugs-and-kisses",
    ],
)
def test_innocent_text_stays_as_it_is(text: str) -> None:
    assert Redactor({}).mask(text) == (text, 0)


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from("sk-antprojAKIA0123456789eyJ.hf_" + SECRET), max_size=200))
def test_masking_masked_text_changes_nothing(text: str) -> None:
    masked, _ = REDACTOR.mask(text + SECRET)
    assert SECRET not in masked
    assert REDACTOR.mask(masked) == (masked, 0)


def test_any_text_passes_also_with_lone_surrogates() -> None:
    assert Redactor({"A_KEY": "x\ud800" * 12}).mask("\udfff ok") == ("\udfff ok", 0)


def test_code_is_searched_and_never_masked() -> None:
    assert REDACTOR.contains_secret("print(1)") is None
    assert REDACTOR.contains_secret(f"x = {SECRET!r}") == "DB_PASSWORD"
    assert REDACTOR.contains_secret(f"x = '{SECRET.encode().hex()}'") == "DB_PASSWORD"
    code = (
        "import os\n\nkey = '" + SHAPES["Hugging Face token"][0] + "'\nother = '" + SHAPES["AWS access key"][0] + "'\n"
    )
    assert Redactor({}).shapes(code) == [("Hugging Face token", 3), ("AWS access key", 4)]
    flag = Redactor({}).flags(code)[0]
    assert (flag.rule, flag.line, flag.severity) == ("secret", 3, "danger")
    assert SHAPES["Hugging Face token"][0] not in flag.message


def test_an_environment_names_its_secrets(tmp_path: Path) -> None:
    long = "v" * 20
    secret = [
        "OPENAI_API_KEY", "openai_api_key", "GITHUB_TOKEN", "JUPYTER_TOKEN", "DJANGO_SECRET", "PGPASSWORD",
        "AZURE_CREDENTIALS", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "MYSQL_PWD",
        "SSH_PASSPHRASE", "APIKEY", "AZURE_DEVOPS_EXT_PAT",
    ]  # fmt: skip
    plain = ["PATH", "HOME", "PWD", "OLDPWD", "AWS_DEFAULT_REGION", "MONKEY", "TOKENIZERS_PARALLELISM", "KEYBOARD"]
    assert known_secrets(dict.fromkeys([*secret, *plain], long)) == dict.fromkeys(secret, long)
    file = tmp_path / "credentials.json"
    file.touch()
    assert known_secrets({"GOOGLE_APPLICATION_CREDENTIALS": str(file), "A_KEY": "short", "B_KEY": " " * 30}) == {}
    assert known_secrets({"A_KEY": f" {long}\n", "B_SECRET": "/not/a/file+base64=="}) == {
        "A_KEY": long,
        "B_SECRET": "/not/a/file+base64==",
    }


def test_passwords_in_urls_are_secrets_under_any_name() -> None:
    url = "postgresql://ada:correct%20horse%20battery@db.example/x"
    redactor = Redactor(known_secrets({"DATABASE_URL": url, "HOMEPAGE": "https://example.org/@ada", "BAD": "a://[@"}))
    masked, count = redactor.mask(f"{url} correct%20horse%20battery correct horse battery")
    assert masked == "[masked: DATABASE_URL] " + " ".join(["[masked: password of DATABASE_URL]"] * 2)
    assert count == 3
    assert known_secrets({"DATABASE_URL": "postgresql://ada:pw@db.example/x"}).keys() == {"DATABASE_URL"}


def test_known_secrets_are_those_of_this_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "z" * 20)
    assert known_secrets()["SOME_API_KEY"] == "z" * 20


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n" + "a: b\n" * 4,
        "-----BEGIN A A A ",
        "n\\",
        "\n",
        "eyJaaaaaaaaa.",
        "eyJ",
        "sk-proj-",
        "AKIA",
        "a",
    ],
)
def test_hostile_output_is_masked_in_linear_time(unit: str) -> None:
    """One tenth of a second is usual; time that grew with the square of the length would be minutes."""
    text = "-----BEGIN PRIVATE KEY-----" + unit * (1_000_000 // len(unit))
    start = time.process_time()
    REDACTOR.mask(text)
    assert time.process_time() - start < 5
