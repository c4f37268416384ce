"""What the columns say of the task."""

from __future__ import annotations

from pathlib import Path

import pytest

from aide_jupyter.data.columns import guess_target
from aide_jupyter.data.targets import columns, target_kind


def test_columns_of_all_tables_with_their_real_names(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,\u202ex\n1,2\n")
    (tmp_path / "train.csv").write_text("id,\u202ex,y\n1,2,3\n")
    (tmp_path / "broken.parquet").write_text("no")
    assert [(table.path, table.names) for table in columns(tmp_path)] == [
        ("train.csv", ("id", "\u202ex", "y")),
        ("test.csv", ("id", "\u202ex")),
    ]


def test_the_target_is_guessed_only_where_it_is_plain(tmp_path: Path, shared_data: Path) -> None:
    assert guess_target(columns(shared_data / "house_prices")) == "SalePrice"
    assert guess_target(columns(shared_data / "bitcoin_price")) is None
    (tmp_path / "train.csv").write_text("id,x,y,z\n1,2,3,4\n")
    (tmp_path / "test.csv").write_text("id,x\n1,2\n")
    assert guess_target(columns(tmp_path)) is None
    (tmp_path / "sample_submission.csv").write_text("id,z\n1,0\n")
    assert guess_target(columns(tmp_path)) == "z"
    (tmp_path / "train_extra.csv").write_text("id,x,y,z\n1,2,3,4\n")
    assert guess_target(columns(tmp_path)) is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1] * 50, "binary"),
        (["yes", "no"] * 50, "binary"),
        (["True", "False"] * 50, "binary"),
        (["a", "b", "c"] * 30, "multiclass"),
        ([1, 2, 3, 4] * 30, "multiclass"),
        ([1.0, 2.0, 3.0] * 30, "multiclass"),
        (list(range(100)), "regression"),
        ([number / 7 for number in range(100)], "regression"),
        ([f"sentence number {number}" for number in range(100)], "text"),
        (["2020-01-01", "2020-01-02"] * 5, "unknown"),
        (["NA"] * 10, "unknown"),
    ],
)
def test_kinds_of_targets(tmp_path: Path, values: list[object], kind: str) -> None:
    (tmp_path / "train.csv").write_text("x,y\n" + "".join(f"1,{value}\n" for value in values))
    assert target_kind(tmp_path, "y") == kind
    assert target_kind(tmp_path, "absent") == "unknown"
