"""What the syntax tree of a program tells about its risks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.review.risks import MOST_FLAGS, UNPARSABLE, flags

PROGRAMS = Path(__file__).parents[2].parent / "shared" / "bench" / "programs"
PROBES = PROGRAMS.parents[1] / "escape" / "probes.py"
ORDINARY = Path(__file__).parent / "ordinary"


def rules(code: str) -> set[str]:
    return {flag.rule for flag in flags(code)}


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import subprocess", "processes"),
        ("import subprocess as s\ns.run(['ls'])", "processes"),
        ("from subprocess import run as r\nr('ls')", "processes"),
        ("import os\nos.system('ls')", "processes"),
        ("from os import system as x\nx('ls')", "processes"),
        ("from os import *\nsystem('ls')", "processes"),
        ("import os\nf = os.popen\nf('ls')", "processes"),
        ("import os\na, b = os, 1\na.system('ls')", "processes"),
        ("import os\ndef f(g=os.system): g('ls')", "processes"),
        ("import os\ngetattr(os, 'sys' + 'tem')('ls')", "processes"),
        ("import os\nos.__dict__['system']('ls')", "processes"),
        ("import os\nvars(os)['system']('ls')", "processes"),
        ("import os\nos.execv('/bin/sh', [])", "processes"),
        ("import os\nos.fork()", "processes"),
        ("import os\nos.posix_spawn('a', [], {})", "processes"),
        ("import shutil\nshutil.os.system('ls')", "processes"),
        ("__import__('os').system('ls')", "processes"),
        ("m = __import__('o' + 's')\nm.system('ls')", "processes"),
        ("import importlib\nimportlib.import_module('subprocess').run('ls')", "processes"),
        ("import sys\nsys.modules['os'].system('ls')", "processes"),
        ("__builtins__['__import__']('os').system('x')", "processes"),
        ("globals()['eval']('1')", "dynamic-code"),
        ("import socket", "network"),
        ("import requests\nrequests.get('http://x')", "network"),
        ("from urllib.request import urlopen", "network"),
        ("import pandas as pd\npd.read_csv('https://host/x.csv')", "network"),
        ("import http.client", "network"),
        ("import boto3", "network"),
        ("import ctypes", "native-code"),
        ("import cffi", "native-code"),
        ("eval('1 + 1')", "dynamic-code"),
        ("e = exec\ne('x')", "dynamic-code"),
        ("compile('1', 'f', 'eval')", "dynamic-code"),
        ("__import__(name)", "dynamic-code"),
        ("import importlib\nimportlib.import_module(name)", "dynamic-code"),
        ("import os\ngetattr(os, name)()", "dynamic-code"),
        ("get_ipython().system('ls')", "dynamic-code"),
        ("from IPython import get_ipython", "dynamic-code"),
        ("import pickle\npickle.load(open('./input/m.pkl', 'rb'))", "deserialisation"),
        ("from joblib import load\nload('./input/model.joblib')", "deserialisation"),
        ("import torch\ntorch.load('./input/model.pt')", "deserialisation"),
        ("import numpy as np\nnp.load('./input/a.npy', allow_pickle=True)", "deserialisation"),
        ("import yaml\nyaml.load(text)", "deserialisation"),
        ("import pandas as pd\npd.read_pickle('./input/x.pkl')", "deserialisation"),
        ("import shelve\nshelve.open('x')", "deserialisation"),
        ("import marshal\nmarshal.loads(b)", "deserialisation"),
        ("open('/etc/passwd')", "path-outside"),
        ("x = '/proc/self/environ'", "path-outside"),
        ("import pandas as pd\npd.read_csv('/kaggle/input/train.csv')", "path-outside"),
        ("open('../secret.txt')", "path-outside"),
        ("open('~/.ssh/id_rsa')", "path-outside"),
        ("import os\nos.path.expanduser(x)", "path-outside"),
        ("open('results.csv', 'w')", "write-outside"),
        ("df.to_csv('submission.csv')", "write-outside"),
        ("df.to_csv('./input/train.csv')", "write-outside"),
        ("OUT = './other'\ndf.to_csv(f'{OUT}/x.csv')", "write-outside"),
        ("import os\ndf.to_csv(os.path.join('./other', 'x.csv'))", "write-outside"),
        ("import pandas as pd\npd.read_csv('train.csv')", "read-outside"),
        ("import shutil\nshutil.rmtree(folder)", "deletes"),
        ("import signal\nsignal.signal(signal.SIGTERM, f)", "signals"),
        ("import os\nos.kill(1, 9)", "signals"),
        ("import resource\nresource.setrlimit(1, (2, 3))", "signals"),
        ("open(''.join(['/e', 'tc/passwd']))", "path-outside"),
        ("import os\nos.open(b'/proc/1/environ', 0)", "path-outside"),
        ("import os, operator\noperator.attrgetter('system')(os)('ls')", "dynamic-code"),
        ("df.query('@pd.io.common.os.popen(1)')", "dynamic-code"),
        ("class A:\n    x = 1\n    def __reduce__(self): return (print, (1,))", "deserialisation"),
        ("import sys\nsys.path.insert(0, './input')", "import-path"),
        ("import numpy.f2py as f\nf.compile('x')", "native-code"),
        ("import sys\nsys._getframe(1)", "introspection"),
        ("import sys\nsys.settrace(f)", "introspection"),
        ("().__class__.__bases__[0].__subclasses__()", "introspection"),
        ("getattr(x, '__globals__')", "introspection"),
        ("import gc\ngc.get_objects()", "introspection"),
        ("import inspect\ninspect.stack()", "introspection"),
        ("import zmq", "introspection"),
        ("import sklearn.metrics\nsklearn.metrics.accuracy_score = f", "tampering"),
        ("from sklearn import metrics as m\nm.mean_squared_error = lambda *a: 0", "tampering"),
        ("from sklearn.linear_model import Ridge\nRidge.predict = f", "tampering"),
        ("import builtins\nbuiltins.print = f", "tampering"),
        ("import time\nsetattr(time, 'time', f)", "tampering"),
        ("import sys\nsys.modules['sklearn'] = fake", "tampering"),
        ("from unittest.mock import patch", "tampering"),
        ("import os\nos.environ['LD_PRELOAD'] = 'x.so'", "environment"),
        ("import os\nprint(dict(os.environ))", "environment"),
        ("import os\nos.getenv('AWS_SECRET_ACCESS_KEY')", "environment"),
        ("import pip", "installation"),
        ("cmd = 'pip install lightgbm'", "installation"),
        ("name = input('your name')", "waits-for-input"),
        ("import os\nos.symlink('a', 'b')", "links"),
        ("from pathlib import Path\nPath('a').symlink_to('b')", "links"),
        ("from sklearn.datasets import fetch_california_housing", "downloads"),
        ("from transformers import AutoModel\nAutoModel.from_pretrained('bert-base')", "downloads"),
        ("from IPython.display import Javascript", "active-output"),
    ],
)
def test_a_risky_construct_is_flagged_on_its_line(code: str, rule: str) -> None:
    found = [flag for flag in flags(f"# a program\n{code}") if flag.rule == rule]
    assert found
    assert found[-1].line == 1 + code.count("\n") + 1
    assert found[-1].message


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '0')",
        "from re import compile\ncompile('a+')",
        "import re\nre.compile('a')",
        "model.eval()\nmodel.compile(loss='mse')\ndf.eval('a + b')\ndf.query('a > 1')",
        "def forward(self, input):\n    return self.linear(input)",
        "import numpy as np\nnp.float = float\nnp.load('./input/a.npy')",
        "import pandas as pd\npd.options.mode.chained_assignment = None\npd.set_option('display.width', 100)",
        "import pickle\nwith open('./working/m.pkl', 'wb') as f:\n    pickle.dump(model, f)",
        "import joblib\njoblib.dump(model, './working/model.joblib')",
        "import yaml\nyaml.load(text, Loader=yaml.SafeLoader)\nyaml.safe_load(text)",
        "import torch\ntorch.load('./input/w.pt', weights_only=True)",
        "from multiprocessing import Pool\nfrom concurrent.futures import ThreadPoolExecutor\nimport threading",
        "from joblib import Parallel, delayed\nParallel(n_jobs=-1)(delayed(f)(x) for x in y)",
        "import gc\ngc.collect()",
        "import os\nhasattr(os, 'sched_getaffinity') and len(os.sched_getaffinity(0))\nos.cpu_count()",
        "import os\nfor f in os.listdir('./working'):\n    os.remove(os.path.join('./working', f))",
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    f()",
        "import os\nprint(os.getcwd(), os.listdir('.'), os.path.exists('./input'))",
        "import zipfile\nzipfile.ZipFile('./input/a.zip').extractall('./working')",
        "import sys\nsys.exit(0)",
        "import urllib.parse\nfrom http import HTTPStatus",
        "from pathlib import Path\nROOT = Path('./input')\n(ROOT / 'a.csv').read_text()",
        "from pathlib import Path\nout = Path('working')\nout.mkdir(exist_ok=True)\ndf.to_csv(out / 'submission.csv')",
        "import os\nfor f in os.listdir('./input'):\n    print(os.path.join('./input', f))",
        "import shutil\nshutil.rmtree('./working/cache', ignore_errors=True)",
        "'''Reads /etc/hosts and ../x, in words only.'''\n# subprocess.run, eval(x)",
        "print(f'{a}/data {b}/tmp')\nx = base + '/data/x'",
        "s = 'a / b'\nprint('km/h', '/', '//', 'and/or', '%d/%d')",
        "import warnings\nwarnings.filterwarnings('ignore')\nimport time\nstart = time.time()",
        "Δt = 1\nσ_x = 2\nprint('Größe', 'привет', '面积', 'µm', '✔️', '👍🏽')",
        "import inspect\ninspect.signature(f)\ngetattr(model, name)\ngetattr(model, 'coef_')",
        "import psutil\npsutil.virtual_memory()",
        "import timeit\nt = timeit.default_timer()",
    ],
)
def test_ordinary_constructs_are_not_flagged(code: str) -> None:
    assert flags(code) == ()


@pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the shared programs are not here")
def test_the_benchmarks_programs_are_not_flagged() -> None:
    assert {path.name: flags(path.read_text()) for path in PROGRAMS.glob("*.py") if flags(path.read_text())} == {}


@pytest.mark.parametrize("path", sorted(ORDINARY.glob("*.txt")), ids=lambda path: path.stem)
def test_typical_programs_are_not_flagged(path: Path) -> None:
    assert flags(path.read_text(encoding="utf-8")) == ()


@pytest.mark.skipif(not PROBES.is_file(), reason="the shared probes are not here")
def test_a_program_full_of_attacks_has_the_dangerous_flags() -> None:
    found = flags(PROBES.read_text())
    assert len(found) <= MOST_FLAGS
    dangerous = {flag.rule for flag in found if flag.severity == "danger"}
    assert {"processes", "network", "native-code", "signals", "path-outside"} <= dangerous


def test_reading_ones_own_pickle_is_a_note_and_anothers_a_danger() -> None:
    own = "import pickle\nwith open('./working/m.pkl', 'rb') as f:\n    m = pickle.load(f)"
    (flag,) = flags(own)
    assert (flag.rule, flag.severity) == ("deserialisation", "note")
    (flag,) = flags(own.replace("working", "input"))
    assert flag.severity == "danger"


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("x = 1  # \u202e reversed", "unicode-invisible"),
        ("x = 'a\u200bb'", "unicode-invisible"),
        ("x = 'a\U000e0041b'", "unicode-invisible"),
        ("\u3164 = 1", "unicode-invisible"),
        ("x = 'a\u2800b'", "unicode-invisible"),
        ("x = 'a\ufe01\ufe02b'", "unicode-invisible"),
        ("x = 1 # \x1b[31m", "unicode-invisible"),
        ("p\u0430ssword = 1", "unicode-confusable"),
        ("# use s\u0441ore", "unicode-confusable"),
        ("x = '\u0440rice'", "unicode-confusable"),
        ("\u0435\u0445\u0435\u0441 = 1\nexec_ = 2", "unicode-confusable"),
        ("\u043e\u0440\u0435\u043f = 1\ncope = 2", ""),
        ("\u0441\u043e\u0440\u0435 = 1\ncope = 2", "unicode-confusable"),
        ("\uff45val = 1", "unicode-confusable"),
        ("\ufb01t = 1", "unicode-confusable"),
        ("\U0001d41e\U0001d41a = 1", "unicode-confusable"),
    ],
)
def test_hidden_and_confusable_characters_are_dangerous(code: str, rule: str) -> None:
    found = [flag for flag in flags(code) if flag.rule.startswith("unicode")]
    assert {flag.rule for flag in found} == ({rule} if rule else set())
    assert all(flag.severity == "danger" and flag.line == 1 for flag in found)


def test_messages_hold_no_hidden_characters() -> None:
    code = "import os as o\u0430\no\u0430.system('ls')\nopen('/etc/\u202ex')\nx = '\u200b'\n"
    from aide_jupyter.untrusted import visible

    assert all(visible(flag.message) == flag.message for flag in flags(code))


@pytest.mark.parametrize("code", ["!pip install x", "%matplotlib inline", "def f(:", "x = '", "a\x00b", "\u202e"])
def test_a_program_that_does_not_parse_has_exactly_one_flag(code: str) -> None:
    (flag,) = flags(code)
    assert flag.rule == UNPARSABLE


@pytest.mark.parametrize(
    "code", ["(" * 3000 + ")" * 3000, "x = " + "+".join(["'a'"] * 20000), "a" + ".b" * 20000, "-" * 50000 + "1"]
)
def test_a_program_nested_too_deeply_is_flagged_and_not_fatal(code: str) -> None:
    flags(code)


def test_many_flags_are_bounded_and_dangers_are_kept() -> None:
    code = "import os\n" + "\n".join(f"df.to_csv('{n}.csv')" for n in range(200)) + "\nos.system('x')"
    found = flags(code)
    assert len(found) == MOST_FLAGS
    assert "processes" in {flag.rule for flag in found}


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_read(code: str) -> None:
    assert isinstance(flags(code), tuple)


def test_a_large_program_is_read_quickly() -> None:
    import time

    code = "import numpy as np\nimport os\n" + "\n".join(
        f"x{n} = np.log(x{n - 1}) + os.path.getsize('a')" for n in range(3000)
    )
    begin = time.perf_counter()
    flags(code)
    assert time.perf_counter() - begin < 5
