"""Three things that a program can do inside and that the host must bear: it has its own key, its own socket folder, and
pipes (the last in test_files.py). Nothing else is in that folder, and the server connects once and never again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from pathlib import Path

import pytest

from aide_jupyter.records import Limits
from aide_jupyter.sandbox.pool import Kernels

pytestmark = pytest.mark.sandbox


def test_the_socket_folder_holds_its_own_kernel_and_nothing_else(attack):
    program = """
import os
from ipykernel.connect import get_connection_file
folder = os.path.dirname(get_connection_file())
print(sorted(os.listdir(folder)))
found = [name for name in os.listdir(os.path.dirname(folder)) if name.startswith('aide-k-')]
print(found == [os.path.basename(folder)])
"""
    result = attack(program, beside="import time\ntime.sleep(2)")
    names, alone = result.stdout.splitlines()
    assert names == str(["k-1", "k-2", "k-3", "k-4", "k-5", "k.json"])
    assert alone == "True"


def test_a_socket_replaced_by_a_link_to_a_listener_is_never_connected_to(run_folder: Path):
    """The client of a kernel whose sockets break must not follow the path again, wherever it leads now."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(run_folder / "trap"))
    listener.listen()
    listener.settimeout(0.1)
    reached, over = [], threading.Event()

    def accept() -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                reached.append(listener.accept())

    thread = threading.Thread(target=accept)
    thread.start()
    program = f"""
import os, time
from ipykernel.connect import get_connection_file
folder = os.path.dirname(get_connection_file())
for number in range(1, 6):
    os.unlink(f'{{folder}}/k-{{number}}')
    os.symlink({str(run_folder / "trap")!r}, f'{{folder}}/k-{{number}}')
print('planted', flush=True)
os.closerange(3, 1000)
time.sleep(30)
"""

    async def run() -> str:
        kernels = Kernels(run_folder / "kernels", None, warm=())
        execution = await (await kernels.start()).run(program, Limits(seconds=20))
        assert execution.text("stdout") == "planted\n"
        return execution.status

    try:
        assert asyncio.run(run()) in {"died", "error"}
    finally:
        over.set()
        thread.join()
        listener.close()
    assert reached == []
