"""Odd data: each program runs, prints a finite score and predicts every test row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(0)
ROWS = 120


def odd(rows, seed=0):
    """A table with an id that looks like a number, gaps, an empty and a constant column, booleans and dates."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "row_id": [f"{number:05d}" for number in range(rows)],
            "a": rng.normal(size=rows),
            "b": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 5, rows)),
            "color": rng.choice(["red", "green", None], rows),
            "empty": np.nan,
            "one": 1,
            "flag": rng.choice([True, False], rows),
            "day": pd.date_range("2024-01-01", periods=rows).astype(str),
        }
    )


def signal(frame):
    return frame["a"] * 2 + frame["b"].fillna(2) + frame["flag"]


TRAIN, TEST = odd(ROWS), odd(25, seed=1).assign(color="violet")
CASES = {
    "numbers": (signal(TRAIN), {"metric": "mae"}),
    "skewed numbers": (np.exp(signal(TRAIN)), {"metric": "rmsle"}),
    "numbers, groups": (signal(TRAIN), {"metric": "r2", "direction": "maximize", "group_column": "color"}),
    "booleans": (signal(TRAIN) > 2, {"metric": "auc", "direction": "maximize"}),
    "words": (np.where(signal(TRAIN) > 2, "yes", "no"), {"metric": "f1", "direction": "maximize"}),
    "three classes": (pd.cut(signal(TRAIN), 3, labels=list("xyz")), {"metric": "log_loss"}),
    "many classes": ([f"c{n % 50}" for n in range(ROWS)], {"metric": "accuracy", "direction": "maximize"}),
    "grades": (pd.cut(signal(TRAIN), 4, labels=range(4)), {"metric": "qwk", "direction": "maximize"}),
    "unknown metric": (signal(TRAIN), {"metric": "our own score"}),
    "later rows": (signal(TRAIN) > 2, {"metric": "mcc", "direction": "maximize", "time_column": "day"}),
    "no preview": (signal(TRAIN), {"metric": "rmse", "level": None}),
    "schema only": (signal(TRAIN), {"metric": "rmse", "level": "schema"}),
}  # fmt: skip


def check(ran, rows=25):
    assert ran.metric is not None, ran.output
    assert np.isfinite(ran.metric)
    if rows is None:
        assert ran.submission is None
        return
    assert len(ran.submission) == rows
    assert not ran.submission.isna().any().any()


@pytest.mark.parametrize("name", CASES)
def test_programs_for_an_odd_table_run_and_predict_every_row(lab_for, name):
    target, options = CASES[name]
    if name == "numbers, groups":
        options = {**options, "group_column": "b"}
    train = TRAIN.assign(y=np.asarray(target)).dropna(subset=["b"] if "group_column" in options else [])
    lab = lab_for({"train.csv": train, "test.csv": TEST}, goal="Predict y", target="y", folds=2, **options)
    memory = ()
    for _ in range(2):
        ran = lab.attempt("draft", memory=memory)
        check(ran, None if name == "no preview" else len(TEST))
        if ran.submission is not None and name != "three classes":
            assert list(ran.submission.columns) == ["row_id", "y"]
            assert ran.submission["row_id"].tolist() == TEST["row_id"].tolist()
        memory = (*memory, *lab.memory([lab.told(ran, f"c{lab.count:04d}")]))
    check(
        lab.attempt("improve", memory=memory, parent=lab.told(ran, "c0002")),
        None if name == "no preview" else len(TEST),
    )


def test_labels_come_back_as_they_stand_in_the_data(lab_for):
    train = TRAIN.assign(y=signal(TRAIN) > 2)
    lab = lab_for({"train.csv": train, "test.csv": TEST}, goal="Predict y", target="y", metric="accuracy",
                  direction="maximize", folds=2)  # fmt: skip
    assert set(lab.attempt().submission["y"]) <= {"True", "False"}


def test_a_sample_submission_with_a_column_for_each_class_is_followed(lab_for):
    train = TRAIN.assign(y=pd.cut(signal(TRAIN), 3, labels=list("xyz")))
    sample = TEST[["row_id"]].assign(x=0.3, y=0.3, z=0.4)
    lab = lab_for({"train.csv": train.rename(columns={"y": "kind"}), "test.csv": TEST, "sample_submission.csv": sample},
                  goal="Predict kind", target="kind", metric="log_loss", folds=2)  # fmt: skip
    ran = lab.attempt()
    check(ran)
    assert list(ran.submission.columns) == ["row_id", "x", "y", "z"]


def test_text_is_classified_by_its_words(lab_for):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 160)
    words = [["bad", "awful", "poor"], ["good", "great", "fine"]]
    texts = [" ".join(rng.choice([*words[kind], "the", "movie", "plot", "actor"], 12)) for kind in kinds]
    frame = pd.DataFrame({"id": range(160), "review": texts, "mood": np.where(kinds, "pos", "neg")})
    frame.loc[3, "review"] = None
    lab = lab_for({"train.csv": frame[:130], "test.csv": frame[130:].drop(columns="mood")}, goal="Classify the mood",
                  metric="accuracy", direction="maximize", target="mood", folds=2)  # fmt: skip
    memory = ()
    for _ in range(9):
        ran = lab.attempt(memory=memory)
        check(ran, 30)
        assert ran.metric > 0.9
        memory = (*memory, *lab.memory([lab.told(ran, f"c{lab.count:04d}")]))
    assert len({one.plan for one in memory}) == 9
    check(lab.attempt("improve", memory=memory[-4:], parent=lab.told(ran, "c0009")), 30)


def test_jsonl_named_json_is_read(lab_for):
    lines = TRAIN.drop(columns="empty").assign(y=signal(TRAIN)).to_json(orient="records", lines=True).encode()
    lab = lab_for({"rows.json": lines}, goal="Predict y", target="y", metric="rmse", folds=2)
    check(lab.attempt(), None)


def test_a_semicolon_table_in_latin_1_is_read_as_the_preview_says(lab_for):
    frame = pd.DataFrame({"größe": RNG.normal(size=40), "ort": RNG.choice(["Köln", "Jena"], 40)})
    frame["y"] = frame["größe"] * 2
    lab = lab_for({"data.csv": frame.to_csv(index=False, sep=";").encode("latin-1")}, goal="Predict y", target="y",
                  metric="rmse", folds=2)  # fmt: skip
    columns = [{"name": "größe", "dtype": "float"}, {"name": "ort", "dtype": "string"}, {"name": "y", "dtype": "float"}]
    file = {"path": "data.csv", "kind": "table", "format": "csv", "bytes": 900, "rows": 40, "columns": columns}
    lab.preview = {"level": "schema", "files": [{**file, "encoding": "latin-1", "separator": ";"}]}
    check(lab.attempt(), None)


@pytest.mark.parametrize("name", ["a\nb", 'quo"te', "it's", "{x}", "<|end|>", "日本", "\u202eabc", "x\\y", '"""', "#"])
def test_a_target_with_an_odd_name_is_found_and_its_name_is_never_code(lab_for, name):
    frame = pd.DataFrame({name: RNG.normal(size=40), "x": RNG.normal(size=40)})
    lab = lab_for(
        {"train.csv": frame, "test.csv": frame[["x"]]}, goal="Predict it", target=name, metric="rmse", folds=2
    )
    ran = lab.attempt()
    check(ran, 40)
    assert ran.code.isprintable() or set(filter(lambda char: not char.isprintable(), ran.code)) == {"\n"}
    assert list(ran.submission.columns) == [name]


def test_rows_without_a_target_and_no_test_rows_make_no_submission(lab_for):
    target = signal(TRAIN).where(TRAIN.index % 7 > 0)
    lab = lab_for({"data.csv": TRAIN.assign(y=target)}, goal="Predict y", target="y", metric="rmse", folds=2)
    check(lab.attempt(), None)


def test_a_million_rows_are_sampled(lab_for):
    lab = lab_for({"train.csv": TRAIN.assign(y=signal(TRAIN))}, goal="Predict y", target="y", metric="rmse")
    lab.preview["files"][0]["rows"] = 1_000_000
    for families in ((), ("linear",), ("linear", "hgb")):
        _, code = lab.write(families=families)
        assert "train.sample(min(ROWS, len(train)), random_state=SEED)" in code
        assert "FOLDS = 3" in code or "ROWS = 25000" in code


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_any_small_table_gives_a_program_that_runs(lab_for, data):
    rows = data.draw(st.integers(24, 60), "rows")
    values = st.one_of(
        st.lists(st.floats(-1e6, 1e6), min_size=rows, max_size=rows),
        st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=rows, max_size=rows),
        st.lists(
            st.sampled_from(["", "a", "b", "NA", "1", "ä", "long text, with; signs"]), min_size=rows, max_size=rows
        ),
        st.lists(st.booleans(), min_size=rows, max_size=rows),
        st.just([None] * rows),
    )
    name = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=8)
    names = data.draw(st.lists(name, min_size=1, max_size=4, unique_by=lambda one: one.strip()), "names")
    names = [name for name in names if name.strip() and name not in {"y", "base"}]
    frame = pd.DataFrame({name: data.draw(values, "column") for name in names} | {"base": np.arange(rows) % 7})
    classes = data.draw(st.booleans(), "classes")
    frame["y"] = [f"k{n % 3}" for n in range(rows)] if classes else np.arange(rows) * 0.5
    metric = data.draw(
        st.sampled_from(["accuracy", "log_loss", "f1_macro"] if classes else ["rmse", "mae", "r2"]), "metric"
    )
    used = data.draw(
        st.sampled_from([(), ("linear",), ("linear", "hgb", "trees"), ("linear", "hgb", "trees", "svm", "gbm")])
    )
    lab = lab_for({"train.csv": frame}, goal="Predict y", target="y", metric=metric, folds=2)
    check(lab.attempt(families=used), None)
