"""Changes that a program made to libraries, and the settings of their arithmetic.

The content of a package says what was installed. What stands in its modules while a program runs
may be another thing: a notebook's cell sets ``numpy.random.default_rng = mine``, a script sets the
precision of `decimal`. Here it is found what no library's own code put there. Functions are known
by the file that their code is of, numbers and text by what the source says of their names.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from dpaudit._packages import is_installed, package_of
from dpaudit.store.parts import is_function
from dpaudit.store.values import FAILS, parse_source

_OURS = "dpaudit"
_MOST = 4 * 2**20  # bytes of source of a package that are compared with what stands in it
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_HELD = (dict, list, tuple, set, frozenset)
# Types of most of what stands in libraries, none of which a program can make or change.
_OF_PYTHON = {*_PLAIN, *_HELD, BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType}
_OF_PYTHON |= {MethodDescriptorType, WrapperDescriptorType}
_LONG = 1000
_STARTING = {"sitecustomize", "usercustomize"}  # installed, and nobody's library
# Of the place and the moment, or of the streams of a command.
_OF_PLACES = {"sys", "os", "posix", "time", "site", "sysconfig", "platform", "tempfile"}
_NUMBERS = (bool, int, float, complex)
_CONSTANTS = {"__debug__", "__doc__", "None", "True", "False", "Ellipsis", "NotImplemented"}
_CONSTANTS |= {"__spec__", "__loader__", "exit", "quit", "copyright", "credits", "license", "help"}
_MADE = 1 << 9  # the flag of types that code makes


def is_put(value: Any) -> bool:
    """Return whether a value that stands in a library is of somebody's own code.

    Examples
    --------
    >>> import json
    >>> is_put(json.loads), is_put(eval("lambda text: text", {}))
    (False, True)
    """
    if type(value) in _OF_PYTHON:
        return False
    if isinstance(value, FunctionType):
        return _is_own(value)
    if isinstance(value, MethodType):
        return is_put(value.__func__)
    if isinstance(value, partial):
        return is_put(value.func) or any(map(is_put, (*value.args, *value.keywords.values())))
    if isinstance(value, (staticmethod, classmethod)):
        return is_put(value.__func__)
    if isinstance(value, property):
        return any(is_put(one) for one in (value.fget, value.fset) if one is not None)
    return _is_of_own_class(value if isinstance(value, type) else type(value))


def _is_own(function: FunctionType) -> bool:
    home = str(function.__globals__.get("__name__"))
    if home.partition(".")[0] == _OURS:
        return False
    file = function.__code__.co_filename
    if file.startswith("<"):  # made of text: by a library, or by whoever has no module
        return "__name__" not in function.__globals__ or _is_own_module(home)
    return not is_installed(file) or package_of(file) in _STARTING


@lru_cache(maxsize=4096)
def _is_own_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__":  # a library's where it is run by -m, as in worker processes
        return file is None or not is_installed(file)
    return file is not None and not is_installed(file)


def _is_of_own_class(kind: type) -> bool:
    home = kind.__module__ if isinstance(kind.__module__, str) else ""
    if home == "builtins" and kind.__flags__ & _MADE:  # of text that has no module
        return any(map(is_function, list(vars(kind).values())))
    if home.partition(".")[0] in (_OURS, "builtins", ""):
        return False
    return _is_own_module(home)


def get_library_values(library: ModuleType, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of these names in a library, as code would find them there.

    Examples
    --------
    >>> import json
    >>> sorted(get_library_values(json, ["loads", "nothing of the kind"]))
    ['loads']
    """
    if library.__name__ in _OF_PLACES:
        return {}
    held = vars(library)
    found = {name: held[name] for name in names if name in held}
    if "__getattr__" in held:  # of one that imports its parts when they are asked for
        for name in set(names).difference(found).intersection(dir(library)):
            with suppress(Exception):
                found[name] = getattr(library, name)
    return found


def is_library_value_inspected(value: Any, library: ModuleType) -> bool:
    """Return whether a value of a library is looked at: somebody's own, and numbers."""
    of_package = package_of(getattr(library, "__file__", None) or "") is not None
    return isinstance(value, (partial, *(_PLAIN if of_package else _NUMBERS))) or is_put(value)


def format_library_signature(value: Any) -> str:
    """Return the signature of a library's own function or class."""
    own = [getattr(value, name, "") for name in ("__module__", "__qualname__", "__name__")]
    return repr([type(value).__module__, type(value).__qualname__, *map(str, own)])


def is_replaced(name: str) -> bool:
    """Return whether a name among the builtins stands for another thing than Python's.

    Examples
    --------
    >>> is_replaced("abs"), is_replaced("ValueError"), is_replaced("True")
    (False, False, False)
    """
    one = vars(builtins)[name]
    if isinstance(one, (type, BuiltinFunctionType)):
        return one.__name__ != name and one is not OSError
    return isinstance(one, FunctionType) or name not in _CONSTANTS


def put_into_libraries() -> Iterator[tuple[str, Any]]:
    """Yield by name the values of somebody's own code in libraries' modules and classes.

    Examples
    --------
    >>> import colorsys
    >>> kept = colorsys.rgb_to_hsv
    >>> exec("colorsys.rgb_to_hsv = lambda *of: of", {"colorsys": colorsys})
    >>> [name for name, _ in put_into_libraries() if name.startswith("colorsys")]
    ['colorsys.rgb_to_hsv']
    >>> colorsys.rgb_to_hsv = kept
    >>> [name for name, _ in put_into_libraries() if name.startswith("colorsys")]
    []
    """
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and _is_library(name, module):
            yield from _put_into(name, vars(module))


def _is_library(name: str, module: ModuleType) -> bool:
    top = name.partition(".")[0]
    if top in (_OURS, "__main__") or top in _STARTING:
        return False
    file = getattr(module, "__file__", None)
    return top in sys.stdlib_module_names if file is None else is_installed(file)


def _put_into(name: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for inner, one in list(namespace.items()):
        if inner.startswith("__") or isinstance(one, ModuleType):
            continue
        if (held := _list_short_entries(one)) is not None:
            yield from ((f"{name}.{inner}", each) for each in held if is_put(each))
        elif is_put(one):
            yield f"{name}.{inner}", one
        elif isinstance(one, type) and one.__module__ == name:
            own = ((n, each) for n, each in list(vars(one).items()) if n != "__dict__")
            yield from ((f"{name}.{inner}.{n}", each) for n, each in own if is_put(each))


def _list_short_entries(one: Any) -> list[Any] | None:
    """Return the entries of a table, unless it is long; its own methods are not called.

    Examples
    --------
    >>> class Lazy(tuple):
    ...     def __iter__(self):
    ...         raise RuntimeError("starts a program")
    >>> _list_short_entries(Lazy([1, 2])), _list_short_entries({"a": 3}), _list_short_entries("ab")
    ([1, 2], [3], None)
    """
    base: Any
    # Methods of the built-in type, on its own data: a subclass of a library may start programs or
    # read files when it is asked.
    for base in _HELD:
        if issubclass(type(one), base) and base.__len__(one) < _LONG:
            return list(dict.values(one) if base is dict else base.__iter__(one))
    return None


# Numbers


def find_changed_values(package: str) -> Iterator[tuple[str, Any]]:
    """Yield numbers, text and defaults of a package's modules that differ from its source.

    Of a package whose loaded modules have more than 4 MiB of source nothing is compared.

    Examples
    --------
    >>> import json.decoder
    >>> list(find_changed_values("json"))
    []
    """
    loaded = [
        (name, module, Path(file))
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == package
        and str(file := getattr(module, "__file__", None) or "").endswith(".py")
    ]
    if sum(map(_get_source_size, (file for _, _, file in loaded))) > _MOST:
        return
    for name, module, file in loaded:
        yield from _find_changed_statements(
            name, parse_source(_read_module_source(file)).body, vars(module)
        )


def _get_source_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _read_module_source(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _find_changed_statements(
    name: str, body: Iterable[ast.stmt], held: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    statements = list(body)
    for inner, node in _find_single_statements(statements).items():
        one = held.get(inner)
        match node:
            case ast.ClassDef(body=own) if isinstance(one, type):
                yield from _find_changed_statements(f"{name}.{inner}", own, vars(one))
            case ast.FunctionDef():
                yield from _find_changed_defaults(f"{name}.{inner}", node, one)
            case ast.expr() if isinstance(one, (*_PLAIN, *_HELD)):
                if _is_value_changed(node, one):
                    yield f"{name}.{inner}", one


def _find_single_statements(body: Iterable[ast.stmt]) -> dict[str, ast.AST]:
    """Return the statements of a body that define its names once."""
    found, seen = dict[str, ast.AST](), list[str]()
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = node
            case _:
                seen += [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
                continue
        seen.append(name)
    # A name that is bound twice has the value of one of its statements, and reading does not tell
    # of which.
    return {name: node for name, node in found.items() if seen.count(name) == 1}


def _find_changed_defaults(
    name: str, node: ast.FunctionDef, value: Any
) -> Iterator[tuple[str, Any]]:
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if not isinstance(function, FunctionType):
        return
    if function.__code__.co_filename.startswith("<") and not node.decorator_list:
        yield f"{name}, of text", function.__code__
    if function.__code__.co_name == node.name and _has_other_defaults(node.args, function):
        yield f"{name}()", (function.__defaults__, function.__kwdefaults__)


def _has_other_defaults(said: ast.arguments, function: FunctionType) -> bool:
    given, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    kept = zip(said.kwonlyargs, said.kw_defaults, strict=True)
    pairs = [(one, named.get(argument.arg)) for argument, one in kept if one is not None]
    pairs += zip(said.defaults, given, strict=False)
    return len(given) != len(said.defaults) or any(_is_value_changed(*pair) for pair in pairs)


def _is_value_changed(node: ast.expr, value: Any) -> bool:
    """Return whether a value is another one than source says in plain words."""
    try:
        said = ast.literal_eval(node)
    except (*FAILS, SyntaxError, MemoryError):
        return False
    if isinstance(said, _HELD) and not said:  # it is there to be filled
        return False
    # The types first: True equals 1, and 1 equals 1.0.
    return type(said) is not type(value) or bool(said != value)


# Settings


def settings_in_force(packages: Iterable[str] = ()) -> list[tuple[str, Any]]:
    """Return the settings by which numbers are worked out and written, where they are others.

    Examples
    --------
    >>> import decimal
    >>> with decimal.localcontext(prec=3):
    ...     "decimal" in dict(settings_in_force())
    True
    >>> "decimal" in dict(settings_in_force())
    False
    """
    found = [(name, read()) for name, read in _SETTINGS.items() if name in sys.modules]
    unusual = [(name, one) for name, one in found if one != _USUAL.get(name)]
    return unusual + [one for name in sorted(packages) for one in _of_package(name)]


def _of_decimals() -> Any:
    import decimal

    contexts = decimal.getcontext(), decimal.DefaultContext
    return [_of_context(one) for one in contexts]


def _of_context(context: Any) -> Any:
    traps = sorted(kind.__name__ for kind, caught in context.traps.items() if caught)
    plain = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
    return [*(getattr(context, name) for name in plain), traps]


def _of_arrays() -> Any:
    import numpy as np

    formats = {name: str(one) for name, one in np.get_printoptions().items()}
    return sorted(np.geterr().items()), sorted(formats.items()), np.geterrcall() is None


def _of_digits() -> Any:
    return sys.modules["mpmath"].mp.prec, sys.modules["mpmath"].iv.prec


def _of_place() -> Any:
    import locale

    return [locale.setlocale(one) for one in (locale.LC_NUMERIC, locale.LC_COLLATE)]


def _of_warnings() -> Any:
    import warnings

    return [(str(one[2]), str(one[1])) for one in warnings.filters if one[0] == "error"]


def _of_numbers() -> Any:
    return sys.get_int_max_str_digits()


_SETTINGS = {
    "decimal": _of_decimals,
    "numpy": _of_arrays,
    "mpmath": _of_digits,
    "locale": _of_place,
    "sys": _of_numbers,
    "warnings": _of_warnings,
}
_TRAPPED = ["DivisionByZero", "InvalidOperation", "Overflow"]
_USUAL: dict[str, Any] = {
    "decimal": [[28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0, _TRAPPED]] * 2,
    "mpmath": (53, 53),
    "locale": ["C", "C"],
    "sys": 4300,
    "warnings": [],
}


def _of_package(name: str) -> Iterator[tuple[str, str]]:
    """Yield settings of a package that code names."""
    module = sys.modules.get(name)
    for asked in _ASKED.get(name, ()):
        one: Any = module
        for part in asked.split("."):
            one = getattr(one, part, None)
        if one is not None:
            yield f"{name}.{asked}", str(one() if callable(one) else one)


_ASKED = {
    "torch": (
        *("get_default_dtype", "are_deterministic_algorithms_enabled"),
        "get_float32_matmul_precision",
    ),
    "jax": ("config.jax_enable_x64", "config.jax_default_matmul_precision"),
    "sklearn": ("get_config",),
}
