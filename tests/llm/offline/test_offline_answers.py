"""Reviews, reports and refusals of the author, and the small parts that it is made of."""

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest

from aide_jupyter import records as r
from aide_jupyter.llm.author import author, metrics, recipe, source
from aide_jupyter.llm.prompts import report_messages, reviewer_messages
from aide_jupyter.task import Attempt, Memory

TASK = r.Task(goal="Predict y", metric="accuracy", direction="maximize", direction_source="test")
LOSS = r.Task(goal="Predict y", metric="rmse", direction="minimize", direction_source="test")
FRAME = pd.DataFrame({"a": np.arange(40) * 0.1, "y": np.arange(40) % 7})


def attempt(output="", code="print(1)", plan="", value=None):
    return Attempt(
        id="c0004", operator="draft", plan=plan, code=code, output=output, value=value, failed=False, summary=""
    )


def review(output, status="ok", task=LOSS, **more):
    answer = author.reply(reviewer_messages(task, attempt(output), status=status, seconds=3.0, **more))
    found = json.loads(answer)
    assert set(found) == {"failed", "summary"}
    assert len(found["summary"]) < 600
    return found["failed"], found["summary"]


@pytest.mark.parametrize(
    ("output", "status", "words"),
    [
        ("Traceback (most recent call last):\nKeyError: 'Price'", "error", "KeyError: 'Price'"),
        ("", "timeout", "time limit"),
        ("", "died", "died"),
        ("all done", "ok", "no line"),
        ("Validation metric: nan", "ok", "not a finite number"),
        ("Validation metric: 0.0", "ok", "leak"),
    ],
)
def test_a_failed_execution_is_judged_failed_with_its_cause(output, status, words):
    failed, summary = review(output, status)
    assert failed
    assert words in summary


def test_a_perfect_accuracy_is_not_believed_but_a_good_one_is():
    assert review("Validation metric: 1.0", task=TASK)[0]
    assert review("Validation metric: 0.93", task=TASK) == (False, "It ran and scored 0.93.")


def test_a_perfect_error_is_not_believed_with_its_sign_turned_round_either():
    task = r.Task(goal="Predict y", metric="neg_rmse", direction="maximize", direction_source="test")
    assert review("Validation metric: -0.0", task=task)[0]
    assert review("Validation metric: -0.2", task=task) == (False, "It ran and scored -0.2.")


def test_a_limit_is_named_in_a_review():
    assert "memory" in review("", "limit", limit="memory")[1]


def test_a_review_says_what_a_blend_taught():
    summary = review("ridge: 0.15\nboosting: 0.12\nValidation metric: 0.11")[1]
    assert "boosting was best (0.12)" in summary
    assert "ridge worst (0.15)" in summary


def test_a_report_has_the_usual_headings_and_no_number_of_its_own():
    tried = [
        Memory("c0001", "Ridge regression. [one linear;log]", 0.1475, ""),
        Memory("c0004", "The mean. [average gbm,svm;log]", 0.1189, ""),
        Memory("c0002", "Broken", None, ""),
    ]
    code = '"""Mean.\n\nRecipe: [average gbm,svm;log]\n"""\n'
    messages = report_messages(LOSS, attempt("gradient_boosting: 0.1225\nValidation metric: 0.1189", code), tried)
    report = author.reply(messages)
    assert re.findall(r"^## (.*)$", report, re.MULTILINE) == [
        "Introduction", "Preprocessing", "Modelling", "Results", "Future work",
    ]  # fmt: skip
    assert "c0004 with a score of 0.1189" in report
    shown = set(re.findall(r"\d+\.\d+", messages[1]["content"]))
    assert set(re.findall(r"\d+\.\d+", report)) <= shown
    assert "```" not in author.reply(report_messages(LOSS, None, []))


def test_data_without_a_table_gets_words_and_no_program(lab_for):
    lab = lab_for({"train.csv": FRAME}, goal="Tell cats from dogs")
    lab.preview = {"level": "schema", "files": [{"kind": "images", "path": "cats/", "count": 9, "bytes": 9}]}
    answer = lab.ask()
    assert "no table" in answer
    assert "```" not in answer


def test_the_same_prompt_gets_the_same_answer(lab_for):
    lab = lab_for({"train.csv": FRAME}, goal="Predict y", target="y")
    assert lab.ask(candidate="c0001", step=1) == lab.ask(candidate="c0001", step=1)


def test_a_documented_predict_function_is_written_where_it_is_asked_for(lab_for):
    lab = lab_for({"train.csv": FRAME}, goal="Predict y", target="y", metric="rmse", folds=2, expose=True)
    plan, code = lab.write()
    ran = lab.run(code + "\nprint(len(predict(train.head(3))))", plan)
    assert ran.output.rstrip().endswith("3"), ran.output
    assert ast.get_docstring(next(n for n in ast.parse(code).body if getattr(n, "name", "") == "predict"))


def test_families_that_others_name_are_not_drafted_again_and_no_more_than_those(lab_for):
    lab = lab_for({"train.csv": FRAME}, goal="Predict y", target="y", metric="rmse")
    named = ("ridge or logistic regression", "histogram gradient boosting", "extra trees", "support vector machine")
    assert "[one gbm]" in lab.write(families=named)[0]
    assert "[one mlp]" in lab.write(families=(*named, "gradient boosting"))[0]


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("the RMSE between the logarithm of the predicted value and the logarithm of the observed price", "log_rmse"),
        ("Score: RMSE of the log price.", "log_rmse"),
        ("the root mean squared error on log prices", "log_rmse"),
        ("the RMSE of the logins of a day", "rmse"),
        ("scored by root mean squared logarithmic error", "rmsle"),
        ("Evaluated on mean absolute error", "mae"),
        ("area under the ROC curve", "auc"),
        ("the quadratic weighted kappa", "qwk"),
        ("macro F1", "f1_macro"),
        ("multi-class log loss", "log_loss"),
        ("Balanced accuracy", "balanced_accuracy"),
        ("do it well", None),
    ],
)
def test_a_metric_is_found_in_words(goal, wanted):
    found = metrics.asked(None, goal.lower())
    assert (found and found.key) == wanted


@pytest.mark.parametrize(
    "name", ["rmse", "r2", "MAPE", "roc_auc", "f1_weighted", "mcc", "spearman", "average_precision"]
)
def test_a_metric_is_found_by_name(name):
    assert metrics.asked(name, "") is not None


def test_a_recipe_survives_its_tag_in_a_shortened_plan():
    made = recipe.mixed(
        [recipe.Member("linear", ("power",)), recipe.Member("hgb", ("tune",))], "weigh", ["log", "sums"]
    )
    assert recipe.parse(f"A plan … 90 characters left out … of folds. {made.tag}") == made
    assert recipe.parse("[not a tag]") is None


@pytest.mark.parametrize(
    "name", ['a"; import os #', "a\nb", "\u202e", "quo'te", "both'\"", "\\", '"""', "größe", "цена"]
)
def test_a_name_becomes_one_literal_and_nothing_else(name):
    text = source.literal(name)
    assert ast.literal_eval(text) == name
    assert text.isprintable()
    assert "ц" not in text


def test_long_calls_are_broken_as_a_formatter_would():
    call = source.call("make", *(f"argument_{number}=1" for number in range(9)))
    text = source.layout(call, "x = ")
    assert text.startswith("x = make(\n    argument_0=1,\n")
    assert max(map(len, text.split("\n"))) <= source.WIDTH
