"""Making a preview fit: less is told of each column, then of fewer columns, then of fewer files, until it is short.

The same preview is always cut in the same way, and the first column of the first table (the target) stays to the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from .shape import Column, File, Images, Preview, Table, TextFile

LIMIT = 12_000
"""Characters of a preview, about 4,000 tokens."""

EVERYTHING = 10**9


@dataclass(frozen=True)
class _Detail:
    """How much is told: categories and raw values of a column, characters of a text's beginning, columns of a table,
    files. ``plain`` leaves out what a model can do without (quantiles, lengths, deviations)."""

    top: int = 50
    samples: int = 5
    head: int = 2000
    quantiles: bool = True
    plain: bool = False
    bare: bool = False
    columns: int = 1000
    files: int = 60
    notes: int = 20


_STEPS = (
    _Detail(),
    _Detail(top=6, samples=3, notes=12),
    _Detail(top=4, samples=2, head=1000, notes=10),
    _Detail(top=3, samples=1, head=600, notes=10),
    _Detail(top=3, samples=1, head=600, quantiles=False, notes=10),
    _Detail(top=3, samples=1, head=400, quantiles=False, plain=True, notes=10),
    _Detail(top=2, samples=1, head=200, quantiles=False, plain=True, notes=10),
    _Detail(top=2, samples=0, head=200, quantiles=False, plain=True, notes=10),
)
_CUTS = (100, 60, 40, 25, 15, 8, 4, 2, 1)
_FILES = (30, 16, 8, 4, 2, 1)


def fit(preview: Preview, limit: int) -> Preview:
    """The preview with as much detail as ``limit`` characters of :meth:`Preview.text` allow."""
    steps = list(_STEPS)
    steps += [replace(_STEPS[2], columns=count) for count in _CUTS[:4]]
    last = _STEPS[-1]
    steps += [replace(last, columns=count) for count in _CUTS]
    steps += [replace(last, columns=count, files=files, bare=True, notes=5) for files in _FILES for count in (8, 2, 1)]
    for detail in steps:
        shown = _cut(preview, detail)
        if len(shown.text()) <= limit:
            return shown
    return _cut(preview, steps[-1]).model_copy(update={"notes": ()})


def _cut(preview: Preview, detail: _Detail) -> Preview:
    files = preview.files[: detail.files]
    more = len(preview.notes) - detail.notes
    notes = preview.notes[: detail.notes] + ((f"… and {more} more notes.",) if more > 0 else ())
    told = tuple(_cut_file(file, detail, whole=preview.target is not None and at == 0) for at, file in enumerate(files))
    return preview.model_copy(update={"files": told, "more_files": len(preview.files) - len(files), "notes": notes})


def _cut_file(file: File, detail: _Detail, *, whole: bool) -> File:
    """A file with less detail; ``whole``: its first column, the target, keeps all of it."""
    if isinstance(file, TextFile) and file.head is not None and len(file.head) > detail.head:
        return file.model_copy(update={"head": file.head[: detail.head] + " …"})
    if isinstance(file, Images) and detail.bare:
        return file.model_copy(update={"folder_names": (), "modes": None})
    if not isinstance(file, Table):
        return file
    shown, hidden = file.columns[: detail.columns], file.columns[detail.columns :]
    types = Counter(file.more_dtypes or {}) + Counter(column.dtype for column in hidden)
    more = (file.more_columns or 0) + len(hidden)
    return file.model_copy(
        update={
            "columns": (*shown[:whole], *(_cut_column(column, detail) for column in shown[whole:])),
            "more_columns": more or None,
            "more_dtypes": dict(sorted(types.items())) or None,
            "more_names": () if detail.bare else file.more_names,
            "missing": file.missing[: detail.columns],
        }
    )


def _cut_column(column: Column, detail: _Detail) -> Column:
    if detail.bare:
        return Column(name=column.name, dtype=column.dtype, escaped=column.escaped, nulls=column.nulls)
    update: dict[str, object] = {"top": column.top[: detail.top], "samples": column.samples[: detail.samples]}
    if not detail.quantiles:
        update["quantiles"] = ()
    if detail.plain:
        update |= {"length": None, "std": None, "infinite": None}
    return column.model_copy(update=update)
