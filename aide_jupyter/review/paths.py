"""Where a program reads and writes, as far as its literal paths tell: ``./input`` and ``./working`` are its own."""

from __future__ import annotations

import ast
import posixpath
import re

from .aliases import Aliases, literal

UNKNOWN = "*"
_SYSTEM = re.compile(r"/(?:proc|sys|dev|etc|root|home|boot|run|var|Users)(?:/|$)")
_ABSOLUTE = re.compile(
    r"/(?:usr|tmp|opt|mnt|media|srv|s?bin|lib\d*|kaggle|content|workspace|data|app|input|working)(?:/|$)", re.ASCII
)
_SECRETS = re.compile(r"(?:^|/)\.(?:ssh|aws|gnupg|kube|docker|jupyter|ipython|netrc|git-credentials|bash_history)\b")
_HARMLESS = ("/dev/null",)

READS = frozenset(
    {"open", "read_csv", "read_table", "read_parquet", "read_json", "read_excel", "read_feather", "read_hdf",
     "read_xml", "read_fwf", "scan_csv", "scan_parquet", "loadtxt", "genfromtxt", "fromfile", "memmap", "imread",
     "listdir",
     "scandir", "walk", "glob", "iglob", "read_text", "read_bytes", "load", "load_npz", "ZipFile"}
)  # fmt: skip
WRITES = frozenset(
    {"to_csv", "to_parquet", "to_json", "to_excel", "to_feather", "to_hdf", "to_pickle", "write_csv", "write_parquet",
     "save", "savez", "savez_compressed", "savetxt", "savefig", "tofile", "write_text", "write_bytes", "mkdir",
     "makedirs", "imwrite", "save_model", "save_npz", "touch"}
)  # fmt: skip
DELETES = frozenset({"os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree", "os.rename", "os.replace",
                     "os.truncate", "shutil.move"})  # fmt: skip


def of_concern(text: str) -> tuple[str, bool] | None:  # noqa: PLR0911
    """Why a string is a path that a program should not need, and whether that is dangerous; None if it is not one."""
    if not 1 < len(text) < 300 or "\n" in text or text in _HARMLESS:
        return None
    if _SYSTEM.match(text):
        return f"The path “{text[:60]}” belongs to the system", True
    if _SECRETS.search(text):
        return f"The path “{text[:60]}” is where credentials or settings are kept", True
    if text.startswith("~/"):
        return f"The path “{text[:60]}” is in somebody's home folder", True
    if _ABSOLUTE.match(text):
        return f"The path “{text[:60]}” is not below ./input or ./working", False
    if text.startswith("../") or "/../" in text or text == "..":
        return f"The path “{text[:60]}” leaves the working directory", False
    return None


def path_of(node: ast.expr | None, names: Aliases, depth: int = 0) -> str | None:  # noqa: PLR0911
    """The path that an expression is, with ``*`` for what is not literal; None where its beginning is not known."""
    if node is None or depth > 8:
        return None
    if (text := literal(node)) is not None:
        return text
    if isinstance(node, ast.Name):
        values = names.constants.get(node.id, set())
        return path_of(next(iter(values)), names, depth + 1) if len(values) == 1 else None
    if isinstance(node, ast.JoinedStr):
        pieces = [path_of(one, names, depth + 1) or UNKNOWN for one in node.values]
        return "".join(pieces) if pieces and pieces[0] != UNKNOWN else None
    if isinstance(node, ast.FormattedValue):
        return path_of(node.value, names, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        left, right = path_of(node.left, names, depth + 1), path_of(node.right, names, depth + 1) or UNKNOWN
        return None if left is None else left + ("/" if isinstance(node.op, ast.Div) else "") + right
    if isinstance(node, ast.Call):
        called = names.of(node.func)
        if called & {"os.path.join", "pathlib.Path", "pathlib.PurePath"}:
            pieces = [path_of(one, names, depth + 1) or UNKNOWN for one in node.args]
            return "/".join(pieces) if pieces and pieces[0] != UNKNOWN else None
        if called & {"os.path.abspath", "os.path.expanduser", "str", "builtins.str"} and node.args:
            return path_of(node.args[0], names, depth + 1)
    return None


def inside(path: str, *folders: str) -> bool:
    """Whether a path is one of the folders of the working directory, or below one."""
    plain = posixpath.normpath(path)
    return any(plain == folder or plain.startswith(f"{folder}/") for folder in folders)


def is_url(path: str) -> bool:
    """Whether a path is an address on a network."""
    return re.match(r"(?:https?|ftps?|s3a?|gs|gcs|az|abfss?|hdfs|hf|wss?|ssh|sftp)://", path) is not None


def opens_for_writing(call: ast.Call, names: Aliases) -> bool:
    """Whether ``open(…)`` may write. A mode that is not literal counts as one that does."""
    mode = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "mode"), None)
    if mode is None:
        return False
    text = path_of(mode, names)
    return text is None or bool(set(text) & set("wax+"))
