"""Runs programs, each in a process forked from one that has imported the libraries already. Reads one folder a line."""

import os
import runpy
import signal
import sys
import traceback
import warnings

import numpy  # noqa: F401
import pandas  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.compose
import sklearn.ensemble
import sklearn.feature_extraction.text
import sklearn.impute
import sklearn.model_selection
import sklearn.neural_network
import sklearn.svm  # noqa: F401


def child(folder: str, seconds: int) -> None:
    signal.alarm(seconds)
    os.chdir(folder)
    out = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    warnings.filterwarnings("error", category=FutureWarning)
    warnings.filterwarnings("error", category=DeprecationWarning)
    try:
        runpy.run_path("program.py", run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


for line in sys.stdin:
    folder, _, seconds = line.strip().rpartition("\t")
    pid = os.fork()
    if pid == 0:
        child(folder, int(seconds))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
