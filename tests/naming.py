"""How the house names things: functions by a verb and an object, classes and constants once each.

Each rule is a function from the modules of one package to its complaints. A share may be small
where none would be a fight against mathematics: ``closed_form`` is a noun, and so is ``seed``.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

MOST_PARTICIPLES = 0.04
MOST_SINGLE_WORDS = 0.45
FEWEST_VERBS = 0.30
MOST_SHARED_NAMES = 0.12
TERMS = {
    "Claimed": "one of the three numbers of every result, and a name in the report's schema",
    "Measured": "as Claimed",
    "ModelBased": "a name in the report's schema",
    "Proved": "as Claimed",
    "Refuted": "pytest prints it before the words, like its own Failed",
    "Taken": "a name in the report's schema",
    "correlated": "installed entry points name the module",
    "learned": "as correlated",
}
"""Names that end in a participle all the same, each with its reason."""

_IRREGULAR = frozenset(
    "begun built chosen done drawn driven found given going gone having held hidden kept known "
    "laid left lost made met paid said seen sent shown spent taken told written".split()
)
_VAGUE = frozenset("alone beside looks places point thing things".split())
_ADVERBS = frozenset("apart around beyond elsewhere together".split())
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_ERRORS = ("Error", "Exception", "Interrupt", "Warning")
_NO_PARTICIPLES = frozenset("embed exceed feed need proceed red seed speed".split())
_VERBS = frozenset(
    "add aggregate append apply assert audit bisect bound build calibrate call certify check "
    "choose clip close collect combine compare compile compose compute confirm convert copy "
    "count create decide decode describe draw drop enclose encode estimate evaluate explain "
    "extract fetch fill find fit fold follow format from get group guess handle has hash is "
    "join judge keep limit list load locate log make mark match maximise measure merge minimise "
    "move multiply name normalise note observe open order pack parse place plan play prepare "
    "project prove read record refine refuse register reject remove render replace report "
    "require resolve restore round run sample save say scale search select send set shift show "
    "shrink simulate skip solve sort split start store strip sum take tell test tilt to trace "
    "transform trim try update use validate verify wait walk watch weigh write yield".split()
)


class Module(Protocol):
    """A module as the rules read it."""

    @property
    def name(self) -> str: ...

    @property
    def tree(self) -> ast.Module: ...

    @property
    def nodes(self) -> tuple[ast.AST, ...]: ...


def participles_lead(modules: Sequence[Module]) -> list[str]:
    """Name the functions that begin with a participle, if they are more than a few."""
    return _complain_above(MOST_PARTICIPLES, _list_functions(modules), begins_with_participle)


def single_words(modules: Sequence[Module]) -> list[str]:
    """Name the functions of one word, if they are more than some."""
    return _complain_above(
        MOST_SINGLE_WORDS, _list_functions(modules), lambda name: len(_split_words(name)) == 1
    )


def verbs_are_rare(modules: Sequence[Module]) -> list[str]:
    """Name the functions that begin with no verb, if they are more than most."""
    return _complain_above(
        1 - FEWEST_VERBS, _list_functions(modules), lambda name: _split_words(name)[0] not in _VERBS
    )


def functions_share_names(modules: Sequence[Module]) -> list[str]:
    """Name the functions that several modules define, if they are more than a few."""
    homes = _find_homes(modules, (ast.FunctionDef, ast.AsyncFunctionDef))
    defined = [name for name, where in homes.items() for _ in where]
    return _complain_above(MOST_SHARED_NAMES, defined, lambda name: len(homes[name]) > 1)


def classes_share_names(modules: Sequence[Module]) -> list[str]:
    """Name the classes that several modules define."""
    homes = _find_homes(modules, (ast.ClassDef,))
    return [
        f"{name}: {', '.join(sorted(where))}" for name, where in homes.items() if len(where) > 1
    ]


def constants_in_tuples(modules: Sequence[Module]) -> list[str]:
    """Name the assignments that give several constants of a module their values."""
    return [
        f"{module.name}, line {node.lineno}: {ast.unparse(node)}"
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Tuple) for one in node.targets)
    ]


def modules_renamed(modules: Sequence[Module]) -> list[str]:
    """Name the imports that call a module by another name, where its own is free."""
    known = {module.name for module in modules}
    return [
        f"{module.name}, line {node.lineno}: {alias.name} as {alias.asname}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None and _name_import(node, alias) in known
        if alias.asname != (own := alias.name.rpartition(".")[2].lstrip("_"))
        if not _uses(module, own)
    ]


def _name_import(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the full name of what an import binds."""
    return alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"


def vague_names(modules: Sequence[Module]) -> list[str]:
    """Name the modules, classes and functions whose whole name is a word that says nothing."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    named = [(module.name, module.name.rpartition(".")[2]) for module in modules]
    named += [
        (f"{module.name}, line {node.lineno}", node.name)
        for module in modules
        for node in module.nodes
        if isinstance(node, kinds)
    ]
    return [f"{where}: {name}" for where, name in named if name.strip("_").lower() in _VAGUE]


def participles_as_nouns(modules: Sequence[Module]) -> list[str]:
    """Name the classes and modules whose last word is a participle or an adverb, and so no noun.

    An exception may be a sentence, such as ``BudgetExceeded``.
    """
    classes = [
        (module.name, node)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    ]
    named = [(module.name, module.name.rpartition(".")[2]) for module in modules]
    named += [(where, node.name) for where, node in classes]
    sentences = _find_exceptions(node for _, node in classes)
    return [
        f"{where}: {name}"
        for where, name in named
        if _ends_without_noun(name) and name not in TERMS
        if name not in sentences or len(_WORD.findall(name)) == 1
    ]


def _find_exceptions(classes: Iterable[ast.ClassDef]) -> set[str]:
    """Return the names of the classes that an exception is a base of, however far up."""
    bases = {node.name: [ast.unparse(base) for base in node.bases] for node in classes}
    found: set[str] = set()
    for _ in bases:
        more = {
            name
            for name, its in bases.items()
            if any(base in found or base.endswith(_ERRORS) for base in its)
        }
        if more == found:
            break
        found = more
    return found


def _ends_without_noun(name: str) -> bool:
    last = "".join(_WORD.findall(name)[-1:]).lower()
    return last in _ADVERBS or begins_with_participle(last)


def begins_with_participle(name: str) -> bool:
    """Return whether the first word of a name is a participle: of ``_kept_runs`` it is."""
    first = _split_words(name)[0]
    regular = first.endswith("ed") and len(first) > 3 and first not in _NO_PARTICIPLES
    return regular or first in _IRREGULAR


def _split_words(name: str) -> list[str]:
    return name.strip("_").split("_")


def _uses(module: Module, name: str) -> bool:
    """Return whether a module calls something else by the name."""
    for node in module.nodes:
        match node:
            case ast.Name(id=used) | ast.arg(arg=used) | ast.FunctionDef(name=used):
                if used == name:
                    return True
    return False


def _list_functions(modules: Iterable[Module]) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    named = (node.name for module in modules for node in module.nodes if isinstance(node, kinds))
    return [name for name in named if not name.startswith("__") and name.strip("_")]


def _find_homes(modules: Iterable[Module], kinds: tuple[type, ...]) -> dict[str, set[str]]:
    homes: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, kinds):
                homes[node.name].add(module.name)
    return homes


def _complain_above(share: float, names: Sequence[str], found: Callable[[str], bool]) -> list[str]:
    wrong = sorted(filter(found, names))
    return wrong if len(wrong) > share * len(names) else []
