"""The metric that a program prints: found wherever it stands, however the output arrives."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.grading.reader import MetricReader


def read(*chunks: str) -> MetricReader:
    reader = MetricReader()
    for chunk in chunks:
        reader.feed(chunk)
    return reader


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Validation metric: 0.93", 0.93),
        ("Validation metric: 1", 1.0),
        ("Validation metric: -0.5", -0.5),
        ("Validation metric: +.5", 0.5),
        ("Validation metric: 2.", 2.0),
        ("Validation metric: 1e-3", 0.001),
        ("Validation metric: 1.5E+2", 150.0),
        ("Validation metric: 1_000", 1000.0),
        ("Validation metric: 93.5%", 0.935),
        ("Validation metric: 93.5 %", 0.935),
        ("validation metric = 0.4", 0.4),
        ("VALIDATION METRIC:0.4", 0.4),
        ("validation_metric=0.4", 0.4),
        ("Validation Metric (RMSE): 0.4", 0.4),
        ("**Validation metric:** 0.4", 0.4),
        ("Validation metric: `0.4`", 0.4),
        ("Validation metric: np.float64(0.5)", 0.5),
        ("Validation metric: tensor(0.5)", 0.5),
        ("Validation metric: [0.5]", 0.5),
        ("Validation metric: 0.5 (+/- 0.1)", 0.5),
        ("Validation metric: 0.5±0.1", 0.5),
        ("Validation metric: 0.5, mean of 5 folds", 0.5),
        ("Validation metric: \N{MINUS SIGN}0.5", -0.5),
        ("Validation metric: \x1b[1;32m0.5\x1b[0m", 0.5),
        ("\x1b[31mValidation\x1b[0m metric: 0.5", 0.5),
        ("100%|####| Validation metric: 0.5", 0.5),
    ],
)
def test_numbers_are_read_in_every_common_form(line: str, value: float) -> None:
    assert read(line).value == pytest.approx(value)
    assert read(f"before\n{line}\nafter 7\n").value == pytest.approx(value)


@pytest.mark.parametrize(
    "stands",
    [
        "nan",
        "inf",
        "-inf",
        "None",
        "1,234.5",
        "0,5",
        "3/10",
        "0.5abc",
        "1e999",
        "",
        "not computed",
        "1_",
        "0x10",
        "--1",
    ],
)
def test_what_is_no_finite_number_has_no_value_but_its_text(stands: str) -> None:
    reader = read(f"Validation metric: {stands}\nloss 0.1\n")
    assert reader.value is None
    assert reader.text == stands


def test_the_last_metric_counts() -> None:
    assert read("Validation metric: 0.1\nValidation metric: 0.2\n").value == 0.2


def test_a_last_metric_that_is_nan_is_not_replaced_by_an_earlier_number() -> None:
    reader = read("Validation metric: 0.1\nValidation metric: nan\n")
    assert (reader.value, reader.text) == (None, "nan")


def test_a_line_overwritten_with_carriage_returns_is_read() -> None:
    reader = read("epoch 1\rValidation metric: 0.1\rValidation metric: 0.25\rdone")
    assert (reader.value, reader.text) == (0.25, "0.25")


def test_without_a_label_there_is_neither_value_nor_text() -> None:
    reader = read("metric: 0.5\nvalidation loss: 0.3\n")
    assert (reader.value, reader.text) == (None, None)


def test_a_number_on_a_later_line_is_not_taken_for_the_metric() -> None:
    assert read("Validation metric:\n0.5\n").value is None


def test_the_metric_is_found_behind_600_000_lines_in_bounded_memory() -> None:
    reader = MetricReader()
    block = "x" * 60 + "\n"
    for _ in range(600):
        reader.feed(block * 1000)
    reader.feed("Validation metric: 0.5\n")
    assert reader.value == 0.5
    held = sum(sys.getsizeof(value) for value in vars(reader).values())
    assert held < 4096


def test_one_endless_line_is_read_in_bounded_memory() -> None:
    reader = MetricReader()
    for _ in range(100):
        reader.feed("Validation metric: " + "y" * 100_000)
    assert sum(sys.getsizeof(value) for value in vars(reader).values()) < 4096
    assert reader.value is None
    assert len(reader.text or "") <= 60


def test_reading_the_answer_early_does_not_change_it() -> None:
    reader = MetricReader()
    seen = []
    for char in "Validation metric: 0.12\x1b[0m\n":
        reader.feed(char)
        seen.append(reader.value)
    assert seen[-1] == 0.12


pieces = st.one_of(
    st.sampled_from(
        ["Validation metric: ", "validation", " metric", ":", "=", "0.5", "-1e-3", "nan", "\n", "\r", "\x1b[31m",
         "\x1b[0m", "\x1b", "[", " ", "%", "(", ")", "(RMSE)", "np.float64(", "x" * 50, " " * 120, ",", "Validation"]
    ),
    st.text(max_size=5),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=30), st.randoms(use_true_random=False))
def test_any_split_into_chunks_gives_the_same_answer(parts: list[str], random) -> None:
    text = "".join(parts)
    whole = read(text)
    cuts = sorted(random.randrange(len(text) + 1) for _ in range(random.randrange(12)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    split = read(*chunks)
    assert (split.value, split.text) == (whole.value, whole.text)
    single = read(*text)
    assert (single.value, single.text) == (whole.value, whole.text)
