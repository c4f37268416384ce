"""Reasons to look at a program before it runs, found in its syntax tree; each names its line.

Flags serve the person who decides, and the modes that ask about them. They are no boundary: a program that wants to
hide something from a reader of syntax trees can, and the jail contains it all the same.
"""

from __future__ import annotations

import ast
import re
from typing import Literal

from ..records import Flag
from ..untrusted import Untrusted
from . import paths
from .aliases import Aliases, literal
from .characters import CONFUSABLE, INVISIBLE, suspicious
from .constructs import (
    CODE_IN_TEXT,
    CONSTRUCTS,
    GUARDED,
    HANDED_ON,
    INTERPRETER_ATTRIBUTES,
    LOADER_VARIABLES,
    LOOKS_AT,
    ORDINARY_VARIABLES,
    UNPICKLES,
)

__all__ = ["CONFUSABLE", "INVISIBLE", "MOST_FLAGS", "UNPARSABLE", "flags"]

UNPARSABLE = "unparsable"
MOST_FLAGS = 40
_IMPORTERS = {"builtins.__import__", "importlib.import_module", "importlib.__import__"}


def flags(code: str) -> tuple[Flag, ...]:
    """What a person should know of, in order of lines; at most ``MOST_FLAGS``, the dangerous ones first to be kept.

    A program that does not parse has exactly one flag: it is never sent to a kernel.
    """
    try:
        tree = ast.parse(code)
        found = [*_Reader(tree).read(), *suspicious(code)]
    except SyntaxError as error:
        words = f"This is not Python ({error.msg}), so it fails without being run"
        return (Flag(rule=UNPARSABLE, line=error.lineno or 0, message=words),)
    except ValueError:
        return (Flag(rule=UNPARSABLE, line=0, message="This is not Python (it holds a null byte)"),)
    except (RecursionError, MemoryError):
        words = "This is nested too deeply to be read, by a person as by this check"
        return (Flag(rule=UNPARSABLE, line=0, message=words, severity="danger"),)
    kept: dict[tuple[str, int], Flag] = {}
    for flag in sorted(found, key=lambda one: one.severity != "danger"):
        kept.setdefault((flag.rule, flag.line), flag)
    shown = [
        flag.model_copy(update={"message": Untrusted(flag.message, "program").render(300, one_line=True)})
        for flag in list(kept.values())[:MOST_FLAGS]
    ]
    return tuple(sorted(shown, key=lambda one: (one.line, one.rule)))


class _Reader:
    """Walks one program once."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: list[ast.AST] = [tree]
        self.parents: dict[ast.AST, ast.AST] = {}
        for parent in self.nodes:
            children = [one for one in ast.iter_child_nodes(parent) if not isinstance(one, ast.expr_context)]
            self.parents.update(dict.fromkeys(children, parent))
            self.nodes += children
        self.names = Aliases(self.nodes)
        self.found: list[Flag] = []

    def read(self) -> list[Flag]:
        for node in self.nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._imports(node)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                self._reference(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Subscript):
                self._item(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._definition(node)
            elif isinstance(node, ast.Constant) and (text := literal(node)) is not None:
                self._string(node, text)
        return self.found

    def _flag(self, node: ast.AST, rule: str, severity: Literal["note", "danger"], words: str, name: str = "") -> None:
        shown = f"{words} ({name[:60]})" if name else words
        self.found.append(Flag(rule=rule, line=getattr(node, "lineno", 0), message=shown, severity=severity))

    def _match(self, node: ast.AST, names: set[str]) -> None:
        """Flag each construct of the table that one of the names stands for."""
        for construct in CONSTRUCTS:
            for name in sorted(names):
                if construct.names.fullmatch(name):
                    self._flag(node, construct.rule, construct.severity, construct.words, name)
                    break

    def _imports(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            self._match(node, {alias.name for alias in node.names})
        else:
            self._match(node, {f"{node.module or ''}.{alias.name}" for alias in node.names})

    def _reference(self, node: ast.Name | ast.Attribute) -> None:
        parent = self.parents.get(node)
        if isinstance(node, ast.Attribute) and node.attr in INTERPRETER_ATTRIBUTES:
            self._flag(node, "introspection", "danger", "Reaches into the interpreter that runs it", node.attr)
        if not isinstance(node.ctx, ast.Load):
            self._replaced(node)
            return
        if isinstance(parent, ast.Attribute):
            return
        names = self.names.of(node)
        if isinstance(parent, ast.Call) and parent.func is node and names & _IMPORTERS and parent.args:
            self._imported_by_call(parent, names)
            return
        if not (isinstance(parent, ast.Call) and parent.func is node) and isinstance(node, ast.Name):
            # ``input`` and ``compile`` are ordinary names of variables; only a call of them says something.
            names -= {"builtins.input", "builtins.compile"}
        self._match(node, names)
        self._environment(node, names)

    def _imported_by_call(self, node: ast.Call, names: set[str]) -> None:
        module = literal(node.args[0])
        if module is None:
            self._match(node, names)
        else:
            self._flag(node, "dynamic-code", "note", "Imports a module by a call", module)
            self._match(node, {module})

    def _environment(self, node: ast.expr, names: set[str]) -> None:
        touched = {name for name in names if re.match(r"os\.(?:environb?|getenvb?|putenv|unsetenv)\b", name)}
        if not touched:
            return
        parent = self.parents.get(node)
        key = None
        if isinstance(parent, ast.Subscript) and parent.value is node:
            key = literal(parent.slice)
        elif isinstance(parent, ast.Call) and parent.func is node and parent.args:
            key = literal(parent.args[0])
        if key is not None and ORDINARY_VARIABLES.fullmatch(key):
            return
        if key is not None and LOADER_VARIABLES.fullmatch(key):
            self._flag(node, "environment", "danger", "Touches a variable that decides what code is loaded", key)
        else:
            self._flag(node, "environment", "note", "Reads or changes environment variables", key or sorted(touched)[0])

    def _replaced(self, node: ast.Name | ast.Attribute) -> None:
        if isinstance(node, ast.Name):
            if node.id in ("print", "open", "__import__"):
                self._flag(node, "tampering", "note", "Gives a built-in function's name to something else", node.id)
            return
        names = {f"{base}.{node.attr}" for base in self.names.of(node.value)}
        if guarded := sorted(name for name in names if GUARDED.fullmatch(name)):
            self._flag(node, "tampering", "danger", "Replaces a part of another library", guarded[0])
        elif names & {"sys.stdout", "sys.stderr"}:
            self._flag(node, "tampering", "note", "Redirects what the program prints", sorted(names)[0])

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if node.name in ("__reduce__", "__reduce_ex__", "__setstate__"):
            self._flag(node, "deserialisation", "danger", "Defines code that runs when an object is read", node.name)
        at_top = isinstance(self.parents.get(node), ast.Module)
        if at_top and node.name in ("print", "open", "__import__"):
            self._flag(node, "tampering", "note", "Gives a built-in function's name to something else", node.name)

    def _item(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load):
            if not isinstance(self.parents.get(node), ast.Attribute):
                self._match(node, self.names.of(node))
            return
        for base in self.names.of(node.value):
            if base.endswith("sys.modules") or (base.endswith(".__dict__") and GUARDED.fullmatch(base)):
                self._flag(node, "tampering", "danger", "Replaces a module or a part of one", base)

    def _call(self, node: ast.Call) -> None:
        called = self.names.of(node.func)
        if called & {"sys.path.insert", "sys.path.append", "sys.path.extend"}:
            self._flag(node, "import-path", "note", "Changes where modules are imported from")
        if called & {"builtins.setattr", "builtins.delattr"} and node.args:
            for base in sorted(self.names.of(node.args[0])):
                if GUARDED.fullmatch(f"{base}.part"):
                    self._flag(node, "tampering", "danger", "Replaces a part of another library", base)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            handed = self.names.of(argument) & HANDED_ON if isinstance(argument, (ast.Name, ast.Attribute)) else set()
            if handed and getattr(node.func, "id", "") not in LOOKS_AT:
                words = "Hands a module that can do anything to other code"
                self._flag(node, "dynamic-code", "danger", words, min(handed))
        if "builtins.getattr" in called and len(node.args) > 1:
            self._attribute_by_name(node)
        if isinstance(node.func, ast.Call) or not isinstance(self.parents.get(node), ast.Attribute):
            self._match(node, self.names.of(node))
        self._unpickles(node, called)
        self._files(node, called)
        for keyword in node.keywords:
            asked = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            if asked and keyword.arg in ("pretrained", "download"):
                self._flag(
                    node, "downloads", "note", "Downloads data or a model, and there may be no network", keyword.arg
                )

    def _attribute_by_name(self, node: ast.Call) -> None:
        name = literal(node.args[1])
        modules = self.names.of(node.args[0])
        if name is None and any(
            re.match(r"(?:os|sys|builtins|importlib|posix|shutil|ctypes)\b", one) for one in modules
        ):
            words = "Takes a part of a module by a name that is put together while it runs"
            self._flag(node, "dynamic-code", "danger", words, sorted(modules)[0])

    def _unpickles(self, node: ast.Call, called: set[str]) -> None:
        name = next((one for one in sorted(called) if UNPICKLES.fullmatch(one)), None)
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        if name is None or (name == "numpy.load" and not _is_true(options.get("allow_pickle"))):
            return
        loader = options.get("Loader") or (
            node.args[1] if name.startswith("yaml.load") and len(node.args) > 1 else None
        )
        if loader is not None and "Safe" in ast.unparse(loader):
            return
        if name == "torch.load" and _is_true(options.get("weights_only")):
            return
        source = self._opened(node.args[0] if node.args else None)
        if source is not None and paths.inside(source, "working"):
            self._flag(node, "deserialisation", "note", "Reads a file of its own that can hold code", name)
        else:
            self._flag(node, "deserialisation", "danger", "Reads a file that can run code while it is read", name)

    def _opened(self, node: ast.expr | None) -> str | None:
        """The path that an expression names, or that the file was opened with."""
        if isinstance(node, ast.Name):
            values = self.names.constants.get(node.id, set())
            node = next(iter(values)) if len(values) == 1 else None
        if isinstance(node, ast.Call) and self.names.of(node.func) & {"builtins.open", "io.open", "gzip.open"}:
            node = node.args[0] if node.args else None
        return paths.path_of(node, self.names)

    def _files(self, node: ast.Call, called: set[str]) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = 1 if called & {"joblib.dump", "torch.save"} else 0
        path = paths.path_of(node.args[place] if len(node.args) > place else None, self.names)
        if name in ("symlink_to", "hardlink_to", "link_to", "chmod", "lchmod"):
            self._flag(node, "links", "danger", "Makes a link or changes who may use a file", name)
        if name == "from_pretrained" and not (path and path.startswith((".", "/"))):
            self._flag(node, "downloads", "note", "Downloads a model, and there may be no network", name)
        if called & paths.DELETES and not (path and paths.inside(path, "working")):
            severity: Literal["note", "danger"] = "danger" if "shutil.rmtree" in called else "note"
            self._flag(node, "deletes", severity, "Deletes or moves files, not all below ./working", sorted(called)[0])
        if path is None:
            return
        if (concern := paths.of_concern(path)) is not None:
            self._flag(node, "path-outside", "danger" if concern[1] else "note", concern[0])
            return
        reads, writes = name in paths.READS, name in paths.WRITES or bool(called & {"joblib.dump", "torch.save"})
        if (reads or writes) and paths.is_url(path):
            self._flag(node, "network", "danger", "Reads from or writes to the network", path)
        elif writes or (name == "open" and paths.opens_for_writing(node, self.names)):
            if _looks_like_a_path(path, name) and not paths.inside(path, "working"):
                self._flag(node, "write-outside", "note", "Writes a file that is not below ./working", path)
        elif reads and _looks_like_a_path(path, name) and not paths.inside(path, "input", "working", "."):
            self._flag(node, "read-outside", "note", "Reads a file that is not below ./input or ./working", path)

    def _string(self, node: ast.Constant, text: str) -> None:
        parent = self.parents.get(node)
        if isinstance(parent, ast.Expr):
            return
        continues = (isinstance(parent, ast.JoinedStr) and parent.values[0] is not node) or (
            isinstance(parent, ast.BinOp) and parent.right is node
        )
        if not continues and (concern := paths.of_concern(text)) is not None:
            words, danger = concern
            self._flag(node, "path-outside", "danger" if danger else "note", words)
        if text in INTERPRETER_ATTRIBUTES:
            self._flag(node, "introspection", "danger", "Names a part of the interpreter that runs it", text)
        if CODE_IN_TEXT.search(text):
            self._flag(node, "dynamic-code", "danger", "Holds code in a text, where it cannot be followed", text[:40])
        if re.match(r"\s*(?:python[\d.]* -m )?pip3? +install\b", text):
            self._flag(node, "installation", "danger", "Installs packages", text[:40])


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _looks_like_a_path(path: str, function: str) -> bool:
    if function in ("mkdir", "makedirs"):
        return True
    return re.fullmatch(r"[^\n{}<>|\"]*(?:/[^\n{}<>|\"]*|\.[A-Za-z]\w{0,8})", path) is not None
