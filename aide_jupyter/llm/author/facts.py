"""What the author concludes from a brief: which table, which target, what kind of problem, which metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from . import columns, metrics
from .brief import Brief, Column, Table, unescaped
from .roles import ID, CannotWrite, asked_name, roles, target_name
from .roles import id_name as find_id

Kind = Literal["regression", "binary", "multiclass"]
Style = Literal["tabular", "text", "series"]

_FORECAST = re.compile(r"time[\s-]*series|forecast|next (?:day|week|month|hour|year|value)|\bfuture\b")
_CLASSES = re.compile(r"classif|categor(?:y|ies)|\bclass(?:es)?\b|probability|whether|\bdetect")
_NUMBERS = re.compile(r"regress|price|amount|how (?:much|many)|sales|\bcount\b|duration|revenue|\bcost\b")
_BYTES_A_ROW = 100
_LONG_TEXT = 30


@dataclass(frozen=True)
class Facts:
    """What a program is written for. Columns are named where the preview shows them, else found when it runs.

    ``empty`` columns tell nothing: they have no values, or the same everywhere. ``counted`` says that all columns and
    their gaps are known, ``mixed`` that some hold values of several types, ``infinite`` that some hold infinite
    numbers, ``gaps`` that some rows have no target, ``worded`` that the target's numbers are written as text.
    ``sums`` and ``spans`` are what the names of columns suggest (:mod:`.columns`), ``season`` the rows of a series'
    season. The submission names the prediction ``asked_name`` where that is not the target's name, or has one
    column for each class where it is ``wide``.
    """

    train: Table
    test: Table | None
    sample: Table | None
    target: Column | None
    target_name: str | None
    id_name: str | None
    group: str | None
    time: str | None
    known: tuple[str, ...]
    kind: Kind
    style: Style
    metric: metrics.Metric
    metric_said: str
    rows: int
    text: tuple[Column, ...]
    dates: tuple[Column, ...]
    log: bool
    folds: int
    seed: int
    seconds: float
    predict: bool
    sklearn: tuple[int, int] = (1, 9)
    empty: tuple[str, ...] = ()
    counted: bool = False
    mixed: bool = False
    infinite: bool = False
    gaps: bool = False
    worded: bool = False
    sums: tuple[tuple[str, tuple[str, ...]], ...] = ()
    spans: tuple[tuple[str, str], ...] = ()
    season: int = 7
    asked_name: str | None = None
    wide: bool = False
    log_function: str = "np.log1p"

    @property
    def classification(self) -> bool:
        """Whether the target is a class."""
        return self.kind != "regression"

    @property
    def classes(self) -> int | None:
        """How many classes there are, where the preview says so."""
        return self.target.unique if self.target and self.classification else None


def understand(brief: Brief, *, kind: str | None = None, many: bool = False) -> Facts:
    """The facts of a brief.

    Parameters
    ----------
    kind
        ``classes`` or ``numbers`` where a failed program has shown what the target is.
    many
        Whether a failed program has shown that there are more than two classes.

    Raises
    ------
    CannotWrite
        Where there is no table.
    """
    if brief.tables is not None and not brief.tables:
        files = {PurePosixPath(path).suffix.lower() or "no suffix" for path in brief.files}
        seen = f" It has {len(brief.files)} other files ({', '.join(sorted(files)[:6])})." if files else ""
        raise CannotWrite(f"The data has no table that can be read.{seen}")
    train, test, sample = roles(brief)
    name = target_name(brief, train, test, sample)
    target = train.column(name)
    if target is None and name is not None and train.column(unescaped(name)):
        name = unescaped(name)
        target = train.column(name)
    metric = metrics.asked(brief.asked("metric"), brief.words)
    regression = _is_regression(brief, target, sample, metric) if kind is None else kind == "numbers"
    metric, said = _settled_metric(brief, metric, regression)
    unique = target.unique if target else None
    two = not many and (unique == 2 or (unique is None and _two(metric)))
    settled: Kind = "regression" if regression else "binary" if two else "multiclass"
    if not regression:
        metric = metrics.for_classes(metric, settled == "binary")
    special = {name, brief.task.get("group"), brief.task.get("id")}
    inputs = [column for column in train.columns if column.name not in special and column.exact and column.unique != 1]
    dates = tuple(column for column in inputs if column.dtype == "datetime")
    time = brief.asked("time")
    series = _is_series(brief, train, test, target, dates, regression)
    if series and time is None:
        time = dates[0].name
    text = () if series else tuple(column for column in inputs if _is_text(column))
    others = [column for column in inputs if column not in text and not ID.search(column.name)]
    id_name = find_id(brief, train, test, sample, name)
    group = brief.asked("group")
    empty = tuple(
        column.name for column in inputs_of(train, target, {id_name, group, time}) if _tells_nothing(column, train)
    )
    features = [
        column
        for column in inputs_of(train, target, {id_name, group, *empty})
        if test is None or not test.complete or test.column(column.name)
    ]
    sums, spans = columns.related(features)
    positive = target is not None and target.low is not None and target.low > 0
    return Facts(
        train=train,
        test=test,
        sample=sample,
        target=target,
        target_name=name,
        id_name=id_name,
        group=group,
        time=time,
        known=tuple(str(one) for one in brief.task.get("known_in_advance") or ()),
        kind=settled,
        style="series" if series else "text" if text and train.complete and len(others) <= 2 else "tabular",
        metric=metric,
        metric_said=said,
        rows=_rows(train),
        text=text,
        dates=dates,
        log=regression and (metric.log or _skewed(target)),
        folds=max(2, min(brief.folds, 10, (_rows(train) if train.rows else 1000) // 4)),
        seed=brief.seed,
        seconds=brief.seconds,
        predict=brief.predict,
        sklearn=_sklearn(brief),
        empty=empty,
        counted=train.complete and all(column.nulls is not None for column in train.columns),
        mixed=any(column.dtype == "other" for column in features),
        infinite=any(column.infinite for column in features),
        gaps=bool(target and target.nulls),
        worded=regression and target is not None and target.dtype == "string",
        sums=sums,
        spans=spans,
        season=columns.season(train.column(time), _rows(train)),
        asked_name=asked_name(sample, name, {id_name, time}),
        wide=sample is not None and len(sample.columns) > 2,
        log_function="np.log" if metric.key == "log_rmse" or (positive and metric.key != "rmsle") else "np.log1p",
    )


def _settled_metric(brief: Brief, metric: metrics.Metric | None, regression: bool) -> tuple[metrics.Metric, str]:
    """The metric that a program prints, and where it is not just what was asked for, why not.

    A run selects by the task's direction. So what takes the place of a metric is better in that direction; one that was
    asked for by its name is printed as it is, also where the task turns its direction round.
    """
    name, direction = brief.asked("metric"), brief.task.get("direction")
    minimize = direction == "minimize" if direction else regression
    if metric is None:
        why = "these rules cannot compute the metric that was asked for" if name else "no metric was named"
    elif metric.regression != regression:
        why = f"{metric.title} does not fit the target"
    elif direction and metric.minimize != minimize:
        if name and metrics.is_exactly(name, metric):
            return metric, f"the task names it and says to {direction} it"
        why = f"the task says to {direction} the score, and {metric.title} is better the other way"
    elif name and not metrics.is_exactly(name, metric):
        return metric, "these rules know nothing nearer to the metric that was asked for"
    else:
        return metric, ""
    return metrics.usual(regression=regression, minimize=minimize), why


def inputs_of(train: Table, target: Column | None, special: set[str | None]) -> list[Column]:
    """The columns that models may learn from, as far as they are shown by their names."""
    return [one for one in train.columns if one is not target and one.exact and one.name not in special]


def _tells_nothing(column: Column, table: Table) -> bool:
    if column.nulls is None:
        return False
    return column.nulls == table.rows or (column.unique is not None and column.unique <= 1 and not column.nulls)


def _sklearn(brief: Brief) -> tuple[int, int]:
    """The version of scikit-learn that the programs will meet; the newest known where the prompt does not say."""
    found = re.search(r"scikit-learn (\d+)\.(\d+)", brief.packages)
    return (int(found[1]), int(found[2])) if found else Facts.sklearn


def _is_regression(brief: Brief, target: Column | None, sample: Table | None, metric: metrics.Metric | None) -> bool:
    """Whether the target is a number: by its type, the metric, its distinct values, the sample submission, the goal's
    words, and last by the direction, for errors are minimized."""
    words = target is not None and target.dtype in {"string", "boolean"} and not target.looks.startswith("numbers")
    if words or metric is not None:
        return not words and metric is not None and metric.regression
    by_values = _by_values(brief, target)
    if by_values is not None:
        return by_values
    shown = [one for one in (sample.columns if sample else ()) if not one.id_like and not ID.search(one.name)]
    if len(shown) == 1 and shown[0].dtype in {"string", "boolean"}:
        return False
    if _CLASSES.search(brief.words) or _NUMBERS.search(brief.words):
        return not _CLASSES.search(brief.words)
    return brief.task.get("direction") == "minimize"


def _by_values(brief: Brief, target: Column | None) -> bool | None:
    """What the target's own values say; None where they do not."""
    if target is None:
        return None
    few = target.dtype == "integer" and target.unique is not None and target.unique <= 20
    if target.unique == 2 or (few and not _NUMBERS.search(brief.words)):
        return False
    return True if target.dtype == "float" else None


def _two(metric: metrics.Metric) -> bool:
    return metric.need == "positive" or metric.key in {"f1", "precision", "recall"}


def _is_series(
    brief: Brief, train: Table, test: Table | None, target: Column | None, dates: Sequence[Column], regression: bool
) -> bool:
    if not regression or brief.task.get("group"):
        return False
    if brief.task.get("time"):
        return True
    if len(dates) != 1 or (target is not None and target.dtype not in {"integer", "float"}):
        return False
    distinct = dates[0].unique is None or train.rows is None or dates[0].unique >= 0.95 * train.rows
    return bool(_FORECAST.search(brief.words)) or (test is None and dates[0] in train.columns[:2] and distinct)


def _is_text(column: Column) -> bool:
    if column.dtype != "string":
        return False
    if column.length is not None:
        return column.length >= _LONG_TEXT and (column.unique is None or column.unique > 20)
    return bool(
        re.search(r"(?:^|_)(?:text|review|comment|body|message|tweet|sentence|description)s?$", column.name.lower())
    )


def _rows(table: Table) -> int:
    return table.rows if table.rows is not None else max(1000, table.bytes // _BYTES_A_ROW)


def _skewed(target: Column | None) -> bool:
    """A positive target with a long upper tail, as prices, counts and times have."""
    if target is None or target.low is None or target.high is None or target.mean is None or target.low < 0:
        return False
    middle = target.median if target.median is not None else target.mean
    return target.low >= 0 and target.mean > 1 and target.high > 4 * max(target.mean, middle)
