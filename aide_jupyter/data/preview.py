"""The data preview: typed statistics of everything in a view, bounded in size whatever the data is.

It reads a view and nothing else. Parsers of hostile files may fail in any way, so the engine and the server call it
through :func:`aide_jupyter.data.worker.preview_in_process`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import AideError
from ..records import PreviewLevel
from . import images
from .copying import Stop, check
from .describe import Voice, column, sampled_note
from .dialect import encoding_of
from .fit import LIMIT, fit
from .listing import BUDGET, LEAST, Entry, Listing, ending, listing
from .names import is_table
from .profile import ColumnProfile, TableProfile
from .shape import Column, Dtype, File, Other, Preview, Table, TextFile
from .tables import MAX_BYTES, Opened, Unreadable, open_tables

MAX_COLUMNS = 200
"""Columns of a table whose statistics are taken; the target is always one of them."""

MORE_COLUMNS = 2000
_LINES_FROM = 64 << 20
_HEAD = 2000
_PATH = 120


def preview(
    root: Path,
    level: PreviewLevel,
    *,
    target: str | None = None,
    links: Collection[Path] = (),
    limit: int = LIMIT,
    budget: int = BUDGET,
    skip: Mapping[str, str] | None = None,
    reading: Callable[[str], None] | None = None,
    stop: Stop | None = None,
) -> Preview:
    """The preview of a view.

    Parameters
    ----------
    root
        The view's folder.
    level
        How much is told.
    target
        The column to be predicted; its table comes first, and it first in that.
    links
        ``View.links``.
    limit
        The most characters of :meth:`Preview.text`.
    budget
        Bytes of all tables together that are read; of what is larger, the first rows are told.
    skip
        Files not to open, by path (a folder of images ends in ``/``), each with why.
    reading
        Called with each of these paths before it is opened.

    Raises
    ------
    OSError
        Where ``root`` cannot be read.
    AideError
        Where ``stop`` said so.
    """
    return _Reading(root, level, target, budget, skip or {}, reading, stop).whole(listing(root, set(links)), limit)


@dataclass
class _Reading:
    root: Path
    level: PreviewLevel
    target: str | None
    budget: int
    skip: Mapping[str, str]
    reading: Callable[[str], None] | None
    stop: Stop | None
    voice: Voice = field(default_factory=Voice)
    notes: dict[str, None] = field(default_factory=dict)

    def whole(self, found: Listing, limit: int) -> Preview:
        tables: list[_Read] = []
        rest: list[File] = []
        for entry in found.tables:
            for read in self._table(entry):
                (tables if isinstance(read, _Read) else rest).append(read)  # type: ignore[arg-type]
        tables.sort(key=lambda read: self.target not in read.names)
        for read in tables[:1]:
            read.put_first(self.target)
        _relate(tables)
        rest += self._images(found)
        rest += [self._other(entry) for entry in found.others]
        rest += [self._alike(folder, kind, entries) for (folder, kind), entries in sorted(found.alike.items(), key=str)]
        whole = Preview(
            level=self.level,
            target=None if self.target is None else self.voice.say(self.target, "column name", "the target"),
            files=(*(read.told for read in tables), *rest),
            notes=tuple(self.notes),
        )
        return fit(whole, limit).model_copy(update={"taints": self.voice.found()})

    def _name(self, path: PurePosixPath) -> str:
        return self.voice.say(str(path), "file name", "a file name", _PATH)

    def _table(self, entry: Entry) -> list[_Read | File]:
        """The tables of a file, or what else it is."""
        path = self._name(entry.name)
        if (why := self._skipped(str(entry.name))) is not None:
            return [Other(path=path, bytes=entry.size, why=why)]
        try:
            most = max(LEAST, min(MAX_BYTES, self.budget))
            self.budget -= min(entry.size, most)
            opened = open_tables(self.root / entry.name, entry.name, self.stop, most_bytes=most)
            if opened:
                return [self._read(entry, path, table) for table in opened]
            return [self._text(entry, path)]
        except AideError:
            raise
        except Unreadable as error:
            return [Other(path=path, bytes=entry.size, format=ending(entry.name) or None, why=str(error))]
        except Exception as error:  # whatever a parser makes of a hostile file, the preview goes on
            return [Other(path=path, bytes=entry.size, why=f"it cannot be parsed ({type(error).__name__})")]

    def _read(self, entry: Entry, path: str, opened: Opened) -> _Read:
        names = opened.reader.names
        wanted = list(range(min(MAX_COLUMNS, len(names))))
        at_target = names.index(self.target) if self.target in names else None
        if at_target is not None and at_target >= MAX_COLUMNS:
            wanted.append(at_target)
        more = (
            self._types_of_more(opened, sorted(set(range(len(names))) - set(wanted)))
            if len(names) > len(wanted)
            else None
        )
        profile = TableProfile.of([str(at) for at in wanted])
        for batch in opened.reader.batches(wanted):
            check(self.stop)
            profile.add(batch)
        seen = profile.rows.seen
        shown = [self._column(path, at, opened, profile) for at in wanted]
        rest = [name for at, name in enumerate(names) if at not in set(wanted)]
        complete = opened.reader.complete
        self._note_reading(path, opened, seen)
        dialect = getattr(opened.reader, "dialect", None)
        told = Table(
            path=path,
            format=opened.format,
            bytes=entry.size,
            sheet=None if opened.sheet is None else self.voice.say(opened.sheet, "sheet name", f"a sheet of {path}"),
            rows=opened.rows if opened.rows is not None else seen if complete else None,
            rows_read=None if complete else seen,
            encoding=getattr(opened.reader, "encoding", None),
            separator=None if dialect is None else self.voice.say(dialect.separator, "separator", path),
            header=None if dialect is None or dialect.header else False,
            skip_lines=None if dialect is None else dialect.skip or None,
            columns=tuple(shown),
            more_columns=len(rest) or None,
            more_dtypes=more,
            more_names=self._families(path, rest),
        )
        return _Read(told, {names[at]: column for at, column in zip(wanted, shown, strict=True)}, names)

    def _column(self, path: str, at: int, opened: Opened, profile: TableProfile) -> Column:
        sample = None if profile.sample is None else profile.sample[str(at)]
        return column(
            opened.reader.names[at],
            f"column {at + 1} of {path}",
            profile.columns[str(at)],
            sample,
            level=self.level,
            voice=self.voice,
            nested=at in opened.nested,
            target=opened.reader.names[at] == self.target,
        )

    def _note_reading(self, path: str, opened: Opened, seen: int) -> None:
        for note in opened.reader.notes:
            self.notes[f"{path} {note}."] = None
        if not opened.reader.complete:
            self.notes[f"{path}: statistics are from its first {seen:,} rows."] = None
        elif self.level != "schema" and (said := sampled_note(seen)) is not None:
            self.notes[f"{path}: all {seen:,} rows are read; {said}."] = None
        if not seen:
            self.notes[f"{path} has a header and no rows." if opened.reader.names else f"{path} is empty."] = None

    def _types_of_more(self, opened: Opened, rest: list[int]) -> dict[Dtype, int] | None:
        """The types of further columns, by their first rows."""
        if opened.format == "xlsx":
            return None
        types: Counter[Dtype] = Counter()
        batch = next(iter(opened.reader.batches(rest[:MORE_COLUMNS])), None)
        opened.reader.notes.clear()
        opened.reader.complete = True
        for series in [] if batch is None else batch.head(200):
            further = ColumnProfile()
            further.add(series)
            types[further.dtype or "other"] += 1
        return dict(sorted(types.items())) or None

    def _families(self, path: str, names: list[str]) -> tuple[tuple[str, int], ...]:
        common = Counter(re.sub(r"\d+", "#", name) for name in names).most_common(5)
        return tuple((self.voice.say(name, "column name", f"a column of {path}"), count) for name, count in common)

    def _images(self, found: Listing) -> list[File]:
        sizes = {entry.name: entry.size for entry in found.images}
        told: list[File] = []
        for group in images.groups(sizes):
            path = self._name(group.folder) + "/"
            names = [self._name(PurePosixPath(name)) for name in group.folders[:10]]
            size = sum(sizes[file] for file in group.files)
            if (why := self._skipped(f"{group.folder}/")) is not None:
                told.append(Other(path=path, bytes=size, count=len(group.files), why=why))
                continue
            told.append(images.measure(path, self.root, group, size=size, folder_names=names, stop=self.stop))
        return told

    def _other(self, entry: Entry) -> File:
        path = self._name(entry.name)
        if (why := self._skipped(str(entry.name))) is not None:
            return Other(path=path, bytes=entry.size, why=why)
        try:
            return self._text(entry, path)
        except OSError as error:
            return Other(path=path, bytes=entry.size, why=f"it cannot be read ({error.strerror})")

    def _text(self, entry: Entry, path: str) -> File:
        """A text file, an empty table, or a file of another kind."""
        with (self.root / entry.name).open("rb") as file:
            head = file.read(1 << 16)
            encoding = encoding_of(head, whole=len(head) == entry.size)
            if encoding is None:
                why = "it is not text" if is_table(entry.name) else None
                return Other(path=path, bytes=entry.size, format=ending(entry.name) or None, why=why)
            if not head.strip() and ending(entry.name) in ("csv", "tsv"):
                self.notes[f"{path} is empty."] = None
                return Table(path=path, format="csv", bytes=entry.size, rows=0)
            lines = head.count(b"\n")
            for block in iter(lambda: file.read(1 << 20), b"") if entry.size <= _LINES_FROM else ():
                check(self.stop)
                lines += block.count(b"\n")
        shown = None
        if self.level == "samples":
            text = head.decode(encoding, "ignore")
            shown = self.voice.say(text[:_HEAD], "text file", f"the beginning of {path}", _HEAD, one_line=False)
        counted = lines if entry.size <= _LINES_FROM else None
        return TextFile(path=path, bytes=entry.size, lines=counted, encoding=encoding, head=shown)

    def _alike(self, folder: PurePosixPath, kind: str, entries: list[Entry]) -> File:
        size = sum(entry.size for entry in entries)
        return Other(path=self._name(folder) + "/", bytes=size, count=len(entries), format=kind or None)

    def _skipped(self, name: str) -> str | None:
        """Why a file is not opened; None where it is, which ``reading`` is told."""
        why = self.skip.get(name)
        if why is None and self.reading is not None:
            self.reading(name)
        return why


@dataclass
class _Read:
    """A table as it is told, its columns by their real names, and the names of all its columns."""

    told: Table
    columns: dict[str, Column]
    names: tuple[str, ...]

    def put_first(self, name: str | None) -> None:
        """Tell a column before the others, where there is such a one. In other tables the order is the file's."""
        if name in self.columns:
            first = self.columns[name]
            self.columns = {name: first, **self.columns}
            others = (column for column in self.told.columns if column is not first)
            self.told = self.told.model_copy(update={"columns": (first, *others)})


def _relate(tables: list[_Read]) -> None:
    """Tell columns that an earlier table has too, of the same type, only once."""
    for at, read in enumerate(tables):
        if len(read.names) < 2:
            continue
        for earlier in tables[:at]:
            if earlier.told.same_columns_as is not None or read.told.more_columns or earlier.told.more_columns:
                continue
            shared = {name for name in read.columns if name in earlier.columns}
            if len(shared) < 2 or len(shared) < 0.8 * max(len(read.names), len(earlier.names)):
                continue
            same = {name for name in shared if read.columns[name].dtype == earlier.columns[name].dtype}
            own = tuple(column for name, column in read.columns.items() if name not in same)
            missing = tuple(column.name for name, column in earlier.columns.items() if name not in read.columns)
            read.told = read.told.model_copy(
                update={"same_columns_as": earlier.told.path, "columns": own, "missing": missing[:20]}
            )
            break
