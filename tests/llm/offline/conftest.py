"""A small laboratory: previews and prompts like a run's, and programs run for real in a folder of their own."""

from __future__ import annotations

import functools
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aide_jupyter import records as r
from aide_jupyter.llm.author import author, recipe
from aide_jupyter.llm.prompts import author_messages
from aide_jupyter.task import Assignment, Attempt, Memory
from aide_jupyter.untrusted import Untrusted

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"
_DTYPES = {"i": "integer", "u": "integer", "f": "float", "b": "boolean", "M": "datetime"}


def _dtype(values: pd.Series) -> str:
    kind = _DTYPES.get(values.dtype.kind)
    if kind:
        return kind
    given = values.dropna()
    if len(given) and not all(isinstance(one, str) for one in given):
        return "other"
    looks = len(given) and given.head(50).str.match(r"^\d{4}-\d{2}-\d{2}").all()
    return "datetime" if looks else "string"


def _column(name: str, values: pd.Series, level: str) -> dict[str, Any]:
    shown = Untrusted(name, "column name").render(64, one_line=True)
    column: dict[str, Any] = {"name": shown, "dtype": _dtype(values)} | ({"escaped": True} if shown != name else {})
    if level == "schema":
        return column
    plain = values.map(str) if column["dtype"] == "other" else values
    column |= {"nulls": int(values.isna().sum()), "unique": int(plain.nunique())}
    if column["dtype"] in {"integer", "float"} and values.notna().any():
        column |= {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
    if column["dtype"] == "datetime" and values.notna().any():
        column |= {"min": str(values.min()), "max": str(values.max())}
    if column["dtype"] == "string":
        column["length"] = {"mean": float(plain.dropna().str.len().mean() or 0)}
    return column


def _read(path: Path) -> tuple[pd.DataFrame, str] | None:
    if path.suffix == ".txt":
        return None
    if path.suffix == ".json":
        return pd.read_json(path, lines=True), "jsonl"
    if path.suffix == ".parquet":
        return pd.read_parquet(path), "parquet"
    try:
        return pd.read_csv(path), "csv"
    except UnicodeDecodeError:
        return pd.read_csv(path, encoding="latin-1"), "csv"


def preview_of(folder: Path, level: str = "statistics") -> dict[str, Any]:
    """What a data preview says of a folder, in the form that the author is given."""
    files: list[dict[str, Any]] = []
    for path in sorted(folder.iterdir()):
        table = _read(path)
        if table is None:
            files.append({"path": path.name, "kind": "text", "bytes": path.stat().st_size})
            continue
        frame, kind = table
        columns = [_column(str(name), frame[name], level) for name in frame.columns]
        files.append({"path": path.name, "kind": "table", "format": kind, "bytes": path.stat().st_size,
                      "rows": len(frame), "columns": columns})  # fmt: skip
    return {"level": level, "files": files}


class Runner:
    """One process that runs programs one after another (see ``runner.py``), with one thread each."""

    def __init__(self) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("runner.py"))], env={**os.environ, **threads},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, place: Path, seconds: int = 120) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{place}\t{seconds}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        with self.process:
            self.process.stdin.close()


@functools.cache
def _runner() -> Runner:
    return Runner()


@pytest.fixture(scope="session", autouse=True)
def _runner_ends():
    yield
    if _runner.cache_info().currsize:
        _runner().close()


@dataclass(frozen=True)
class Ran:
    """A program that was written and run."""

    plan: str
    code: str
    output: str
    metric: float | None
    submission: pd.DataFrame | None

    @property
    def recipe(self) -> recipe.Recipe | None:
        return recipe.of_program(self.code)


class Lab:
    """Asks the author about one data folder, and runs what it writes.

    ``cores`` and the thread variables keep programs to one core; ``preview`` may be None, as where it is switched off.
    """

    def __init__(
        self,
        data: Path,
        work: Path,
        *,
        folds: int = 3,
        level: str | None = "statistics",
        seconds: float = 600,
        expose: bool = False,
        seed: int = 0,
        **task: Any,
    ) -> None:
        self.data, self.work = data, work
        self.task = r.Task(
            **{"goal": "Predict the target.", "direction": "minimize", "direction_source": "test", **task}
        )
        self.settings = r.Settings(
            folds=folds, seed=seed, expose_prediction=expose, limits=r.Limits(seconds=seconds), drafts=8
        )
        self.preview = None if level is None else preview_of(data, level)
        self.count = 0

    def messages(self, assignment: Assignment) -> list[dict[str, str]]:
        given: dict[str, Any] = {"data": self.preview, "data_chars": 12_000, "packages": ("numpy", "pandas")}
        return author_messages(self.task, self.settings, assignment, **given)

    def ask(self, operator: str = "draft", **more: Any) -> str:
        self.count += 1
        fields: dict[str, Any] = {"candidate": f"c{self.count:04d}", "step": self.count, "steps": 20, **more}
        return author.reply(self.messages(Assignment(operator=operator, **fields)))

    def write(self, operator: str = "draft", **more: Any) -> tuple[str, str]:
        answer = self.ask(operator, **more)
        found = re.search(r"\A(.*?)\n\n```python\n(.*)\n```\n\Z", answer, re.DOTALL)
        assert found, answer
        return found[1], found[2]

    def run(self, code: str, plan: str = "") -> Ran:
        place = self.work / f"run{len(list(self.work.iterdir()))}"
        (place / "working").mkdir(parents=True)
        (place / "input").symlink_to(self.data)
        (place / "program.py").write_text(code, encoding="utf-8")
        code_of_exit = _runner().run(place)
        output = (place / "output.txt").read_text(encoding="utf-8", errors="replace")
        metrics = re.findall(r"^Validation metric: (\S+)$", output, re.MULTILINE)
        made = place / "working" / "submission.csv"
        metric = float(metrics[-1]) if metrics and code_of_exit == 0 else None
        return Ran(plan, code, output, metric, pd.read_csv(made, dtype=str) if made.exists() else None)

    def attempt(self, operator: str = "draft", **more: Any) -> Ran:
        plan, code = self.write(operator, **more)
        return self.run(code, plan)

    @staticmethod
    def told(ran: Ran, name: str, operator: str = "draft") -> Attempt:
        """A program as a later prompt tells of it."""
        return Attempt(id=name, operator=operator, plan=ran.plan, code=ran.code, output=ran.output, value=ran.metric,
                       failed=ran.metric is None, summary="")  # fmt: skip

    @staticmethod
    def memory(attempts: Sequence[Attempt]) -> tuple[Memory, ...]:
        """Programs as lines of memory."""
        return tuple(Memory(id=one.id, plan=one.plan, value=one.value, summary="") for one in attempts[-12:])


@pytest.fixture(scope="session")
def shared():
    """The folder of shared data sets, beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not beside the repository")
    return SHARED


@pytest.fixture
def lab_for(tmp_path):
    """Makes a laboratory from data frames (or bytes) by file name, or from a folder."""
    count = itertools.count()

    def make(data: dict[str, Any] | Path, **options: Any) -> Lab:
        number = next(count)
        folder = data if isinstance(data, Path) else tmp_path / f"data{number}"
        if not isinstance(data, Path):
            folder.mkdir()
            for name, content in data.items():
                if isinstance(content, bytes):
                    (folder / name).write_bytes(content)
                else:
                    content.to_csv(folder / name, index=False)
        work = tmp_path / f"work{number}"
        work.mkdir()
        return Lab(folder, work, **options)

    return make
