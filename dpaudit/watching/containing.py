"""Whether values that a module computes while it is imported stay in names of its own.

An import can put what it read anywhere: on a module or a class of a library, among the builtins,
into a registry, a cache, a default, a context variable. There are more such places than anybody
lists. So the source has to show that an import only gives values to names of its module, by calls
that are known to keep nothing. A source that shows anything else may have put noise where no look
at the code of a mechanism finds it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import outside

if TYPE_CHECKING:
    Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls that keep nothing of what they are given: they read, or make a value.
_KEEP_NOTHING = frozenset(
    "open read readline readlines read_text read_bytes load loads loadtxt genfromtxt fromfile "
    "read_csv read_json read_parquet safe_load literal_eval getenv get environ Path joinpath "
    "with_name with_suffix resolve absolute expanduser dirname join abspath bool int float "
    "complex str bytes list tuple dict set frozenset array asarray Decimal len sum min max abs "
    "round sorted zip enumerate range strip split splitlines decode encode items keys values copy "
    "format lower upper sqrt log exp zeros ones arange default_rng compile TypeVar namedtuple "
    "Fraction date fromhex from_bytes hexdigest digest Random local isinstance issubclass hasattr "
    "callable id repr hash ord chr hex oct bin next any all attrgetter itemgetter divmod pow "
    "slice reversed bytearray memoryview splitext basename exists is_file is_dir NewType "
    "ParamSpec cast dataclass field make_dataclass deque OrderedDict Counter ChainMap Lock RLock "
    "Event Semaphore timedelta datetime time UUID SimpleNamespace MappingProxyType timezone "
    "ZoneInfo full linspace eye mean std reshape cumsum astype tolist title replace".split()
)
# Calls that set something of a library: what is written in the source is no noise.
_SET = frozenset(
    "basicConfig getLogger setLevel addHandler NullHandler captureWarnings filterwarnings "
    "simplefilter set_printoptions seterr set_option use setrecursionlimit ArgumentParser "
    "add_argument setdefaulttimeout set_num_threads set_start_method print".split()
)
_PLAIN = frozenset("object ABC NamedTuple TypedDict Protocol Generic Enum IntEnum StrEnum".split())
_WRAP = frozenset("lru_cache cache wraps partial map filter reduce".split())
_CALLED_BACK = frozenset("key default default_factory object_hook object_pairs_hook hook".split())
_CHANGE_THEIR_OWN = frozenset("append extend insert add update setdefault sort".split())
_DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_AT_MAKING = frozenset(("__init_subclass__", "__set_name__", "__prepare__"))
_HARMLESS = (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Break)
_SCRIPT_TESTS = ("__name__ == '__main__'", "'__main__' == __name__")
# From Python 3.10 on there are matches; the types of Python 3.9 are no unions.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MATCHES = (getattr(ast, name, ast.ExceptHandler) for name in ("MatchAs", "MatchStar"))
_NAMING: Any = (ast.ExceptHandler, *_MATCHES)
_CASE: Any = getattr(ast, "match_case", ())


def imports_contain(own: Container[str], before: Iterable[str] = ()) -> bool:
    """Return whether every module of the user's shows that its import keeps values to itself.

    Parameters
    ----------
    own
        The top-level packages of a mechanism, which count wherever they are installed.
    before
        Modules that do not count: they had been imported earlier.
    """
    known = set(before)
    modules = [one for name, one in list(sys.modules.items()) if name not in known]
    return all(_contains(one) for one in modules if _counts(one, own))


def _counts(module: ModuleType, own: Container[str]) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return False
    if module.__name__.partition(".")[0] in own:
        return True
    return outside.place_of(file) == "user"


def _contains(module: ModuleType) -> bool:
    return contains(str(module.__file__), vars(module))


def contains(file: str, space: Mapping[str, Any]) -> bool:
    """Return whether a source shows that its import gives values to its own names alone.

    Parameters
    ----------
    file
        Of the source.
    space
        The names that the import gave values.
    """
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):  # compiled, or not there
        return False
    return _Module(tree, space).keeps_to_itself()


def _is_elsewhere(value: Any) -> bool:
    """Return whether a value is a module of the user's, or a function or class in one."""
    if isinstance(value, ModuleType):
        return outside.place_of(getattr(value, "__file__", None) or "") == "user"
    home = _module_of(value)
    return home is not None and _is_elsewhere(home)


def _module_of(value: Any) -> ModuleType | None:
    name = getattr(value, "__module__", None)
    return sys.modules.get(name) if isinstance(name, str) else None


class _Module:
    """A source: the names that it gives containers, and the functions and classes that it has.

    Parameters
    ----------
    tree
        Of the source.
    space
        The names that its import gave values.
    """

    def __init__(self, tree: ast.Module, space: Mapping[str, Any]) -> None:
        self.tree, self.space = tree, space
        self.home = str(space.get("__name__") or "").partition(".")[0]
        self.defined = {
            one.name: one for one in tree.body if isinstance(one, (*_FUNCTIONS, ast.ClassDef))
        }
        self.looked_at = set[str]()
        self.own = _containers(tree)
        self.names = _names(tree)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
        self.modules = {one.asname or one.name for node in imports for one in node.names}
        self.methods = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]

    def keeps_to_itself(self) -> bool:
        """Return whether all that runs in an import keeps values to names of the module."""
        return self._block(self.tree.body, self.own)

    def _block(self, body: Iterable[ast.stmt], own: frozenset[str]) -> bool:
        return all(self._statement(one, own) for one in body)

    def _statement(self, one: ast.stmt, own: frozenset[str]) -> bool:
        if isinstance(one, (*_HARMLESS, ast.Continue)):
            return True
        if isinstance(one, _FUNCTIONS):
            return self._definition(one)
        if isinstance(one, ast.ClassDef):
            return self._class(one, own)
        targets = (node for node in _targets(one))
        blocks = _blocks(one)
        if isinstance(one, ast.If) and self._is_script(one.test):
            blocks = iter([one.orelse])
        return (
            all(_is_own(target, own) for target in targets)
            and all(self._expression(value, own) for value in _expressions(one))
            and all(self._block(inner, own) for inner in blocks)
        )

    def _is_script(self, test: ast.expr) -> bool:
        """Return whether a test holds in a script, and never in an import."""
        return ast.unparse(test) in _SCRIPT_TESTS and "__name__" not in self.names

    def _definition(self, one: Function) -> bool:
        """Return whether making a function runs nothing that keeps values."""
        given = [*one.args.defaults, *(value for value in one.args.kw_defaults if value)]
        none = frozenset[str]()
        return (
            all(self._expression(value, none) for value in given)
            and all(map(self._annotation, _annotations(one)))
            and all(map(self._decorator, one.decorator_list))
        )

    def _annotation(self, one: ast.expr) -> bool:
        """Return whether an annotation takes nothing that was worked out."""
        return self._expression(one, frozenset()) or all(map(self._is_as_written, _calls(one)))

    def _decorator(self, one: ast.expr) -> bool:
        """Return whether a decorator is a library's, and takes nothing that was worked out."""
        named = one.func if isinstance(one, ast.Call) else one
        root = next((node.id for node in ast.walk(named) if isinstance(node, ast.Name)), "")
        return all(map(self._is_as_written, _calls(one))) and self._runs(root)

    def _class(self, one: ast.ClassDef, own: frozenset[str]) -> bool:
        hooks = any(isinstance(node, _FUNCTIONS) and node.name in _AT_MAKING for node in one.body)
        bare = (
            not one.keywords
            and not hooks
            and (self._are_plain(one.bases) or _works_nothing_out(one))
        )
        made = all(self._expression(base, own) for base in one.bases)
        decorated = all(map(self._decorator, one.decorator_list))
        return bare and made and decorated and self._block(one.body, own)

    def _are_plain(self, bases: Iterable[ast.expr]) -> bool:
        """Return whether classes do nothing when another one is made of them."""
        names = (one.value if isinstance(one, ast.Subscript) else one for one in bases)
        return all(
            (isinstance(one, ast.Name) and one.id in self.defined)
            or self._name(one) in _PLAIN
            or self._name(one).endswith(("Error", "Exception", "Warning"))
            for one in names
        )

    def _expression(self, value: ast.expr, own: frozenset[str]) -> bool:
        loops = (node for node in ast.walk(value) if isinstance(node, ast.comprehension))
        return all(_is_own(one.target, own) for one in loops) and all(
            self._call(one, own) for one in _calls(value)
        )

    def _call(self, one: ast.Call, own: frozenset[str]) -> bool:
        if not all(self._given(key) for key in one.keywords):
            return False
        if isinstance(one.func, ast.Call):  # of what wraps a function
            return self._name(one.func.func) in _WRAP - {"partial"} and self._wraps(one)
        name = self._name(one.func)
        if isinstance(one.func, ast.Name):
            if not self._runs(one.func.id):
                return False
            return one.func.id in self.defined or self._keeps_nothing(name, one)
        if not isinstance(one.func, ast.Attribute) or self._is_of_another(one.func):
            return False
        if name in _CHANGE_THEIR_OWN:
            return isinstance(one.func.value, ast.Name) and one.func.value.id in own
        # A context variable has a `set`.
        return name != "set" and self._method(name) and self._keeps_nothing(name, one)

    def _keeps_nothing(self, name: str, one: ast.Call) -> bool:
        """Return whether a call of something of a library keeps nothing but written values."""
        if name in _SET:
            return self._is_as_written(one)
        return self._wraps(one) if name in _WRAP else name in _KEEP_NOTHING

    def _name(self, called: ast.expr) -> str:
        """Return the name that a function has where it comes from; none if nobody can say it."""
        if isinstance(called, ast.Name):
            return self.names.get(called.id, called.id)
        return called.attr if isinstance(called, ast.Attribute) else ""

    def _wraps(self, one: ast.Call) -> bool:
        """Return whether the argument that a function may call is known to keep nothing."""
        return all(self._is_known(value) for value in one.args[:1])

    def _given(self, key: ast.keyword) -> bool:
        """Return whether an argument is no function, or one that is known to keep nothing."""
        return key.arg not in _CALLED_BACK or self._is_known(key.value)

    def _is_known(self, value: ast.expr) -> bool:
        if isinstance(value, (ast.Constant, ast.Lambda, ast.Call)):  # looked at by themselves
            return True
        if isinstance(value, ast.Name) and value.id in self.defined:
            return self._runs(value.id)
        return self._name(value) in _KEEP_NOTHING

    def _is_as_written(self, one: ast.Call) -> bool:
        """Return whether all that a call is given stands in the source."""
        return all(map(self._stands_there, (*one.args, *(key.value for key in one.keywords))))

    def _stands_there(self, value: ast.expr) -> bool:
        """Return whether an expression is a constant, or one of a library such as INFO."""
        if isinstance(value, ast.Name):
            builtin = value.id not in self.names and value.id not in self.defined
            known = value.id in _KEEP_NOTHING or value.id.startswith("__")
            return builtin and (known or value.id.endswith(("Warning", "Error")))
        if isinstance(value, ast.Attribute):
            of = value.value.id if isinstance(value.value, ast.Name) else ""
            return of in self.modules and not self._is_elsewhere(self.space.get(of))
        if isinstance(value, ast.Call):
            return self._name(value.func) in _SET and self._is_as_written(value)
        inner = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
        return isinstance(value, ast.Constant) or (
            bool(inner) and all(map(self._stands_there, inner))
        )

    def _method(self, name: str) -> bool:
        """Return whether classes of the module that have such a method keep nothing by it."""
        bodies = [one for held in self.methods for one in held.body]
        if any(isinstance(one, ast.Assign) and name in _find_assigned_names(one) for one in bodies):
            return False
        found = [one for one in bodies if isinstance(one, _FUNCTIONS) and one.name == name]
        if not found or f".{name}" in self.looked_at:
            return True
        self.looked_at.add(f".{name}")
        return all(self._body(one) for one in found)

    def _is_of_another(self, called: ast.Attribute) -> bool:
        """Return whether a call is of a member of another module of the user's."""
        names = (node.id for node in ast.walk(called.value) if isinstance(node, ast.Name))
        held = (self.space.get(name) for name in names if name not in self.defined)
        return any(isinstance(one, (ModuleType, type)) and self._is_elsewhere(one) for one in held)

    def _is_elsewhere(self, value: Any) -> bool:
        """Return whether a value is of the user's, or of another module of an installed package."""
        module = value if isinstance(value, ModuleType) else _module_of(value)
        ours = module is not None and module.__name__.partition(".")[0] == self.home
        return ours or _is_elsewhere(value)

    def _runs(self, name: str) -> bool:
        """Return whether a function or class of the module keeps its arguments."""
        found = self.defined.get(name)
        if found is None:
            return not self._is_elsewhere(self.space.get(name))
        # A function that calls itself, or another that calls it, is looked at once: it is
        # judged by what it does beside that.
        if name in self.looked_at:
            return True
        self.looked_at.add(name)
        return all(map(self._body, [found] if isinstance(found, _FUNCTIONS) else _functions(found)))

    def _body(self, one: Function) -> bool:
        """Return whether the body of a function keeps nothing but in names of the module."""
        bound = {arg.arg for arg in ast.walk(one) if isinstance(arg, ast.arg)}
        return self._block(one.body, _containers(one) | (self.own - bound) | {"self"})


def _works_nothing_out(made: ast.ClassDef) -> bool:
    """Return whether nothing is worked out in the body of a class."""
    values = (value for one in made.body for value in _expressions(one))
    return not any(isinstance(node, ast.Call) for value in values for node in ast.walk(value))


def _names(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module gives to things, with those which they have elsewhere.

    What comes of anything but an import has none: nobody knows what is called by it.
    """
    found = dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            whole = isinstance(node, ast.Import)
            found |= {one.asname or one.name: "" if whole else one.name for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = ""
        elif isinstance(node, ast.arg):
            found[node.arg] = ""
        elif isinstance(node, _NAMING) and node.name:
            found[node.name] = ""
    return found


def _find_assigned_names(one: ast.Assign) -> set[str]:
    return {node.id for node in ast.walk(one) if isinstance(node, ast.Name)}


def _functions(found: ast.ClassDef) -> list[Function]:
    return [one for one in found.body if isinstance(one, _FUNCTIONS)]


def _containers(scope: ast.Module | Function) -> frozenset[str]:
    """Return the names of a scope that hold containers which are written there, and no other."""
    given, others = set[str](), set[str]()
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            held = given if isinstance(node.value, _DISPLAYS) else others
            held.update(one.id for one in _targets(node) if isinstance(one, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            others.update((one.asname or one.name).partition(".")[0] for one in node.names)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.withitem, ast.NamedExpr, ast.arg)):
            others.update(_bound(node))
    return frozenset(given - others)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a loop, a `with`, an expression or a parameter binds."""
    if isinstance(node, ast.arg):
        yield node.arg
        return
    target = node.optional_vars if isinstance(node, ast.withitem) else getattr(node, "target", None)
    for one in ast.walk(target) if target is not None else ():
        if isinstance(one, ast.Name):
            yield one.id


def _is_own(target: ast.expr, own: frozenset[str]) -> bool:
    """Return whether the target of a value is a name, or a part of a container of the module's."""
    if isinstance(target, ast.Name):
        return True
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(_is_own(one, own) for one in target.elts)
    if isinstance(target, ast.Starred):
        return _is_own(target.value, own)
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        return isinstance(target.value, ast.Name) and target.value.id in own
    return False


def _targets(one: ast.stmt) -> Iterator[ast.expr]:
    """Yield the targets of a statement; one that is changed in place has to be a container."""
    if isinstance(one, (ast.Assign, ast.Delete)):
        yield from one.targets
    elif isinstance(one, (ast.AnnAssign, ast.For, ast.AsyncFor)):
        yield one.target
    elif isinstance(one, ast.AugAssign):
        # A list that is added to changes in place, and may be another module's; the form of an
        # attribute makes `_is_own` ask for a container of this module.
        yield ast.Attribute(one.target, "", ast.Store())
    elif isinstance(one, (ast.With, ast.AsyncWith)):
        yield from (item.optional_vars for item in one.items if item.optional_vars)


def _expressions(one: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement, without those of the statements in it."""
    for node in ast.iter_child_nodes(one):
        if isinstance(node, ast.expr):
            yield node
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield node.type
        elif isinstance(node, ast.withitem):
            yield node.context_expr
        elif isinstance(node, _CASE) and node.guard is not None:
            yield node.guard


def _blocks(one: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the statements in a statement."""
    for name in ("body", "orelse", "finalbody"):
        yield list(getattr(one, name, ()))
    for inner in (*getattr(one, "handlers", ()), *getattr(one, "cases", ())):
        yield inner.body


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    return (node for node in ast.walk(value) if isinstance(node, ast.Call))


def _annotations(one: Function) -> Iterator[ast.expr]:
    """Yield the annotations of a function: they are worked out where it is made."""
    arguments = [node.annotation for node in ast.walk(one.args) if isinstance(node, ast.arg)]
    return (value for value in (*arguments, one.returns) if value is not None)
