"""Memory and time of the preview of a large csv: ``python benchmarks/preview_memory.py [--gigabytes 1]``.

Writes a csv of that size to a temporary folder (numbers, categories, dates, free text), previews it in the process in
which the product does it, and prints one JSON object: the peak of resident memory over the limit of 500 MB, and the
seconds. Exit status 1 where the limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

from aide_jupyter.data.worker import preview_in_process

LIMIT = 500e6
ROWS = 200_000


def write_csv(path: Path, size: int) -> int:
    """Write a csv of at least ``size`` bytes; the number of its rows."""
    random = np.random.default_rng(0)
    words = np.array(["patient", "reports", "mild", "pain", "after", "long", "walks", "and", "sleeps", "well"])
    rows = 0
    with path.open("wb") as file:
        while file.tell() < size:
            numbers = np.arange(rows, rows + ROWS)
            block = pl.DataFrame(
                {
                    "id": numbers,
                    "visit": [f"20{n % 24:02}-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in numbers],
                    **{f"x{at}": random.normal(size=ROWS).round(6) for at in range(8)},
                    "age": random.integers(0, 100, ROWS),
                    "ward": random.choice(["north", "south", "east", "west"], ROWS),
                    "token": [f"{n:016x}" for n in random.integers(0, 2**62, ROWS)],
                    "note": [" ".join(row) for row in random.choice(words, (ROWS, 6))],
                    "target": random.integers(0, 2, ROWS),
                }
            )
            block.write_csv(file, include_header=rows == 0)
            rows += ROWS
    return rows


def peak_of_children(done: threading.Event, peak: list[int]) -> None:
    """Keep the largest peak of resident memory (VmHWM, as the kernel counts it) of this process's children."""
    while not done.wait(0.05):
        for child in psutil.Process().children():
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
            except OSError:
                continue
            lines = (line for line in status.splitlines() if line.startswith("VmHWM"))
            peak[0] = max(peak[0], *(int(line.split()[1]) * 1024 for line in lines), 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.csv"
        rows = write_csv(path, int(options.gigabytes * 1e9))
        size = path.stat().st_size
        done, peak = threading.Event(), [0]
        watcher = threading.Thread(target=peak_of_children, args=(done, peak))
        watcher.start()
        begin = time.monotonic()
        told = preview_in_process(Path(folder), "statistics", target="target")
        seconds = time.monotonic() - begin
        done.set()
        watcher.join()
    table = told.files[0]
    assert table.kind == "table" and table.rows == rows, table
    result = {
        "bytes": size,
        "rows": rows,
        "seconds": round(seconds, 1),
        "peak_memory_bytes": peak[0],
        "ratio_to_500_MB": round(peak[0] / LIMIT, 3),
        "preview_characters": len(told.text()),
    }
    print(json.dumps(result))
    return 0 if peak[0] <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
