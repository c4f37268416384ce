"""From "program ready" to its first line running, in a pool whose kernels are warm: at most 50 ms.

    python benchmarks/first_line.py [PROGRAMS]

Prints the times, in milliseconds, from ``acquire`` to the first line of output, and what importing pandas and
scikit-learn costs a program there.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from aide_jupyter.records import Limits
from aide_jupyter.sandbox.pool import Kernels, Pool

PROGRAM = """
print('first')
import time
began = time.perf_counter()
import numpy, pandas
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
print(1000 * (time.perf_counter() - began))
"""


async def measure(programs: int) -> None:
    """Run the program in one warm kernel after the other."""
    first, imports = [], []
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Kernels(Path(folder) / "kernels", None))
        try:
            await pool.start()
            for _ in range(programs):
                # Imports included, as while a model writes the program.
                while not pool.ready:  # noqa: ASYNC110  nobody but a benchmark waits for that
                    await asyncio.sleep(0.01)
                heard: list[float] = []
                began = time.perf_counter()
                kernel = await pool.acquire()
                result = await kernel.run(
                    PROGRAM,
                    Limits(seconds=60),
                    lambda offset, text, heard=heard: heard.append(time.perf_counter()),  # type: ignore[misc]
                )
                first.append(1000 * (heard[0] - began))
                imports.append(float(result.text().split()[1]))
        finally:
            await pool.close()
    for name, values in (("first line", first), ("imports", imports)):
        print(f"{name}: median {statistics.median(values):.1f} ms, worst {max(values):.1f} ms, of {len(values)}")
    print(f"ratio to the 50 ms allowed: {statistics.median(first) / 50:.2f}")


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 7))
