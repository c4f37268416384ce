"""The constructs that a person should know of before a program runs: a table of dotted names, by rule.

A name stands for itself and for everything below it (``subprocess`` for ``subprocess.run``). What ordinary
data-science programs use stays out: parallel work, warnings, time, paths below the contract's folders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Construct:
    """One rule of the table. ``words`` say what such a program does, to somebody who knows data science."""

    rule: str
    severity: Literal["note", "danger"]
    words: str
    names: re.Pattern[str]


def _construct(rule: str, severity: Literal["note", "danger"], words: str, *names: str) -> Construct:
    return Construct(rule, severity, words, re.compile(rf"(?:{'|'.join(names)})(?:\..+)?"))


CONSTRUCTS = (
    _construct(
        "processes", "danger", "Starts another program",
        r"subprocess", r"_posixsubprocess", r"pty", r"pexpect", r"sh", r"plumbum", r"commands",
        r"os\.(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*|fork\w*)", r"(?:posix|nt)\..+",
        r"asyncio\.(?:create_subprocess\w*|subprocess)",
    ),
    _construct(
        "network", "danger", "Uses the network",
        r"_?socket", r"socketserver", r"ssl", r"requests", r"urllib\.(?:request|error)", r"urllib[23]",
        r"http\.(?:client|server)", r"httpx", r"httplib2", r"aiohttp", r"ftplib", r"smtplib", r"poplib", r"imaplib",
        r"telnetlib", r"nntplib", r"xmlrpc", r"paramiko", r"fabric", r"boto", r"boto3", r"botocore", r"google\.cloud",
        r"azure", r"websockets?", r"grpc", r"pycurl", r"tornado", r"twisted", r"flask", r"fastapi", r"uvicorn",
        r"django", r"scapy", r"wget", r"gdown", r"kaggle", r"openai", r"anthropic", r"litellm", r"pymysql",
        r"psycopg2?", r"pymongo", r"redis",
        r"webbrowser", r"asyncio\.(?:open_connection|start_server|open_unix_connection|start_unix_server)",
        r"multiprocessing\.(?:connection|managers)",
    ),
    _construct(
        "native-code", "danger", "Calls native code directly, past Python's checks",
        r"_?ctypes", r"_?cffi", r"_cffi_backend", r"numpy\.(?:ctypeslib|f2py)", r"llvmlite", r"pyximport",
        r"torch\.utils\.cpp_extension",
    ),
    _construct(
        "dynamic-code", "danger", "Runs code that is put together while it runs, so that it cannot be read here",
        r"builtins\.(?:eval|exec|compile|__import__)",
        r"importlib\.(?:import_module|__import__|reload|util|machinery|abc|_bootstrap\w*)", r"_frozen_importlib\w*",
        r"runpy", r"code\.(?:interact|InteractiveConsole|InteractiveInterpreter)", r"codeop", r"imp",
        r"types\.(?:CodeType|FunctionType|LambdaType)", r"builtins\.get_ipython",
        r"IPython\.(?:get_ipython|core\.(?!display)\w+|embed|start_ipython)",
    ),
    _construct(
        "signals", "danger", "Sends or catches signals, or changes the limits of processes",
        r"_?signal", r"os\.(?:kill|killpg|abort|_exit|setsid|setpgid|setpriority|nice|pidfd_open|ptrace)",
        r"resource\.(?:setrlimit|prlimit)", r"faulthandler\.(?:register|dump_traceback_later)", r"atexit",
    ),
    _construct(
        "introspection", "danger", "Reaches into the interpreter that runs it",
        r"sys\.(?:_getframe|_current_frames|settrace|setprofile|addaudithook|meta_path|path_hooks)",
        r"sys\.(?:excepthook|displayhook)",
        r"inspect\.(?:currentframe|stack|trace|getouterframes|getinnerframes)",
        r"gc\.(?:get_objects|get_referrers|get_referents)", r"threading\.(?:settrace|setprofile)\w*", r"bdb",
        r"ipykernel", r"zmq", r"jupyter_client", r"jupyter_core", r"jupyter_server", r"comm", r"aide_jupyter",
        r"builtins\.__builtins__",
    ),
    _construct(
        "tampering", "danger", "Replaces parts of other libraries", r"(?:unittest\.)?mock", r"wrapt", r"gorilla",
    ),
    _construct(
        "links", "danger", "Makes links or special files, or changes who may use a file",
        r"os\.(?:symlink|link|mkfifo|mknod|l?chmod|fchmod|l?chown|fchown|chroot|set\w*id|umask|unshare)",
        r"shutil\.chown",
    ),
    _construct("installation", "danger", "Installs packages", r"pip", r"_?ensurepip", r"conda", r"easy_install"),
    _construct(
        "waits-for-input", "note", "Waits for somebody to type, and nobody will",
        r"builtins\.(?:input|breakpoint)", r"getpass\.(?:getpass)", r"pdb", r"ipdb", r"sys\.stdin", r"fileinput",
    ),
    _construct(
        "downloads", "note", "Downloads data or models, and there is no network unless it was granted",
        r"sklearn\.datasets\.fetch_\w+", r"seaborn\.load_dataset", r"nltk\.download", r"torch\.hub",
        r"tensorflow_datasets", r"tensorflow_hub", r"datasets\.load_dataset", r"huggingface_hub",
        r"(?:tensorflow\.)?keras\.datasets", r"openml", r"yfinance", r"pandas_datareader",
    ),
    _construct(
        "active-output", "note", "Shows output that a browser would run",
        r"IPython\.(?:core\.)?display\.(?:HTML|Javascript|IFrame|SVG|display_html|display_javascript)",
    ),
    _construct(
        "path-outside", "note", "Looks for a person's home folder", r"pathlib\.Path\.home", r"os\.path\.expanduser",
    ),
)  # fmt: skip

HANDED_ON = frozenset(
    {"os", "sys", "builtins", "importlib", "posix", "nt", "shutil", "subprocess", "builtins.__builtins__"}
)
"""Modules that a program uses by name; where one is an argument, what is done with it cannot be read."""
LOOKS_AT = frozenset({"hasattr", "isinstance", "getattr", "setattr", "delattr", "vars", "dir", "print", "id", "type"})
"""Functions that may be given one of those: what they take from it is followed."""

CODE_IN_TEXT = re.compile(
    r"__import__|\b(?:os\.(?:system|popen|exec|spawn)|subprocess\.\w+|__builtins__|__subclasses__)\b"
)

UNPICKLES = re.compile(
    r"(?:_?pickle|cPickle|dill|cloudpickle|marshal|jsonpickle)\.(?:loads?|decode|Unpickler|_loads?)"
    r"|shelve\.(?:open|Shelf|DbfilenameShelf)"
    r"|(?:sklearn\.externals\.)?joblib\.load|torch\.load|pandas\.read_pickle|numpy\.load"
    r"|yaml\.(?:load|load_all|unsafe_load|unsafe_load_all|full_load|full_load_all)"
)
"""Functions that can run code while they read a file."""

INTERPRETER_ATTRIBUTES = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "__code__", "__closure__", "__bases__", "__mro__",
     "__getattribute__", "f_back", "f_globals", "f_locals", "f_builtins", "tb_frame", "gi_frame", "cr_frame",
     "ag_frame",
     "co_code"}
)  # fmt: skip

GUARDED = re.compile(
    r"(?:builtins|sklearn|scipy|math|statistics|os|time|json|io|random|torchmetrics"
    r"|numpy(?!\.(?:float|int|bool|object|str)$)|pandas(?!\.options)|sys\.(?:modules|exit|argv|executable))(?:\..+)?"
)
"""Modules whose parts a program has no reason to replace; NumPy's removed aliases (``np.float``) are often put back."""

ORDINARY_VARIABLES = re.compile(
    r"(?:OMP|MKL|OPENBLAS|NUMEXPR|VECLIB|BLIS|CUDA|CUBLAS|TF|XLA|LOKY|JOBLIB|PYTORCH|TORCH|NUMBA|TRANSFORMERS|HF|WANDB"
    r"|POLARS|KERAS|MPL|TOKENIZERS|KMP|RAYON|NCCL)\w*|PYTHONHASHSEED|PYTHONWARNINGS|KAGGLE_\w+"
)
LOADER_VARIABLES = re.compile(r"LD_\w+|DYLD_\w+|PATH|PYTHONPATH|PYTHONSTARTUP|PYTHONHOME|HOME|BASH_ENV|IFS|GCONV_PATH")
