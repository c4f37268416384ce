"""How a program reads its tables, by their format and by what earlier programs stumbled over."""

from __future__ import annotations

from collections.abc import Sequence

from .brief import Table
from .facts import Facts
from .source import call, flat, literal

_PLAIN = {"parquet": "pd.read_parquet", "xlsx": "pd.read_excel", "json": "pd.read_json", "jsonl": "pd.read_json"}
_SIGNS = (";", "\t", "|")


def read(table: Table, facts: Facts, steps: Sequence[str], place: str | None = None) -> str:
    """The expression that reads ``table`` into a data frame. ``place`` is source of its path where that is found
    when the program runs."""
    path = place or f"INPUT / {literal(table.path)}"
    function = _PLAIN.get(table.format, "pd.read_csv")
    options = ["lines=True"] if table.format == "jsonl" else []
    if table.sheet:
        options.append(f"sheet_name={literal(table.sheet)}")
    if function == "pd.read_csv":
        options = _csv(table, facts, steps)
    return flat(call(function, path, *options))


def _csv(table: Table, facts: Facts, steps: Sequence[str]) -> list[str]:
    options = []
    separator = table.separator
    if separator is None and table.format == "tsv":
        separator = "\t"
    if separator is None and len(table.columns) == 1:
        separator = next((sign for sign in _SIGNS if sign in table.columns[0].name), None)
    if "sniff" in steps:
        options += ["sep=None", 'engine="python"']
    elif separator not in {None, ","}:
        options.append(f"sep={literal(separator)}")
    encoding = table.encoding or "utf-8"
    if "latin" in steps:
        options.append('encoding="latin-1"')
    elif encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "ascii", "utf-8-sig", "us-ascii", "utf8-lossy"}:
        options.append(f"encoding={literal(encoding)}")
    if table.skip:
        options.append(f"skiprows={table.skip}")
    if not table.header:
        options.append("header=None")
    if table.decimal:
        options.append('decimal=","')
    if "skip" in steps:
        options.append('on_bad_lines="skip"')
    if facts.id_name and facts.test and "position" not in steps and table.header:
        options.append("dtype={ID: str}")
    return options


def target(facts: Facts, steps: Sequence[str]) -> str:
    """Source of the target's name: as a literal where it is known, else what the rows to predict do not have, else
    the last column."""
    if facts.target_name and "position" not in steps:
        return literal(facts.target_name)
    return "train.columns.difference(test.columns, sort=False)[-1]" if facts.test else "train.columns[-1]"


def reads_by_name(facts: Facts, steps: Sequence[str]) -> bool:
    """Whether the target is known before the tables are read."""
    return bool(facts.target_name) and "position" not in steps


def names_to_text(table: Table) -> bool:
    """Whether the columns of a table may be numbers once it is read: without a header, or from a sheet."""
    return not table.header or table.format == "xlsx"
