"""The key that signs a run's records: Ed25519, kept in a file that only its owner can read.

A public key is written as 64 hexadecimal digits, its fingerprint as 32. A signature counts only under a key whose
fingerprint the verifier already has, so the public key in a journal proves nothing by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Collection
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from ..errors import BadRequest, JournalError
from .files import open_regular

_KEY_BYTES = 4096
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_PUBLIC = re.compile(r"[0-9a-f]{64}")


def fingerprint(public: str) -> str:
    """The name of a public key: the first 128 bits of the SHA-256 of its 32 bytes, in hexadecimal."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32]


def normal_fingerprint(text: str) -> str:
    """A fingerprint as a person may type or paste it (upper case, colons, blanks), in this module's own form.

    Raises
    ------
    BadRequest
        It is neither a fingerprint nor a public key.
    """
    plain = re.sub(r"[\s:]", "", text).lower()
    if _PUBLIC.fullmatch(plain):
        return fingerprint(plain)
    if not re.fullmatch(r"[0-9a-f]{32}", plain):
        raise BadRequest(
            f"“{text[:80]}” is not the fingerprint of a key.",
            "A fingerprint is 32 hexadecimal digits; it is shown at the end of every run.",
        )
    return plain


class PublicKey:
    """Checks signatures.

    Parameters
    ----------
    public
        64 lower-case hexadecimal digits.

    Raises
    ------
    ValueError
        They are not, or are no key.
    """

    def __init__(self, public: str) -> None:
        if not _PUBLIC.fullmatch(public):
            raise ValueError("not an Ed25519 public key in hexadecimal")
        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        self.fingerprint = fingerprint(public)

    def verify(self, data: bytes, signature: str) -> bool:
        """Whether ``signature`` (128 lower-case hexadecimal digits, no other spelling) is this key's over ``data``."""
        if not _SIGNATURE.fullmatch(signature):
            return False
        try:
            self._key.verify(bytes.fromhex(signature), data)
        except InvalidSignature:
            return False
        return True

    def is_among(self, keys: Collection[str]) -> bool:
        """Whether ``keys`` (fingerprints) name this key."""
        return self.fingerprint in keys


class SigningKey:
    """A private key. Its text never leaves its file and this object."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = key.public_key().public_bytes_raw().hex()
        self.fingerprint = fingerprint(self.public)

    def __repr__(self) -> str:
        return f"<SigningKey {self.fingerprint}>"

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key, in memory only."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load_or_create(cls, path: Path) -> SigningKey:
        """The key in ``path`` (PEM, mode 0600); made there, with its folder (0700), where there is none.

        Two processes that make it at once end with the same key.

        Raises
        ------
        JournalError
            The file is no key, is a link, or can be read by others than its owner.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return cls._load(path)
        except FileNotFoundError:
            pass
        key = Ed25519PrivateKey.generate()
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(fd)
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(draft)
        finally:
            draft.unlink()
        return cls._load(path)

    @classmethod
    def _load(cls, path: Path) -> SigningKey:
        try:
            file = open_regular(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise JournalError(f"The signing key {path} cannot be read: {error.strerror}.") from error
        with file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
                raise JournalError(
                    f"The signing key {path} is not a file that only you can read.",
                    "Check who has had access to it, then give it mode 0600, or move it away to get a new key.",
                )
            text = file.read(_KEY_BYTES)
        try:
            key = load_pem_private_key(text, password=None)
        except (ValueError, TypeError) as error:
            raise JournalError(f"{path} does not hold a signing key.", "Move it away to get a new one.") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise JournalError(f"{path} holds a key that is not Ed25519.", "Move it away to get a new one.")
        return cls(key)

    def sign(self, data: bytes) -> str:
        """The signature over ``data``: 128 hexadecimal digits."""
        return self._key.sign(data).hex()


def known_fingerprints(folder: Path) -> frozenset[str]:
    """The fingerprints of all keys in ``folder``: those of this machine. A file without a key is skipped."""
    found = set()
    for path in sorted(folder.glob("*.pem")):
        with contextlib.suppress(JournalError, OSError):
            found.add(SigningKey._load(path).fingerprint)
    return frozenset(found)
