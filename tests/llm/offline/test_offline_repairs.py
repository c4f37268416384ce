"""The author mends what failed: its own programs by their recipe, others' with as little change as possible."""

import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "ort": RNG.choice(["Köln", "Jena"], 60)}).assign(y=lambda f: f["a"] * 2)


def listing(lab, **more):
    """A preview that knows names and types only, and nothing of how the file is written."""
    columns = [{"name": name, "dtype": "float" if name in "ay" else "string"} for name in FRAME]
    file = {"path": "data.csv", "kind": "table", "format": "csv", "bytes": 900, "rows": 60, "columns": columns}
    lab.preview = {"level": "schema", "files": [{**file, **more}]}


def mended(lab, ran, rounds=3):
    """The first program that runs, after at most so many repairs."""
    fixes = ()
    for number in range(rounds):
        failed = lab.told(ran, f"c{number + 1:04d}")
        ran = lab.attempt("debug", parent=failed, fixes=fixes)
        if ran.metric is not None:
            return ran
        fixes = (*fixes, failed)
    raise AssertionError(ran.output)


@pytest.mark.parametrize(
    ("content", "repair"),
    [
        (FRAME.to_csv(index=False).encode("latin-1"), 'encoding="latin-1"'),
        (FRAME.to_csv(index=False, sep=";").encode(), "sep=None"),
        (FRAME.to_csv(index=False).encode() + b"1,2,3,4,5\n", 'on_bad_lines="skip"'),
        (FRAME.assign(y=FRAME["y"].where(FRAME["a"] > -1)).to_csv(index=False).encode(), "dropna(subset=[TARGET])"),
        (FRAME.assign(a=FRAME["a"].where(FRAME["a"] < 1, np.inf)).to_csv(index=False).encode(), "np.inf"),
        (FRAME.rename(columns={"y": " y "}).to_csv(index=False).encode(), "columns.str.strip()"),
    ],
)
def test_a_program_of_its_own_is_repaired_from_its_traceback(lab_for, content, repair):
    lab = lab_for({"data.csv": content}, goal="Predict y", target="y", metric="rmse", folds=2, level=None)
    listing(lab)
    first = lab.attempt()
    assert first.metric is None
    assert repair not in first.code
    ran = mended(lab, first)
    assert repair in ran.code
    assert "failed" in ran.plan


def test_a_file_under_another_name_is_found(lab_for):
    lab = lab_for({"houses.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2, level=None)
    first = lab.attempt()
    assert "FileNotFoundError" in first.output
    assert mended(lab, first).metric is not None


def test_classes_with_too_few_rows_are_not_stratified(lab_for):
    frame = FRAME.assign(y=[f"k{n // 2}" for n in range(60)])
    lab = lab_for(
        {"data.csv": frame}, goal="Predict y", target="y", metric="accuracy", direction="maximize", level=None
    )
    listing(lab)
    lab.preview["files"][0]["columns"][-1]["dtype"] = "string"
    first = lab.attempt()
    assert first.metric is None
    assert "StratifiedKFold" not in mended(lab, first).code


def test_more_than_two_classes_are_noticed(lab_for):
    frame = FRAME.assign(y=pd.cut(FRAME["a"], 3, labels=["u", "v", "w"]))
    lab = lab_for({"data.csv": frame}, goal="Predict y", target="y", metric="f1", direction="maximize", level=None)
    listing(lab)
    lab.preview["files"][0]["columns"][-1]["dtype"] = "string"
    ran = mended(lab, lab.attempt())
    assert 'average="macro"' in ran.code


def test_a_program_over_the_time_limit_gets_lighter_and_then_lighter_still(lab_for):
    lab = lab_for({"data.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2)
    plan, code = lab.write(families=("linear",))
    late = lab.told(lab.run("print('slow')", plan), "c0001")
    late = type(late)(**{**late.__dict__, "code": code, "output": "[ended as timeout after 60 s, limit: seconds]"})
    _, light = lab.write("debug", parent=late)
    assert ";light]" in light
    lighter = type(late)(**{**late.__dict__, "code": light})
    assert "light,lighter]" in lab.write("debug", parent=lighter, fixes=(late,))[1]


def test_a_misspelt_column_in_anothers_program_is_corrected_and_nothing_else(lab_for):
    code = (
        '"""By hand."""\nimport pandas as pd\n\ntrain = pd.read_csv("input/data.csv")  # größe\n'
        'print("Validation metric:", float(train["Y_"].std()))\n'
    )
    lab = lab_for({"data.csv": FRAME.rename(columns={"y": "y_value"})}, goal="x", target="y_value", metric="rmse")
    code = code.replace("Y_", "yvalue")
    failed = lab.told(lab.run(code), "c0001")
    ran = lab.attempt("debug", parent=failed)
    assert ran.metric is not None
    assert ran.code == code.replace("yvalue", "y_value").rstrip("\n")


def test_anothers_program_is_improved_by_one_setting(lab_for):
    code = (
        "import pandas as pd\nfrom sklearn.linear_model import Ridge\n\n"
        'train = pd.read_csv("input/data.csv")\nä, model = 1, Ridge(alpha=1.0)  # kept\n'
        'print("Validation metric:", model.fit(train[["a"]], train["y"]).score(train[["a"]], train["y"]))\n'
    )
    lab = lab_for({"data.csv": FRAME}, goal="Predict y", target="y", metric="r2", direction="maximize")
    ran = lab.attempt("improve", parent=lab.told(lab.run(code), "c0001"))
    assert ran.code == code.replace("alpha=1.0", "alpha=3.0").rstrip("\n")
    assert "alpha is 3.0 instead of 1.0" in ran.plan


def test_an_own_program_that_a_person_edited_keeps_the_edit(lab_for):
    lab = lab_for({"data.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2)
    edited = lab.attempt().code.replace("alpha=10", "alpha=7") + "\nprint('my line')"
    ran = lab.attempt("improve", parent=lab.told(lab.run(edited), "c0001"))
    assert ran.code == edited.replace("alpha=7", "alpha=21")


def test_an_improvement_keeps_what_a_shorter_prompt_no_longer_shows(lab_for):
    frame = FRAME.assign(day=pd.date_range("2024-01-01", periods=60).astype(str), empty=np.nan)
    lab = lab_for(
        {"train.csv": frame, "test.csv": frame.drop(columns="y")}, goal="Predict y", target="y", metric="rmse"
    )
    first = lab.attempt()
    assert 'pd.to_datetime(frame["day"]' in first.code
    whole = lab.preview
    lab.preview = {**whole, "files": [{**whole["files"][-1], "columns": whole["files"][-1]["columns"][:1]}]}
    lab.preview["files"][0]["more_columns"] = 4
    plan, code = lab.write("improve", parent=lab.told(first, "c0001"))
    for kept in ('pd.to_datetime(frame["day"]', '"empty"', "submission.to_csv", 'INPUT / "test.csv"'):
        assert kept in code
    assert plan.startswith("New: ")


def test_two_authors_who_see_the_same_do_not_write_the_same(lab_for):
    lab = lab_for({"data.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2)
    parent = lab.told(lab.attempt(), "c0001")
    one = lab.write("improve", parent=parent, candidate="c0006")
    other = lab.write("improve", parent=parent, candidate="c0007")
    assert one != other
    assert one == lab.write("improve", parent=parent, candidate="c0006")
    assert lab.write(candidate="c0002")[1] != lab.write(candidate="c0003", drafts_ahead=1)[1]


def test_a_hint_decides_between_what_could_be_done_next(lab_for):
    lab = lab_for({"data.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2)
    assert "[one forest]" in lab.write(hints=("Please try a random forest.",))[0]
    parent = lab.told(lab.attempt(), "c0001")
    assert "linear/clusters" in lab.write("improve", parent=parent, hints=("The rows fall into clusters",))[0]
