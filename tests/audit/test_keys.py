"""The signing key: private, made once, and recognised by its fingerprint."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from aide_jupyter.audit.keys import PublicKey, SigningKey, fingerprint, known_fingerprints, normal_fingerprint
from aide_jupyter.errors import BadRequest, JournalError


def test_a_key_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.pem"
    key = SigningKey.load_or_create(path)
    assert SigningKey.load_or_create(path).public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["signing.pem"]
    assert path.read_text() not in repr(key)


def test_processes_that_make_it_at_once_end_with_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: SigningKey.load_or_create(tmp_path / "k.pem").public, range(16)))
    assert len(set(made)) == 1


@pytest.mark.parametrize("damage", ["open to others", "link", "folder", "text", "another kind"])
def test_a_file_that_is_no_private_key_of_ours_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "k.pem"
    SigningKey.load_or_create(path)
    if damage == "open to others":
        path.chmod(0o640)
    elif damage == "link":
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")
    elif damage == "folder":
        path.unlink()
        path.mkdir(0o700)
    elif damage == "text":
        path.write_text("hello")
    else:
        other = generate_private_key(65537, 2048)
        path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(JournalError, match=r"k\.pem"):
        SigningKey.load_or_create(path)
    assert known_fingerprints(tmp_path) == frozenset()


def test_a_signature_counts_for_its_bytes_its_key_and_its_one_spelling() -> None:
    key, other = SigningKey.generate(), SigningKey.generate()
    signature = key.sign(b"x" * 32)
    public = PublicKey(key.public)
    assert public.verify(b"x" * 32, signature)
    assert not public.verify(b"y" * 32, signature)
    assert not PublicKey(other.public).verify(b"x" * 32, signature)
    for spelt in (signature.upper(), signature + " ", signature[:-2], ""):
        assert not public.verify(b"x" * 32, spelt)


@pytest.mark.parametrize("text", ["", "None", "0" * 63, "G" * 64])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="public key"):
        PublicKey(text)


def test_a_fingerprint_may_be_pasted_in_any_usual_form(tmp_path: Path) -> None:
    key = SigningKey.load_or_create(tmp_path / "k.pem")
    assert known_fingerprints(tmp_path) == {key.fingerprint}
    assert fingerprint(key.public) == key.fingerprint
    pairs = ":".join(key.fingerprint[i : i + 2] for i in range(0, 32, 2)).upper()
    assert normal_fingerprint(f" {pairs}\n") == normal_fingerprint(key.public) == key.fingerprint
    with pytest.raises(BadRequest, match="32 hexadecimal"):
        normal_fingerprint("abc")
