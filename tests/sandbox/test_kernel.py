"""A restricted kernel from its start to its death, in a real jail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aide_jupyter.errors import AideError
from aide_jupyter.records import ErrorOutput, Limits, StreamOutput, TextOutput
from aide_jupyter.sandbox import warmup
from aide_jupyter.sandbox.execution import execute_program
from aide_jupyter.sandbox.kernel import RestrictedKernel
from aide_jupyter.sandbox.pool import Kernels

pytestmark = pytest.mark.sandbox
LIMITS = Limits(seconds=20)


def _with_kernel(folder: Path, use: Callable[[RestrictedKernel], Awaitable[None]], *warm: str) -> None:
    async def run() -> None:
        kernel = await Kernels(folder / "kernels", None, limits=LIMITS, warm=warm).start()
        try:
            await use(kernel)
        finally:
            await kernel.close()
        assert not kernel.jail.alive() and kernel.jail.survivors() == 0
        assert not kernel.jail.spec.sockets.exists()

    asyncio.run(run())


def test_what_was_warmed_is_imported_and_leaves_no_name(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        code = "import sys\nprint('numpy' in sys.modules, [name for name in dir() if 'aide' in name or name == 'np'])"
        assert (await kernel.run(code, LIMITS)).text() == "True []\n"

    _with_kernel(run_folder, use, "numpy", "no_such_module")


def test_what_is_left_out_to_start_soon_is_there_for_a_program(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        code = (
            "import gc, sys\nprint(gc.isenabled(), 'debugpy' in sys.modules)\nimport debugpy\nprint(debugpy.__name__)"
        )
        assert (await kernel.run(code, LIMITS)).text() == "True False\ndebugpy\n"

    _with_kernel(run_folder, use)


def test_output_is_heard_while_the_program_runs(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        heard: list[tuple[int, str]] = []

        def hear(offset: int, text: str) -> None:
            heard.append((offset, text))
            (kernel.workspace / "working" / "heard").touch()

        wait = "while not os.path.exists('working/heard'):\n    time.sleep(0.01)"
        code = f"import os, time\nprint('one')\n{wait}\nprint('two')"
        execution = await kernel.run(code, LIMITS, hear)
        assert execution.status == "ok"
        assert heard == [(0, "one\n"), (4, "two\n")]

    _with_kernel(run_folder, use)


def test_stopping_ends_a_program_at_once(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        code = "import time\nprint('started')\ntime.sleep(600)"
        execution = await kernel.run(code, LIMITS, lambda offset, text: kernel.stop())
        assert (execution.status, execution.reply, execution.text()) == ("stopped", "none", "started\n")
        assert execution.seconds < 5

    _with_kernel(run_folder, use)


def test_a_kernel_stopped_before_its_program_never_gets_it(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        kernel.stop()
        execution = await kernel.run("open('working/x', 'w')", LIMITS)
        assert (execution.status, execution.files, execution.seconds) == ("stopped", (), 0.0)

    _with_kernel(run_folder, use)


def test_cells_run_in_order_in_one_kernel_with_outputs_of_their_own(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        cells = ["x = 1\nprint('first')", "x + 1", "print('third')\nraise ValueError('bad')", "print('never')"]
        run = await kernel.run_cells(cells, LIMITS)
        assert run.execution.status == "error"
        assert run.outputs[0] == [StreamOutput(name="stdout", text="first\n")]
        assert run.outputs[1] == [TextOutput(text="2")]
        assert [type(item) for item in run.outputs[2]] == [StreamOutput, ErrorOutput]
        assert run.outputs[3] == []
        assert list(run.execution.outputs) == [item for cell in run.outputs for item in cell]

    _with_kernel(run_folder, use)


def test_a_kernel_is_used_once(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        await kernel.run("1", LIMITS)
        with pytest.raises(AideError, match="never used again"):
            await kernel.run("1", LIMITS)

    _with_kernel(run_folder, use)


def test_an_error_of_a_listener_reaches_the_caller_and_the_kernel_is_dead(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        def fail(offset: int, text: str) -> None:
            raise RuntimeError("the view is gone")

        with pytest.raises(RuntimeError, match="the view is gone"):
            await kernel.run("import time\nprint(1)\ntime.sleep(60)", LIMITS, fail)
        assert not kernel.jail.alive()

    _with_kernel(run_folder, use)


def test_cancelling_a_run_kills_its_kernel(run_folder):
    async def use(kernel: RestrictedKernel) -> None:
        started = asyncio.Event()
        code = "import time\nprint('started')\ntime.sleep(600)"
        run = asyncio.create_task(kernel.run(code, LIMITS, lambda offset, text: started.set()))
        await started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert not kernel.jail.alive()

    _with_kernel(run_folder, use)


def test_a_kernel_that_cannot_be_prepared_is_killed_and_its_folders_are_gone(run_folder, monkeypatch):
    monkeypatch.setattr(warmup, "prepare", lambda folder: "raise RuntimeError('broken')")

    async def run() -> None:
        with pytest.raises(AideError, match="RuntimeError: broken"):
            await Kernels(run_folder / "kernels", None, warm=()).start()

    asyncio.run(run())
    assert list((run_folder / "kernels").iterdir()) == []


def test_a_program_is_run_from_its_text_to_its_outcome(run_folder):
    view = run_folder / "view"
    view.mkdir()
    (view / "train.csv").write_text("a\n1\n")
    code = "print(open('input/train.csv').read())\nopen('working/submission.csv', 'w').write('id\\n')"
    kernels = Kernels(run_folder / "kernels", view, warm=())
    destination = run_folder / "candidates" / "c0001"
    execution = asyncio.run(execute_program(code, kernels, LIMITS, destination=destination))
    assert (execution.status, execution.text(), execution.workspace) == ("ok", "a\n1\n\n", destination)
    assert [file.path for file in execution.files] == ["working/submission.csv"]
    assert (destination / "working/submission.csv").read_text() == "id\n"
    assert list((run_folder / "kernels").iterdir()) == []
    assert execution.observed.files == execution.files and execution.observed.peak_memory_bytes > 10 << 20


def test_what_ended_a_program_is_said_in_a_sentence(run_folder):
    kernels = Kernels(run_folder / "kernels", None, warm=())
    execution = asyncio.run(execute_program("import os\nos.abort()", kernels, LIMITS))
    assert execution.explanation == "The program ended its process by signal 6 before it was done."
