"""What a kernel runs before a program: it turns a notebook's kernel into plain Python, and imports what most need.

The texts below run inside the jail and must leave no name behind. It is no boundary: a program can undo all of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

START = """
import gc, sys
gc.disable()
sys.modules["debugpy"] = None
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""
"""Starts a kernel for one program, in four fifths of the time: without the debugger, which only a person at a notebook
could use, and without collecting garbage until it is warm."""

_PREPARE = """
def _aide_prepare(stdout, stderr):
    import ctypes, io, os, sys, warnings

    class Stream(io.TextIOWrapper):
        # A program may close its stdout; the kernel still flushes it afterwards.
        def close(self):
            if not self.closed:
                self.flush()

    for name, path, number in (("stdout", stdout, 1), ("stderr", stderr, 2)):
        getattr(sys, name).close()  # ends ipykernel's own capture of the file descriptor
        os.mkfifo(path, 0o600)
        both = os.open(path, os.O_RDWR)
        end = os.open(path, os.O_WRONLY)
        os.dup2(end, number)
        os.close(both)
        os.close(end)
        raw = io.open(number, "wb", closefd=False)
        stream = Stream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, "__" + name + "__", stream)
    libc = ctypes.CDLL(None)
    for name in ("stdout", "stderr"):
        libc.setvbuf(ctypes.c_void_p.in_dll(libc, name), None, 1, 0)  # by line, so that C prints in order with us
    warnings.filterwarnings("ignore", message="To exit: use")
    streams = sys.stdout, sys.stderr

    def mend():
        # A kernel whose streams cannot be flushed never replies.
        for name, stream in zip(("stdout", "stderr"), streams):
            try:
                getattr(sys, name).flush()
            except Exception:
                setattr(sys, name, stream)

    shell = get_ipython()
    shell.events.register("post_execute", mend)
    shell.autoawait = False
    shell.colors = "nocolor"
    manager = shell.input_transformer_manager
    for transforms in (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers):
        del transforms[:]
    for name in ("exit", "quit", "open"):
        shell.builtin_trap.auto_builtins.pop(name, None)
        shell.user_ns.pop(name, None)
    shell.history_manager.enabled = False
    sys.modules.pop("debugpy", None)

_aide_prepare(*{paths})
del _aide_prepare
"""

_IMPORT = """
def _aide_import(names):
    import gc, importlib
    gc.disable()  # a sixth of the time of these imports, which leave no garbage
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    gc.freeze()
    gc.enable()

_aide_import({names})
del _aide_import
"""


def prepare(folder: Path) -> str:
    """The cell that puts pipes in ``folder`` where the kernel's streams are. See :mod:`.streams`."""
    return _PREPARE.replace("{paths}", json.dumps([str(folder / name) for name in ("stdout", "stderr")]))


def imports(names: Sequence[str]) -> str:
    """The cell that imports these modules, skipping those that are not installed."""
    return _IMPORT.replace("{names}", json.dumps(list(names)))
