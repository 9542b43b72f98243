"""Sources that code reads beside its arguments: variables, files, programs, networks.

A store knows results by the code and the values that determine them. What code fetches while it
runs is one of these, too: a variable or a file whose name can be worked out beforehand belongs to
the identity. What cannot be worked out, such as a file whose name is an argument, is named as
*unseen*, and nothing is kept of what hangs on it. The clock and the place where a program runs
differ from one run to the next: they are *left out* of the identity, by name.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path, PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import dpaudit.store.readers as known
from dpaudit.store.values import (
    FAILS,
    UNKNOWN,
    ExpressionEvaluator,
    ImportSymbol,
    bound_by,
    constants,
    is_environment,
    is_of_environment,
    nodes_of,
    parse_source,
    split_module_pieces,
)

_LONGEST = 1024  # letters of a path
_LARGEST = 2**30  # bytes of a file whose content is looked at
_OF_ENVIRONMENT = {"get", "setdefault", "pop", "__getitem__"}
_WRITES = {"update", "__setitem__", "__delitem__", "clear", "putenv"}


class Reads(NamedTuple):
    """The variables and files that code reads, by name, with unseen reads and those left out.

    ``by_name`` says that the code works out the names of what it calls; ``imports`` are modules
    that it imports while it runs.
    """

    by_name: bool = False
    variables: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()


def reads_of(function: FunctionType) -> Reads:
    """Return the reads of a function's own code.

    Examples
    --------
    >>> NAME = "SCALE"
    >>> def noisy(x):
    ...     return x + float(os.environ[NAME])
    >>> sorted(reads_of(noisy).variables)
    ['SCALE']
    """
    code = function.__code__
    scope = dict(function.__globals__) | _get_closure_values(function)
    where = f"{function.__module__}.{function.__qualname__}"
    nodes = nodes_of(code)
    if nodes:
        return join_reads(_FunctionReader(where, scope, node).found() for node in nodes)
    return _guess_code_reads(code, scope, where)


def reads_in(path: Path, module: str) -> Reads:
    """Return the reads of all code of a file, that of its functions too."""
    try:
        tree = parse_source(path.read_bytes())
    except OSError:
        return Reads(unseen=frozenset({f"{path.name}, which cannot be read"}))
    loaded = vars(sys.modules[module]) if module in sys.modules else {}
    scope = {"__file__": str(path), **constants(tree), **loaded}
    parts = (
        _FunctionReader(f"{module} ({path.name})", scope, node).found()
        for node in split_module_pieces(tree)
    )
    return join_reads(parts)


def variables_in(path: Path) -> frozenset[str]:
    """Return the variables whose names stand in the code of a file; none where it is no code.

    Examples
    --------
    >>> variables_in(Path(os.devnull))
    frozenset()
    """
    try:
        source = path.read_bytes()
    except OSError:
        return frozenset()
    return _variables_in(source, path.name) if b"env" in source else frozenset()


@lru_cache(maxsize=1024)
def _variables_in(source: bytes, name: str) -> frozenset[str]:
    tree = parse_source(source)
    scope = constants(tree)
    return join_reads(
        _FunctionReader(name, scope, node).found() for node in split_module_pieces(tree)
    ).variables


def join_reads(found: Iterable[Reads]) -> Reads:
    """Return the joint reads of several pieces of code."""
    parts = list(found)
    sets = [frozenset().union(*one) for one in zip(*(one[1:] for one in parts), strict=True)]
    return Reads(any(one.by_name for one in parts), *sets)


def _get_closure_values(function: FunctionType) -> dict[str, Any]:
    found = {}
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            found[name] = UNKNOWN
    return found


class _FunctionReader:
    """Reads one function, or the code outside functions.

    Parameters
    ----------
    where
        Whose code it is, for people.
    scope
        What its names stand for outside.
    node
        Its source.
    """

    def __init__(self, where: str, scope: Mapping[str, Any], node: ast.AST) -> None:
        self.where, self.node, self.nodes = where, node, list(ast.walk(node))
        self.values = ExpressionEvaluator(
            {**scope, **dict.fromkeys(_generate_parameter_names(self.nodes), UNKNOWN)}
        )
        self.values.scope = {**self.values.scope, **self._locals()}
        self.variables, self.files = set[str](), set[str]()
        self.unseen, self.left_out = set[str](), set[str]()
        self.imports, self.by_name = set[str](), False
        self._understood: set[int] = set()
        self._called = {id(one.func) for one in self.nodes if isinstance(one, ast.Call)}

    def _locals(self) -> dict[str, Any]:
        """Return the values of local names that are bound once."""
        if isinstance(self.node, ast.Module):  # its names are those of the scope
            return {}
        bound = [pair for node in self.nodes for pair in bound_by(node)]
        stored = [n.id for n in self.nodes if isinstance(n, ast.Name) and not _is_read(n)]
        found: dict[str, Any] = {name: UNKNOWN for name in stored}
        for name, value in bound:
            # A name that is bound more than once stands for several values, of which reading does
            # not tell the one.
            if stored.count(name) <= 1:
                inner = ExpressionEvaluator({**self.values.scope, **found})
                found[name] = inner.of(value) if isinstance(value, ast.AST) else value
        return found

    def found(self) -> Reads:
        """Return the reads."""
        for node in self.nodes:
            self._look_at(node)
        for node in self.nodes:
            self._look_for_the_environment(node)
        sets = (self.variables, self.files, self.unseen, self.left_out, self.imports)
        return Reads(self.by_name, *map(frozenset, sets))

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Subscript(value=base, slice=key) if is_environment(self.values.of(base)):
                self._understood.add(id(base))
                if isinstance(node.ctx, ast.Load):
                    self._variable(self.values.of(key))
            case ast.Compare(left=left, comparators=[other]) if is_environment(
                self.values.of(other)
            ):
                self._understood.add(id(other))
                self._variable(self.values.of(left))
            case ast.Assign(targets=[ast.Name()], value=value):
                self._understood.add(id(value))
            case ast.Subscript(value=base, slice=key) if self.values.of(base) is sys.modules:
                if self.values.of(key) != self.values.scope.get("__name__"):
                    self._hide("modules that it looks up")
            case ast.Import(names=names):
                self.imports |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                home = self._absolute(f"{'.' * level}{module or ''}")
                self.imports |= {home, *(f"{home}.{alias.name}" for alias in names)}
            case ast.Call():
                self._call(node)
            case ast.Attribute(value=base, attr="__dict__" | "__globals__" as attr):
                self.by_name |= attr == "__globals__" or isinstance(
                    self.values.of(base), ModuleType
                )
            case ast.Attribute():
                self._of_program(self._name_of(node))

    def _absolute(self, name: str) -> str:
        """Return the whole name of a module, as this code calls it."""
        rest = name.lstrip(".")
        home = str(self.values.scope.get("__package__") or "").split(".")
        kept = home[: len(home) - (len(name) - len(rest)) + 1]
        return ".".join([*kept, *([rest] if rest else [])]) if name != rest else name

    def _of_program(self, name: str) -> None:
        """Note names that belong to the whole program."""
        match name:
            case "sys.modules":
                self.by_name = True
            case "sys.argv":
                self._hide("the words of the command")
            case "sys.path":
                self._hide("folders that modules are looked for in")
            case "sys.stdin":
                self._hide("what is typed in")
            case "sys.flags":
                self.left_out.add(f"how Python was started ({self.where})")

    def _call(self, node: ast.Call) -> None:
        func, target = node.func, self.values.of(node.func)
        if isinstance(func, ast.Attribute) and is_environment(self.values.of(func.value)):
            self._understood.add(id(func.value))
            self._of_environment(func.attr, node)
        elif is_of_environment(target):
            self._of_environment(target.__name__, node)
        elif target in (os.getenv, getattr(os, "getenvb", os.getenv)):
            self._variable(self._argument(node, 0, "key"))
        elif isinstance(target, partial):
            self._of_partial(target, node)
        else:
            self._note_named_call(self._name_of(func), node)
            self._look_for_files(self._name_of(func), node)

    def _of_partial(self, target: Any, node: ast.Call) -> None:
        """Look at a call of a function that has some of its arguments already."""
        name = f"{target.func.__module__}.{getattr(target.func, '__qualname__', '')}"
        if name in known.READERS:
            self._file(target.args[0] if target.args else self._argument(node, 0, "file"), "r")
        else:
            self._note_named_call(name, node)

    def _look_for_files(self, name: str, node: ast.Call) -> None:
        """Take note of files that stand among the arguments of a call, whoever reads them."""
        if known.MAKES.match(name.rpartition(".")[2]) or (
            name in known.READERS and not self._reads(node)
        ):
            return
        for one in (*node.args, *(given.value for given in node.keywords)):
            value = self.values.of(one)
            if isinstance(value, str | PurePath) and 0 < len(str(value)) < _LONGEST:
                # The system's calls raise on a zero byte.
                if "\0" not in str(value) and os.path.isfile(value):
                    self._file(value, "r")

    def _reads(self, node: ast.Call) -> bool:
        mode = self._mode(node, 1)
        return mode[:1] not in ("w", "a", "x") or "+" in mode

    def _of_environment(self, method: str, node: ast.Call) -> None:
        if method in _OF_ENVIRONMENT:
            self._variable(self._argument(node, 0, "key"))
        elif method not in _WRITES:
            self._hide("all variables of the environment")

    def _argument(self, node: ast.Call, place: int, name: str) -> Any:
        if len(node.args) > place:
            return self.values.of(node.args[place])
        named = [one.value for one in node.keywords if one.arg == name]
        return self.values.of(named[0]) if named else UNKNOWN

    def _name_of(self, node: ast.AST) -> str:
        """Return the dotted name of the value of an expression, nothing if it is unknown."""
        if isinstance(node, ast.Attribute):
            base = self.values.of(node.value)
            if isinstance(base, ModuleType):
                return f"{base.__name__}.{node.attr}"
            if isinstance(base, type):
                return f"{base.__module__}.{base.__qualname__}.{node.attr}"
            return (
                f"{base.name}.{node.attr}" if isinstance(base, ImportSymbol) else f"?.{node.attr}"
            )
        value = self.values.of(node)
        if isinstance(value, ImportSymbol):
            return value.name
        try:
            return "" if value is UNKNOWN else known.name_of(value)
        except FAILS:
            return ""

    def _note_named_call(self, name: str, node: ast.Call) -> None:
        """Note the files, variables and clocks that a call reads, by the name of the function."""
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        if self._reads_file(name, node):
            return
        if last == "expandvars" and root in ("posixpath", "os"):
            self._note_variables(self._argument(node, 0, "path"))
        elif (last, root) in (("expanduser", "posixpath"), ("home", "pathlib")):
            self.variables.add("HOME")
        elif (unseen := self._unseen_of(name, node)) is not None:
            self._hide(unseen)
        elif name in known.MODULES:
            self.imports.add(self._absolute(str(self._argument(node, 0, "name"))))
        elif name.startswith(known.CLOCKS):
            self.left_out.add(f"the clock ({self.where})")
        elif name.startswith(known.HERE):
            self.left_out.add(f"where it runs ({self.where})")
        else:
            self.by_name |= self._asks_by_name(name, node)

    def _reads_file(self, name: str, node: ast.Call) -> bool:
        """Take note of the file that a call reads; return whether it is such a call."""
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        method = (
            node.func if name.startswith("?.") and isinstance(node.func, ast.Attribute) else None
        )
        if name.endswith("ctypeslib.load_library"):
            self._library(node)
        elif name in known.READERS - known.STREAMS or (root, last[:5]) == ("pandas", "read_"):
            self._file(self._argument(node, 0, "file"), self._mode(node, 1))
        elif method is not None and last in known.METHODS:
            path = self.values.of(method.value if not known.METHODS[last] else node.args[0])
            self._file(path, self._mode(node, 0) if last == "open" else "r")
        elif method is not None and last in known.LOOKS:
            if not node.args:
                self._file(self.values.of(method.value), "r")
        elif name == "?.read" and node.args and self._has("configparser"):
            self._file(self._argument(node, 0, "filenames"), "r")
        else:
            return False
        return True

    def _unseen_of(self, name: str, node: ast.Call) -> str | None:
        """Return the unseen cause of a call's answer, if the answer comes from elsewhere."""
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        system = root in ("os", "posix") and last.startswith(known.OF_SYSTEM)
        program = name.startswith(known.ASYNC_PROGRAMS) or root in known.PROGRAMS or system
        network = root in known.NETWORKS and not name.startswith(known.SAFE_OF_NETWORKS)
        module = name in known.MODULES and self._argument(node, 0, "name") is UNKNOWN
        kinds = {
            "what stands in a folder": name in known.FOLDERS,
            "what is typed in": name in known.TYPED,
            "what the rest of the program holds": name in known.HELD or last == "__subclasses__",
            "what another process holds": name.startswith(known.OTHERS),
            "what another program answers": program,
            "what a network answers": name.startswith(known.ASYNC_NETWORKS) or network,
            "modules whose names it works out": module,
            "code that it loads while it runs": name.startswith(known.LOADERS),
        }
        return next((what for what, holds in kinds.items() if holds), None)

    def _asks_by_name(self, name: str, node: ast.Call) -> bool:
        """Return whether a call asks for something by a name that it works out."""
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        if name == "builtins.getattr":
            return self._argument(node, 1, "") is UNKNOWN
        return name in known.GETTERS or (last in known.NAMESPACES and root == "builtins")

    def _has(self, module: str) -> bool:
        """Return whether code has the name of something of a module."""
        names = (self.values.of(one) for one in self.nodes if isinstance(one, ast.Name))
        homes = (getattr(one, "__name__", "") if isinstance(one, ModuleType)
                 else getattr(one, "__module__", "") for one in names)  # fmt: skip
        return module in homes or module in self.imports

    def _library(self, node: ast.Call) -> None:
        """Take note of a library of C that is found by its name and its folder."""
        name, folder = self._argument(node, 0, "libname"), self._argument(node, 1, "loader_path")
        if not isinstance(name, str) or not isinstance(folder, str):
            self._file(UNKNOWN, "r")
            return
        stem = os.path.join(folder, name)
        self._file(next((p for p in (stem, f"{stem}.so") if os.path.isfile(p)), stem), "r")

    def _note_variables(self, text: Any) -> None:
        """Take note of the variables that stand in a text."""
        if not isinstance(text, str):
            self._hide("variables of the environment whose names it works out")
            return
        self.variables |= {one or other for one, other in known.DOLLARS.findall(text)}

    def _mode(self, node: ast.Call, place: int) -> str:
        given = [one.value for one in node.keywords if one.arg == "mode"] or node.args[place:][:1]
        mode = self.values.of(given[0]) if given else "r"
        return mode if isinstance(mode, str) else "r"

    def _file(self, path: Any, mode: str) -> None:
        if mode[:1] in ("w", "a", "x") and "+" not in mode:
            return
        if isinstance(path, int) and not isinstance(path, bool):
            return  # of a descriptor
        if not isinstance(path, (str, bytes, PurePath)):
            self._hide("files whose names it works out")
            return
        # By the folder in which the program runs now, as opening the file would take it.
        full = os.path.abspath(os.fsdecode(path))
        if os.path.isfile(full) and os.path.getsize(full) > _LARGEST:
            self._hide(f"{os.path.basename(full)}, a file of more than 1 GiB")
        elif os.path.exists(full) and not os.path.isfile(full):
            self._hide(f"{os.path.basename(full)}, which is no plain file")
        else:
            self.files.add(full)

    def _variable(self, name: Any) -> None:
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if isinstance(name, str):
            self.variables.add(name)
        else:
            self._hide("variables of the environment whose names it works out")

    def _look_for_the_environment(self, node: ast.AST) -> None:
        """Note that all of the environment is read, where it stands in no understood place.

        So of what reads files, where it is handed on and called elsewhere.
        """
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            return
        if id(node) in self._understood or isinstance(getattr(node, "ctx", None), ast.Store):
            return
        if is_environment(self.values.of(node)):
            self._hide("all variables of the environment")
        elif id(node) not in self._called and self._name_of(node) in known.READERS - known.STREAMS:
            if not isinstance(node, ast.Call) and not isinstance(self.values.of(node), type):
                self._hide("files whose names it works out")

    def _hide(self, what: str) -> None:
        self.unseen.add(f"{what} ({self.where})")


def _is_read(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _generate_parameter_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg


# Without source


def _guess_code_reads(code: CodeType, scope: Mapping[str, Any], where: str) -> Reads:
    """Return the possible reads of code without source, by the names and texts in it."""
    names, texts = _find_code_names(code), _find_code_texts(code, scope)
    values = [scope.get(name, getattr(sys.modules["builtins"], name, None)) for name in names]
    homes = {str(one.__name__) for one in values if isinstance(one, ModuleType)}
    homes |= {str(getattr(one, "__module__", "")) for one in values}
    roots = {one.partition(".")[0] for one in homes} | names
    variables, files, unseen = set[str](), set[str](), set[str]()
    if names & {"environ", "getenv", "environb", "getenvb"} or any(map(is_environment, values)):
        variables = {one for one in texts if one.isidentifier()}
        unseen |= set() if variables else {"variables of the environment"}
    readers = {one.rpartition(".")[2] for one in known.READERS - known.STREAMS} | {*known.METHODS}
    called = (names & readers) - ({"load"} if "numpy" not in roots else set())
    if called and not any(one[:1] in ("w", "a", "x") and len(one) <= 2 for one in texts):
        files = {os.path.abspath(one) for one in texts if os.path.isfile(one)}
        unseen |= set() if files else {"files"}
    unseen |= {"what another program answers"} if roots & known.PROGRAMS else set()
    unseen |= {"what another program answers"} if {"system", "popen"} & names else set()
    unseen |= {"what a network answers"} if roots & known.NETWORKS else set()
    unseen |= {"modules"} if {"import_module", "__import__"} & names else set()
    hidden = frozenset(f"{one} ({where})" for one in unseen)
    by_name = bool(names & {*known.NAMESPACES, "getattr"})
    return Reads(by_name, frozenset(variables), frozenset(files), hidden)


def _find_code_names(code: CodeType) -> set[str]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*map(_find_code_names, inner))


def _find_code_texts(code: CodeType, scope: Mapping[str, Any]) -> set[str]:
    """Return texts in code, and those that its names stand for."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    held = [scope.get(name) for name in (*code.co_names, *code.co_freevars)]
    own = {str(one) for one in (*code.co_consts, *held) if isinstance(one, (str, PurePath))}
    return own.union(*(_find_code_texts(one, scope) for one in inner))
