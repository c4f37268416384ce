"""The exported solution: its cells are the program, it says what it is, and it needs nothing of this package."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from aide_jupyter import records as r
from aide_jupyter.audit.export import Rerun, export_notebook, reproduced
from aide_jupyter.audit.split import JOINT, split_program
from aide_jupyter.errors import AlteredError, BadRequest
from tests.audit.builder import Story

PROGRAM = '''"""Predict prices."""

from __future__ import annotations

import math
import os  # paths

# --- Load ---
ROWS = [1.0, 2.0]
print(len(ROWS))


@staticmethod
def helper(x: float) -> float:
    """Text with

    # what looks like a comment
    """
    return x


# The metric.
def metric() -> float:
    return 0.5


if __name__ == "__main__":
    print("Validation metric:", metric())
'''


def code_cells(notebook: dict[str, Any]) -> list[str]:
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def about(notebook: dict[str, Any]) -> str:
    return notebook["cells"][0]["source"]  # type: ignore[no-any-return]


def exported(story: Story, rerun: Rerun | None = None, candidate: str | None = None) -> dict[str, Any]:
    async def run_cells(cells: Sequence[str]) -> Rerun:
        assert rerun is not None
        return rerun

    return asyncio.run(export_notebook(story.trail, story.blobs, run_cells if rerun else None, candidate))


def test_a_program_is_split_by_its_structure() -> None:
    cells = split_program(PROGRAM)
    assert JOINT.join(cells) == PROGRAM
    assert [cell.strip().splitlines()[0] for cell in cells] == [
        '"""Predict prices."""',
        "# --- Load ---",
        "@staticmethod",
        "# The metric.",
        'if __name__ == "__main__":',
    ]


@pytest.mark.parametrize(
    "code",
    ["", "\n", "# only a comment", "x = 1", "x = 1\n", "\n\nx = 1\n\n\ny = 2", "x = 1; y = 2\nz = 3", "def broken(:\n",
     "x = 1\r\ny = 2\r\n", "x = \\\n\n\nimport os\n", "x = '''\n\nimport os\n'''\nimport sys\n", "a = 1\n\x0cb = 2\n",
     "x = 1 \\\n\nimport os", "\ufeffx = 1\nimport os", "x = 1\x00", "import os\n" * 3000, "(" * 5000,
     "x = '\\d'\nimport os",
     "x = " + "+".join("1" * 3000) + "\nimport os"],
)  # fmt: skip
def test_the_cells_joined_are_the_program_whatever_it_is(code: str) -> None:
    assert JOINT.join(split_program(code)) == code


def test_statements_on_one_line_stay_together_and_the_rest_is_split() -> None:
    code = "import os; x = 1\n\n\ndef f(): pass\n"
    assert split_program(code) == ["import os; x = 1\n\n", "def f(): pass\n"]


def test_a_program_whose_parts_do_not_parse_alone_is_one_cell() -> None:
    code = "from __future__ import barry_as_FLUFL\n\nx = 1 <> 2\n"
    assert split_program(code) == [code]


def test_all_programs_of_the_benchmark_are_split_and_joined() -> None:
    programs = sorted((Path(__file__).parents[2].parent / "shared" / "bench" / "programs").glob("*.py"))
    if not programs:
        pytest.skip("the benchmark's programs are not here")
    for path in programs:
        code = path.read_text()
        cells = split_program(code)
        assert JOINT.join(cells) == code and len(cells) > 1


PIECE = st.sampled_from(
    [
        "import os",
        "from math import pi",
        "x = 1",
        "x = 1; y = 2",
        "def f(a):\n    return a",
        "@property\ndef g(self): pass",
        "class C:\n\n    # inside\n    y = 1",
        "if __name__ == '__main__':\n    x = 2",
        "for i in range(3):\n    x = i\nelse:\n    x = 0",
        "s = '''a\n\nimport not\n# not a comment\n'''",
        "# a comment",
        "# --- section ---",
        "",
        "",
        "x = (1 +\n\n     2)",
        "x = 1 + \\\n    2",
        "try:\n    x = 1\nfinally:\n    x = 2",
        "x = 'ü'  # end",
        "'a string'",
        "async def h():\n    await h()",
        "    # indented comment",
        "x = f'''\n{x}\n'''",
        "lambda: 0",
        "...",
        "with open('f') as f: pass",
        "\t",
        "x = 1 \\",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECE, max_size=14).map("\n".join))
def test_any_program_is_its_cells_joined_and_each_cell_parses(code: str) -> None:
    cells = split_program(code)
    assert JOINT.join(cells) == code
    try:
        whole = ast.parse(code)
    except SyntaxError:
        assert cells == [code]
        return
    parts = [node for cell in cells for node in ast.parse(cell).body]
    assert [ast.dump(node) for node in parts] == [ast.dump(node) for node in whole.body]
    for cell in cells:
        transformed = TransformerManager().transform_cell(cell)
        assert ast.dump(ast.parse(transformed)) == ast.dump(ast.parse(cell))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_its_cells_joined(code: str) -> None:
    assert JOINT.join(split_program(code)) == code


def test_the_notebook_holds_the_approved_program_and_says_what_it_is() -> None:
    manifest = f"{'a' * 64}  12345  train.csv\n{'b' * 64}  5  a folder/te st.csv"
    story = Story(data={"manifest": manifest}).candidate("c0001", 0.25, code=PROGRAM).close(best="c0001")
    notebook = exported(story)
    nbformat.validate(notebook)
    assert JOINT.join(code_cells(notebook)) == PROGRAM
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "aide_jupyter" not in json.dumps(code_cells(notebook))
    assert not [cell for cell in notebook["cells"] if "aide" in cell["metadata"]] and "aide" not in notebook["metadata"]
    for wanted in (
        "runs with your rights",
        "0.25 (reported)",
        "`rmse`, lower is better",
        story.run,
        r.sha256_text(PROGRAM),
        "12.3 kB  train.csv",
        "a folder/te st.csv",
        "not run again for this export",
        "2026-11-30",
        "Predict the price.",
    ):
        assert wanted in about(notebook), wanted


def test_cells_carry_the_outputs_of_their_run_in_a_restricted_kernel() -> None:
    story = Story().candidate("c0001", 0.5, code=PROGRAM).close(best="c0001")
    stream = r.StreamOutput(name="stdout", text="Validation metric: 0.5\n")
    rerun = Rerun("ok", ((), (stream,), (), (), (stream,)), 0.5)
    notebook = exported(story, rerun)
    nbformat.validate(notebook)
    cells = notebook["cells"][1:]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5]
    assert cells[4]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": "Validation metric: 0.5\n"}]
    assert "yes: run again, it gave exactly 0.5" in about(notebook)


def test_a_run_that_failed_is_shown_as_it_was() -> None:
    story = Story().candidate("c0001", code=PROGRAM)
    error = r.ErrorOutput(name="KeyError", message="'x'", traceback="Traceback\nKeyError: 'x'")
    notebook = exported(story, Rerun("error", ((), (error,)), None))
    nbformat.validate(notebook)
    assert notebook["cells"][2]["outputs"][0]["ename"] == "KeyError"
    assert [cell["execution_count"] for cell in notebook["cells"][1:]] == [1, 2, None, None, None]
    assert "no: run again, cell by cell, it ended with status error" in about(notebook)


@pytest.mark.parametrize(
    ("recorded", "rerun", "words"),
    [
        (0.5, Rerun("ok", (), 0.5), "yes: run again, it gave exactly 0.5"),
        (0.5, Rerun("ok", (), 0.5 + 1e-9), "yes: run again, it gave 0.5, equal up to 2e-09 of its size"),
        (0.5, Rerun("ok", (), 0.4), "no: run again, it gave 0.4 instead of 0.5, a difference of 20 %"),
        (0.0, Rerun("ok", (), 0.1), "no: run again, it gave 0.1 instead of 0, a difference of 1e+02 %"),
        (0.0, Rerun("ok", (), -0.0), "yes"),
        (0.5, Rerun("ok", (), None), "no: run again, it gave no number"),
        (None, Rerun("ok", (), 0.5), "no: run again, it gave no number to compare"),
        (0.5, Rerun("timeout", (), 0.5), "no: run again, cell by cell, it ended with status timeout"),
    ],
)
def test_whether_the_number_was_reproduced_is_said(recorded: float | None, rerun: Rerun, words: str) -> None:
    assert reproduced(recorded, rerun).startswith(words)


def test_only_an_approved_program_is_exported() -> None:
    story = Story().propose("c0001").ask("c0001")
    with pytest.raises(BadRequest, match="c0001 was not approved"):
        exported(story, candidate="c0001")
    with pytest.raises(BadRequest, match="no best candidate yet"):
        exported(story)
    with pytest.raises(BadRequest, match="no candidate c0009"):
        exported(story, candidate="c0009")
    story.decide("c0001", "reject")
    with pytest.raises(BadRequest, match="c0001 was not approved"):
        exported(story, candidate="c0001")


def test_a_stored_program_that_was_changed_is_not_exported() -> None:
    story = Story().candidate("c0001", code=PROGRAM + "# filler\n" * 600)
    (digest,) = story.blobs
    story.blobs[digest] = b"print('other')"
    with pytest.raises(AlteredError, match="not the one that was approved"):
        exported(story)


def test_without_an_approval_for_the_export_nothing_is_run() -> None:
    story = Story().propose("c0001").decide("c0001", purposes=("search",)).start("c0001").finish("c0001")
    story.grade("c0001").review("c0001")

    async def never(cells: Sequence[str]) -> Rerun:
        raise AssertionError

    notebook = asyncio.run(export_notebook(story.trail, story.blobs, never))
    assert "the approval does not cover a run for the export" in about(notebook)


def test_what_others_wrote_stays_literal() -> None:
    evil = "![x](http://127.0.0.1:9/x.png) <img src='http://127.0.0.1:9/y.png'> ``` | $$x$$"
    view = {"manifest": f"{'a' * 64}  5  {evil}"}
    story = Story(goal=evil, metric=evil, data=view)
    story.candidate("c0001", actor=r.Actor(kind="agent", name=evil, model=evil))
    notebook = exported(story)
    tokens = MarkdownIt("commonmark").enable("table").parse(about(notebook))
    kinds = {child.type for token in tokens for child in (token, *(token.children or []))}
    assert not kinds & {"image", "link_open", "html_block", "html_inline"}
    page, _ = HTMLExporter().from_notebook_node(nbformat.from_dict(notebook))
    body = BeautifulSoup(page, "html.parser").body
    assert body is not None and not body.find_all("img")


def test_it_runs_in_an_ordinary_kernel(tmp_path: Path) -> None:
    start = "from __future__ import annotations\n\nimport os\n\n\ndef f(x: Missing) -> float:\n    return 0.5\n"
    program = f"{start}\n\nprint('Validation metric:', f(1))\n"
    story = Story().candidate("c0001", code=program)
    notebook = nbformat.from_dict(exported(story))
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    assert notebook.cells[-1].outputs[0].text == "Validation metric: 0.5\n"
