"""“Run All” on an audit notebook runs nothing outside the jail, rejected programs included."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import Aide
from .test_run import asked

pytestmark = pytest.mark.sandbox


def test_running_all_cells_touches_nothing_on_the_host(
    aide: Aide, data: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = aide.home / "canary"
    mark.write_text("untouched")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        harm = (
            f"import os, socket\ntry:\n    open({str(mark)!r}, 'w').write('touched')\n"
            "except OSError as e:\n    print(e)\n"
            f"try:\n    socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}), 2)\nexcept OSError as e:\n"
            "    print(e)\nos.environ['X'] = '1'\nprint('Validation metric: 1')\n"
        )
        base = model(programs={"01.py": f"# Try to get out.\n{harm}"})
        arguments = ("run", "--data", str(data), "--goal", "Predict the price. Minimize the rmse.", *asked(base))
        done = aide(*arguments, "--review", "flagged", "--steps", "1", "--json")
        assert done.json["candidates"] == 1
        notebook = nbformat.read(aide.run / "audit.ipynb", as_version=4)
        assert notebook.metadata.kernelspec.name == "aide-restricted"
        (program,) = [cell for cell in notebook.cells if cell.id.endswith("-code")]
        assert program.cell_type == "raw"
        program.cell_type = "code"
        program.outputs, program.execution_count = [], None
        notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for name, value in aide.env.items():
            if name.startswith("JUPYTER_"):
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
        where = {"metadata": {"path": str(aide.run)}}
        NotebookClient(notebook, timeout=120, kernel_name="aide-restricted", resources=where).execute()
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert mark.read_text() == "untouched"
    assert "X" not in os.environ
    assert notebook.cells[0].outputs
