"""What a file may be, by its name alone. Nothing here opens a file."""

from __future__ import annotations

from pathlib import PurePosixPath

DELIMITED = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}
MAYBE = {".txt", ".dat", ".data"}
"""Endings of tables and of texts alike."""


def is_table(path: PurePosixPath) -> bool:
    """Whether a file may be a table, by its name."""
    ending = suffix(path)
    return (
        ending in DELIMITED or ending in MAYBE or ending in {".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".xlsx"}
    )


def suffix(path: PurePosixPath) -> str:
    """The ending in lower case; of a gzip file that of what is packed."""
    last = path.suffix.lower()
    return PurePosixPath(path.stem).suffix.lower() if last == ".gz" else last
