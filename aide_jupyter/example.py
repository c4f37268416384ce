"""The example task: real data that comes with scikit-learn, so that a first run needs no download and no key.

The Breast Cancer Wisconsin (Diagnostic) data: 569 biopsies, 30 measurements each of cell nuclei. Source: W. Street,
W. Wolberg and O. Mangasarian, 1993; the copy in scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

GOAL = "Predict the probability that a tumour is malignant from measurements of its cell nuclei."
METRIC = "log loss"
TARGET = "malignant"
_TEST_ROWS = 114
_DESCRIPTION = """\
Each row is one fine needle aspirate of a breast mass; the columns are measurements of the cell nuclei in its image:
for ten properties (radius, texture, …) the mean, the standard error and the mean of the three largest values ("worst").

train.csv               455 rows with the column malignant: 1 for a malignant tumour, 0 for a benign one
test.csv                114 rows without it
sample_submission.csv   the expected form of predictions: id, and the probability that malignant is 1

Source: Breast Cancer Wisconsin (Diagnostic), W. Street, W. Wolberg and O. Mangasarian, 1993.
"""


def write_example(folder: Path) -> Path:
    """Write the example's data files into ``folder`` (made where missing) and return it.

    The split is the same every time: every fifth row, counted from the first, is a test row.
    """
    from sklearn.datasets import load_breast_cancer

    folder.mkdir(parents=True, exist_ok=True)
    frame = load_breast_cancer(as_frame=True).frame
    frame.columns = [name.replace(" ", "_") for name in frame.columns]
    frame[TARGET] = 1 - frame.pop("target")
    frame.insert(0, "id", range(1, len(frame) + 1))
    is_test = frame.index % 5 == 0
    test = frame[is_test]
    assert len(test) == _TEST_ROWS
    frame[~is_test].to_csv(folder / "train.csv", index=False)
    test.drop(columns=TARGET).to_csv(folder / "test.csv", index=False)
    test[["id"]].assign(**{TARGET: 0.5}).to_csv(folder / "sample_submission.csv", index=False)
    (folder / "data_description.txt").write_text(_DESCRIPTION, encoding="utf-8")
    return folder
