"""What a preview says: typed statistics as pydantic models, with room for nothing else.

Every string in it that came from data has gone through :class:`Untrusted`. What does not apply is left out of the JSON.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from ..records import Model, PreviewLevel

Dtype = Literal["integer", "float", "boolean", "string", "datetime", "other"]
Number = int | float
Format = Literal["csv", "tsv", "parquet", "json", "jsonl", "xlsx"]


class Compact(Model):
    """A model whose JSON leaves out what is None or empty."""

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None and value not in ([], (), {})}


class Length(Compact):
    """Characters of the strings of a column."""

    min: int
    mean: Number
    max: int


class Column(Compact):
    """One column. ``dtype`` is what the values are, whatever a reader makes of them: ``datetime`` also stands for
    dates written as text.

    ``unique`` counts distinct values; over 4,096 of them it is an estimate (2 % off at most times) and
    ``unique_approximate`` says so. ``quantiles`` are those of 5, 25, 50, 75 and 95 %, from at most 20,000 rows. ``top``
    are categories with their counts; none that is rare enough to point at a person. ``text`` says in words what the
    strings look like. ``escaped``: the name stands here otherwise than in the file. ``id_like``: each row has a
    value of its own, so no value is told. ``infinite`` counts infinite numbers, which no other number counts.
    """

    name: str
    dtype: Dtype
    escaped: bool | None = None
    id_like: bool | None = None
    nulls: int | None = None
    unique: int | None = None
    unique_approximate: bool | None = None
    min: Number | str | None = None
    max: Number | str | None = None
    mean: Number | None = None
    std: Number | None = None
    infinite: int | None = None
    quantiles: tuple[Number | str, ...] = ()
    top: tuple[tuple[str, int], ...] = ()
    length: Length | None = None
    text: str | None = None
    samples: tuple[str, ...] = ()


class Table(Compact):
    """A file, or a sheet of one, with rows and columns.

    ``rows_read`` is set where the statistics are not from all rows. ``header`` is False where the first line holds
    values already; ``skip_lines`` counts lines before the header. Where ``same_columns_as`` names an earlier table,
    ``columns`` holds only what differs from it and ``missing`` what it has more. ``more_columns`` counts those not
    shown; ``more_dtypes`` those of up to 2,200 of them (some by their first rows only), ``more_names`` their commonest
    names, digits as ``#``.
    """

    kind: Literal["table"] = "table"
    path: str
    format: Format
    bytes: int
    sheet: str | None = None
    rows: int | None = None
    rows_read: int | None = None
    encoding: str | None = None
    separator: str | None = None
    header: bool | None = None
    skip_lines: int | None = None
    same_columns_as: str | None = None
    missing: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    more_columns: int | None = None
    more_dtypes: dict[Dtype, int] | None = None
    more_names: tuple[tuple[str, int], ...] = ()


class Images(Compact):
    """The images of a folder (and the folders below it, where ``folders`` counts them). Sizes are in pixels,
    (smallest, largest), of the ``measured`` images whose headers were read."""

    kind: Literal["images"] = "images"
    path: str
    count: int
    bytes: int
    formats: dict[str, int]
    folders: int | None = None
    folder_names: tuple[str, ...] = ()
    measured: int = 0
    width: tuple[int, int] | None = None
    height: tuple[int, int] | None = None
    modes: dict[str, int] | None = None
    unreadable: int | None = None


class TextFile(Compact):
    """A text file that is no table. ``head`` is its beginning, at the level ``samples`` only."""

    kind: Literal["text"] = "text"
    path: str
    bytes: int
    lines: int | None = None
    encoding: str | None = None
    head: str | None = None


class Other(Compact):
    """A file of another kind, or ``count`` files of one kind in one folder; ``bytes`` of all together."""

    kind: Literal["other"] = "other"
    path: str
    bytes: int
    count: int | None = None
    format: str | None = None
    why: str | None = None


File = Table | Images | TextFile | Other


class Taint(Model):
    """Why something that the preview shows is suspicious, and where it stands."""

    where: str
    why: str


class Preview(Model):
    """What a model is told of the data. :meth:`text` is what goes into a prompt; ``taints`` are for review."""

    level: PreviewLevel
    target: str | None = None
    files: tuple[File, ...] = ()
    more_files: int = 0
    notes: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()

    def text(self) -> str:
        """The preview as compact JSON, without the taints: one object ``{level, files, more_files, notes}``."""
        return self.model_dump_json(exclude={"taints"}, exclude_none=True)
