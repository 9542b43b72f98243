"""The rules of the house that a linter does not know, read off the source of every module.

Each rule is a function from a source to its complaints. ``CAUGHT`` holds sources that every rule
must complain about, so that no rule can rot into one that always passes.
"""

import ast
import graphlib
import importlib
import importlib.util
import inspect
import pickle
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

from dpaudit import errors
from tests.naming import (
    TERMS,
    begins_with_participle,
    classes_share_names,
    constants_in_tuples,
    functions_share_names,
    modules_renamed,
    participles_as_nouns,
    participles_lead,
    single_words,
    vague_names,
    verbs_are_rare,
)
from tests.own_words import reads_words

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.always

# Folder and package of each layer; a layer may import itself and those before it.
LAYERS = {
    "dpaudit": "dpaudit",
    "algorithms": "dpaudit.algorithms",
    "attacks": "dpaudit.attacks",
}
# Rooms of dpaudit in six layers from the ground up, as docs/architecture.md draws them.
ROOM_LAYERS = {
    "foundation": "errors redaction escaping files toml formats reals verdicts palette faults "
    "plots notebook polynomials standins _check _references _typing _packages _harmless",
    "matter": "datasets neighbours domains guarantees execution freezing watching search store",
    "mathematics": "laws mechanisms programs services estimation accounting tracing refutation",
    "extension": "extension ledger report",
    "audits": "auditing proving affine verification replaying scan reproduction accounts adapters "
    "spending",
    "fronts": "cli plugin testing selftest deployments sheet",
}
MOST_FILES = 10  # of `auditing` in one folder
HEIGHT = {
    room: height for height, rooms in enumerate(ROOM_LAYERS.values()) for room in rooms.split()
}
LONGEST = 520
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
RANDOM_OBJECTS = frozenset(
    "Generator BitGenerator SeedSequence default_rng PCG64 PCG64DXSM Philox SFC64 MT19937".split()
)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What other packages register; dpaudit may name what is its own.
REGISTERED = sorted(
    name
    for group in PYPROJECT["project"]["entry-points"].values()
    for name, home in group.items()
    if home.startswith(("dpaudit.algorithms.", "dpaudit.attacks."))
)


@dataclass(frozen=True)
class Source:
    name: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, gathered once for all rules."""
        return tuple(ast.walk(self.tree))

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def layer(self) -> str:
        return layer_of(self.name)

    @property
    def above(self) -> tuple[str, ...]:
        packages = tuple(LAYERS.values())
        return packages[packages.index(self.layer) + 1 :]


def layer_of(module: str) -> str:
    """Return the layer's package, or nothing for a module of somebody else."""
    around = [p for p in LAYERS.values() if module == p or module.startswith(f"{p}.")]
    return max(around, key=len, default="")


def sources() -> Iterator[Source]:
    for folder, package in LAYERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join((package, *(parts[:-1] if is_package else parts)))
            yield Source(name, path.read_text(encoding="utf-8"), is_package)


SOURCES = tuple(sources())


# Imports


def imported(nodes: Iterable[ast.AST], package: str) -> Iterator[tuple[str, str | None]]:
    """Yield ``(module, None)`` for ``import``, ``(module, name)`` for ``from ... import``."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            module = importlib.util.resolve_name(relative, package)
            yield from ((module, alias.name) for alias in node.names)


def run_ever(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that importing the module or calling its functions runs: none for types."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from run_ever(ast.Module(node.orelse, []))
            continue
        yield node
        yield from run_ever(node)


def upward_imports(source: Source) -> list[str]:
    found = imported(source.nodes, source.package)
    modules = {name for module, attribute in found for name in (module, f"{module}.{attribute}")}
    return sorted(module for module in modules if layer_of(module) in source.above)


def rooms_above(source: Source) -> list[str]:
    """Name the imports of rooms of dpaudit that are in a higher layer."""
    here = room_of(source.name)
    return sorted(room for room in rooms_used(source) if here and HEIGHT[room] > HEIGHT[here])


def rooms_used(source: Source) -> set[str]:
    """Return the other rooms of dpaudit that a module imports, but for types alone."""
    types = {
        inner
        for node in source.nodes
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found = imported((n for n in source.nodes if n not in types), source.package)
    return {room_of(f"{module}.{name}") for module, name in found} - {None, room_of(source.name)}


def room_of(module: str) -> str | None:
    """Return the room of dpaudit that a module is in, None for the front door and elsewhere."""
    first, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    return room if first == "dpaudit" and room in HEIGHT else None


def cycle(modules: Iterable[Source]) -> list[str]:
    """Return modules that import one another, when they are imported or when they are called."""
    by_name = {source.name: source for source in modules}
    graph = {name: set[str]() for name in by_name}
    for name, source in by_name.items():
        for module, attribute in imported(run_ever(source.tree), source.package):
            submodule = f"{module}.{attribute}"
            target = submodule if submodule in by_name else module
            graph[name] |= {target} & (by_name.keys() - {name})
    return find_cycle(graph)


def find_room_cycle(modules: Iterable[Source]) -> list[str]:
    """Return rooms of dpaudit that import one another."""
    graph: dict[str, set[str]] = {}
    for source in modules:
        if room := room_of(source.name):
            graph.setdefault(room, set()).update(rooms_used(source))
    return find_cycle(graph)


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


# Strings: what a module must not reach by name either


def strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every string that is not documentation."""
    nodes = tuple(nodes)
    documentation = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node not in documentation:
            if isinstance(node.value, str):
                yield node.value


def upward_references(source: Source) -> list[str]:
    above = "|".join(map(re.escape, source.above)) or "(?!)"
    path = re.compile(rf"(?<![\w.-])(?:{above})[.:]\w|^(?:{above})\.$")
    return [text for text in strings(source.nodes) if path.search(text)]


def upward_dynamic_imports(source: Source) -> list[str]:
    importers = ("import_module", "__import__", "find_spec")
    calls = (node for node in source.nodes if isinstance(node, ast.Call))
    named = (call for call in calls if ast.unparse(call.func).split(".")[-1] in importers)
    texts = {text for call in named for text in strings(ast.walk(call))}
    return sorted(text for text in texts if layer_of(text) in source.above)


CARDS = "dpaudit.scan.packages."  # speak of other people's functions, by the names these have


def registered_names(source: Source) -> list[str]:
    if source.layer != "dpaudit" or source.name.startswith(CARDS):
        return []
    name = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, REGISTERED))})(?![\w-])")
    return [text for text in strings(source.nodes) if name.search(text)]


# Shape and habits


def undocumented(source: Source) -> list[str]:
    return [] if ast.get_docstring(source.tree) else ["no module docstring"]


def too_long(source: Source) -> list[str]:
    lines = len(source.text.splitlines())
    return [f"{lines} lines, at most {LONGEST}: split it"] if lines > LONGEST else []


def unfinished(source: Source) -> list[str]:
    return re.findall(r"\b(?:TODO|FIXME|XXX|HACK|NotImplementedError)\b.*", source.text)


def global_randomness(source: Source) -> list[str]:
    found = {f"{m}.{n}" if n else m for m, n in imported(source.nodes, source.package)}
    found |= {ast.unparse(node) for node in source.nodes if isinstance(node, ast.Attribute)}
    legacy = re.compile(r"(?:np|numpy)\.random\.(\w+)")
    matches = ((name, legacy.match(name)) for name in found)
    wrong = {name for name, match in matches if match and match[1] not in RANDOM_OBJECTS}
    # A bare `random` hides from the pattern above; the standard library's is global state too.
    hidden = {name for name in found if re.match(r"numpy\.random$|random(\.|$)", name)}
    return sorted(wrong | hidden)


def broad_excepts(source: Source) -> list[str]:
    """Name the handlers that swallow everything; one that ends in ``raise`` may stay."""
    broad = {None, "Exception", "BaseException"}
    complaints = []
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
            types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if broad & {ast.unparse(kind) if kind else None for kind in types}:
                complaints.append(f"line {node.lineno}: broad except")
    return complaints


def reads_own_words(source: Source) -> list[str]:
    return reads_words(source.nodes)


def says_transcript(source: Source) -> list[str]:
    """Name the places that call an output something else; fields of the report keep their names."""
    field = r"s(_per_dataset)?[\"=,]|(?<=\n    transcript)s: "
    other = re.compile(rf"(?i)(?<!\.)transcript(?!{field})\w*")
    return [found[0] for found in other.finditer(source.text)]


_SEAM = re.compile(r"""["']\n\s+f?["']""")  # of a sentence on several lines
_RUN_OF_OUTPUTS = re.compile(
    r"(?<=(?:in|nd) )(?:\d+|\{[^}]*\}) of (?:[\d,]+|\{[^}]*\}) runs\b(?! with)"
    r"|(?<!\.)\bruns (?:can )?certif"
    r"|\bruns on (?:the|its|either|each|both) (?:dataset|neighbour|first|second|side)"
)


def says_run_of_an_output(source: Source) -> list[str]:
    """Name the places that count outputs as runs; an attack's table counts runs of a training."""
    if "runs" not in source.text:
        return []
    return _RUN_OF_OUTPUTS.findall(" ".join(_SEAM.sub("", source.text).split()))


def summarises_by_what(source: Source) -> list[str]:
    """Name the first lines of docstrings in which a clause with "what" stands for a noun."""
    texts = (ast.get_docstring(node) for node in source.nodes if isinstance(node, DOCUMENTED))
    firsts = (text.partition("\n")[0] for text in texts if text)
    return [first for first in firsts if re.search(r"(?i)\bwhat\b", first)]


RULES = (
    upward_imports,
    rooms_above,
    upward_references,
    upward_dynamic_imports,
    registered_names,
    undocumented,
    too_long,
    unfinished,
    global_randomness,
    broad_excepts,
    reads_own_words,
    says_transcript,
    says_run_of_an_output,
    summarises_by_what,
)

CAUGHT = (
    (upward_imports, "dpaudit.a", "import dpaudit.algorithms"),
    (upward_imports, "dpaudit.a", "from dpaudit import attacks"),
    (upward_imports, "dpaudit.a", "from . import algorithms"),
    (upward_imports, "dpaudit.a", "def f():\n    from dpaudit.algorithms.problems import losses"),
    (upward_imports, "dpaudit.a", "if TYPE_CHECKING:\n    import dpaudit.attacks.linear"),
    (upward_imports, "dpaudit.algorithms.a", "from dpaudit.attacks.cards import STATIONARITY"),
    (rooms_above, "dpaudit.store.a", "from dpaudit.accounting import pairs"),
    (rooms_above, "dpaudit.report.a", "def f():\n    import dpaudit.accounts.account"),
    (rooms_above, "dpaudit.errors", "from dpaudit import cli"),
    (upward_references, "dpaudit.a", "CLAIM = 'dpaudit.algorithms.multistep.claims'"),
    (upward_references, "dpaudit.a", "ATTACK = 'dpaudit.attacks:LIKELIHOOD_RATIO'"),
    (upward_references, "dpaudit.a", "load(f'dpaudit.algorithms.{name}')"),
    (upward_references, "dpaudit.algorithms.a", "load('dpaudit.attacks.linear')"),
    (upward_dynamic_imports, "dpaudit.a", "importlib.import_module('dpaudit.algorithms')"),
    (upward_dynamic_imports, "dpaudit.algorithms.a", "__import__('dpaudit.attacks')"),
    (registered_names, "dpaudit.a", f"default = {REGISTERED[0]!r}"),
    (registered_names, "dpaudit.a", f"help = 'such as {REGISTERED[-1]}.'"),
    (undocumented, "dpaudit.a", "x = 1"),
    (too_long, "dpaudit.a", "\n" * (LONGEST + 1)),
    (unfinished, "dpaudit.a", "x = 1  # TODO: think"),
    (unfinished, "dpaudit.a", "def f():\n    raise NotImplementedError"),
    (global_randomness, "dpaudit.a", "np.random.seed(1)"),
    (global_randomness, "dpaudit.a", "x = numpy.random.normal(size=3)"),
    (global_randomness, "dpaudit.a", "from numpy.random import rand"),
    (global_randomness, "dpaudit.a", "from numpy import random as r"),
    (global_randomness, "dpaudit.a", "import numpy.random as r"),
    (global_randomness, "dpaudit.a", "from random import shuffle"),
    (broad_excepts, "dpaudit.a", "try:\n    f()\nexcept:\n    pass"),
    (broad_excepts, "dpaudit.a", "try:\n    f()\nexcept Exception as e:\n    print(e)"),
    (broad_excepts, "dpaudit.a", "try:\n    f()\nexcept (OSError, BaseException):\n    x = 1"),
    (reads_own_words, "dpaudit.a", "if note.startswith(READ):\n    pass"),
    (reads_own_words, "dpaudit.a", "if UNVARYING in result.notes:\n    pass"),
    (reads_own_words, "dpaudit.a", "first = one.reason.split(':')[0]"),
    (reads_own_words, "dpaudit.a", "if 'failed' in str(why).lower():\n    pass"),
    (reads_own_words, "dpaudit.a", "if re.search('time', said):\n    pass"),
    (reads_own_words, "dpaudit.a", "shorter = relation.statement[:-10]"),
    (says_transcript, "dpaudit.a", "def score(transcripts: Array): ..."),
    (says_transcript, "dpaudit.a", "# Transcripts are learned on."),
    (says_transcript, "dpaudit.a", "'many transcripts of each dataset'"),
    (says_run_of_an_output, "dpaudit.a", "f'{event} in {hits} of {n} runs on the dataset'"),
    (
        says_run_of_an_output,
        "dpaudit.a",
        "x = (\n    f'in {a} of {b.n} '\n    f'runs on the first'\n)",
    ),
    (says_run_of_an_output, "dpaudit.a", "f'seen in {a} of {n} and {b} of {n} runs'"),
    (says_run_of_an_output, "dpaudit.a", "# Frozen runs on each dataset."),
    (says_run_of_an_output, "dpaudit.a", "# The most that so many\n# runs certify."),
    (summarises_by_what, "dpaudit.a", '"""What an observer sees."""'),
    (
        summarises_by_what,
        "dpaudit.attacks.a",
        'class C:\n    """Words for what leaked.\n    """',
    ),
    (summarises_by_what, "dpaudit.a", 'class C:\n    def f(self): "Refuse what no rule covers."'),
    (summarises_by_what, "dpaudit.algorithms.a", 'async def f():\n    """Return what to do."""'),
)

ALLOWED = (
    (says_run_of_an_output, "dpaudit.a", "f'in {hits} of {n} outputs on the dataset'"),
    (says_run_of_an_output, "dpaudit.a", "f'of {hits} of {n} runs with the target'"),
    (says_run_of_an_output, "dpaudit.a", "size = event.runs\ncertified = f(runs)"),
    (summarises_by_what, "dpaudit.a", '"""Whatever it is.\n\nWhat follows."""\nx = "what"'),
    (says_transcript, "dpaudit.a", "class C:\n    transcripts: int\npath.transcripts\n"),
    (upward_imports, "dpaudit.attacks.a", "from dpaudit.algorithms import losses"),
    (upward_imports, "dpaudit.algorithms.a", "from . import losses\nimport dpaudit.auditing"),
    (rooms_above, "dpaudit.laws.a", "from dpaudit.laws import b\nfrom dpaudit import errors"),
    (rooms_above, "dpaudit.laws.a", "if TYPE_CHECKING:\n    import dpaudit.auditing.run"),
    (upward_references, "dpaudit.a", "GROUP = 'dpaudit.attacks'\nHELP = 'The attacks. All.'"),
    (upward_references, "dpaudit.attacks.a", "x = 'dpaudit.algorithms.problems.losses'"),
    (registered_names, "dpaudit.algorithms.a", f"ID = {REGISTERED[0]!r}"),
    (registered_names, "dpaudit.a", f"'''Such as {REGISTERED[0]}.'''"),
    (global_randomness, "dpaudit.a", "rng = np.random.default_rng(1)\nrng.random()"),
    (global_randomness, "dpaudit.a", "from numpy.random import Generator, SeedSequence"),
    (broad_excepts, "dpaudit.a", "try:\n    f()\nexcept Exception as e:\n    raise Bad() from e"),
    (reads_own_words, "dpaudit.a", "if case.declared or path.startswith('/'):\n    say(note)"),
)


# What runs in a worker hands every failure on as a message, and is a copy of a process whose
# generator it must not have; what freezes noise stands in for the global generators.
EXEMPT = {
    broad_excepts: {
        "dpaudit.execution.worker",
        "dpaudit.freezing.observing",
        "dpaudit.freezing.recorder",
        "dpaudit.mechanisms.foreign.instances",
        "dpaudit.mechanisms.outputs.leaves",
        "dpaudit.mechanisms.outputs.observations",
        "dpaudit.mechanisms.foreign.code_mechanism",
        "dpaudit.standins",
        "dpaudit.mechanisms.foreign.touched_state",
        "dpaudit.neighbours.cells",
        "dpaudit.scan.accountants.plain.child",
        "dpaudit.scan.remote.child",
        "dpaudit.scan.remote.probe",
        "dpaudit.store.identity",
    },
    global_randomness: {
        "dpaudit.adapters.federated_updates",
        "dpaudit.execution.worker",
        "dpaudit.freezing.observing",
        "dpaudit.freezing.primitives",
        "dpaudit.freezing.seeds",
        "dpaudit.mechanisms.foreign.calling",
        "dpaudit.scan.remote.child",
    },
    # Words of others: of exceptions, of sqlite, of who states which findings are known. Where the
    # names are not of words: keys of documents, arguments of a primitive, an expression. And where
    # sentences are set out on lines, which decides nothing.
    reads_own_words: {
        "dpaudit._harmless",
        "dpaudit.auditing.explain.event_words",
        "dpaudit.cli.start",  # a capital for a title
        "dpaudit.errors",
        "dpaudit.freezing.glimpse",
        "dpaudit.standins",
        "dpaudit.plugin.failing",
        "dpaudit.replaying.entries",  # a place: a file and a line
        "dpaudit.report.entries",
        "dpaudit.scan.accountants.asking",
        "dpaudit.scan.certification.events",
        "dpaudit.scan.publication.known_findings",
        "dpaudit.services.service",  # a header of a server, placeholders of a template
        "dpaudit.store.file",
    },
    too_long: {
        "dpaudit.execution.worker",  # a script: its environment has nothing else of ours
        "dpaudit.scan.remote.child",  # likewise
        "dpaudit.proving.checker",  # likewise
    },
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule):
    held = [source for source in SOURCES if source.name not in EXEMPT.get(rule, ())]
    complaints = {source.name: rule(source) for source in held}
    assert {name: found for name, found in complaints.items() if found} == {}


@pytest.mark.parametrize(("rule", "name", "text"), CAUGHT)
def test_a_rule_catches_what_breaks_it(rule, name, text):
    assert rule(Source(name, text))


@pytest.mark.parametrize(("rule", "name", "text"), ALLOWED)
def test_a_rule_leaves_the_rest_alone(rule, name, text):
    assert rule(Source(name, text)) == []


def test_every_rule_has_a_negative_control():
    assert {rule for rule, _, _ in CAUGHT} == set(RULES)


def test_no_page_counts_outputs_as_runs():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    read = [Source(path.stem, path.read_text(encoding="utf-8")) for path in pages]
    assert [page.name for page in read if says_run_of_an_output(page)] == []


def test_all_three_packages_are_read():
    assert {source.layer for source in SOURCES} == set(LAYERS.values())


def test_the_layers_are_those_that_are_drawn():
    here = [path for path in (ROOT / "dpaudit").iterdir() if not path.is_symlink()]
    rooms = {path.stem for path in here if path.suffix in ("", ".py")}
    assert set(HEIGHT) == rooms - {"__init__", "__main__", "__pycache__"}
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    tree = page.partition("```text")[2].partition("algorithms/")[0]
    layers = re.split(r"(?m)^ *-- ([a-z]+)$", tree)[1:]
    assert layers[::2] == [*ROOM_LAYERS][::-1]
    for name, drawn in zip(layers[::2], layers[1::2], strict=True):
        found = [room for room in re.findall(r"(?m)(?:^  |   )([a-z]+) ", drawn) if room in HEIGHT]
        shown = {room for room in ROOM_LAYERS[name].split() if not room.startswith("_")}
        assert set(found) == shown, name


def test_rooms_of_a_layer_do_not_import_one_another_in_a_circle():
    assert find_room_cycle(SOURCES) == []


def test_a_circle_of_rooms_is_found():
    there = Source("dpaudit.scan.a", "from dpaudit.auditing import run")
    back = Source("dpaudit.auditing.a", "def f():\n    import dpaudit.scan.b")
    assert set(find_room_cycle([there, back])) == {"scan", "auditing"}
    assert find_room_cycle([there]) == []


def test_no_folder_of_auditing_holds_many_files():
    folders = Counter(path.parent for path in (ROOT / "dpaudit/auditing").rglob("*.py"))
    assert max(folders.values()) <= MOST_FILES


def test_no_import_cycle():
    assert cycle(SOURCES) == []


IMPORTS_OF_A = (
    *("from dpaudit.a import f", "class C:\n    import dpaudit.a"),
    *("def f():\n    import dpaudit.a", "class C:\n    def f(self):\n        import dpaudit.a"),
)


@pytest.mark.parametrize("first", ["from dpaudit import b", "import dpaudit.b", "from . import b"])
@pytest.mark.parametrize("second", IMPORTS_OF_A)
def test_a_cycle_is_found(first, second):
    assert {"dpaudit.a", "dpaudit.b"} == set(
        cycle([Source("dpaudit.a", first), Source("dpaudit.b", second)])
    )


def test_what_only_types_need_makes_no_cycle():
    for_types = Source("dpaudit.b", "if TYPE_CHECKING:\n    import dpaudit.a")
    assert cycle([Source("dpaudit.a", "import dpaudit.b"), for_types]) == []


# Names, judged of a package as a whole

NAMING = {
    participles_lead: ("def taken(): ...", "def take_records(): ..."),
    participles_as_nouns: ("class Said: ...", "class DrawnSample: ..."),
    single_words: ("def bound(): ...", "def bound_tail(): ..."),
    verbs_are_rare: ("def closed_form(): ...", "def compute_closed_form(): ..."),
    functions_share_names: ("def bound_tail(): ...", "class C:\n    def bound_tail(self): ..."),
    classes_share_names: ("class Look: ...", "def f():\n    class Look: ..."),
    constants_in_tuples: ("A, B = 1, 2", "def split(pair):\n    first, second = pair"),
    vague_names: ("class _Beside: ...", "class Look:\n    places = 1"),
    modules_renamed: ("from dpaudit import a as kind", "from dpaudit import a\nimport numpy as np"),
}
"""What each rule catches, where a module has it beside its like, and what it leaves alone."""


@pytest.mark.parametrize("package", LAYERS.values())
@pytest.mark.parametrize("rule", NAMING, ids=lambda rule: rule.__name__)
def test_a_package_keeps_the_rule_of_names(rule, package):
    assert rule([source for source in SOURCES if source.layer == package]) == []


@pytest.mark.parametrize("rule", NAMING, ids=lambda rule: rule.__name__)
def test_a_rule_of_names_catches_what_breaks_it_and_no_more(rule):
    wrong, right = ([Source(f"dpaudit.{name}", text) for name in "ab"] for text in NAMING[rule])
    assert rule(wrong)
    assert rule(right) == []


@pytest.mark.parametrize(("others", "caught"), [(24, False), (23, True)])
def test_one_participle_in_twenty_five_functions_is_no_habit(others, caught):
    many = [f"def take_{number}(): ..." for number in range(others)]
    source = Source("dpaudit.a", "\n".join([*many, "def _kept_runs(): ...", "def __len__(): ..."]))
    assert bool(participles_lead([source])) is caught


@pytest.mark.parametrize("name", ["seed_stream", "keep_runs", "_need_rows", "drawer", "red"])
def test_no_participle(name):
    assert not begins_with_participle(name)


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("import dpaudit._a as kind", True),
        ("import dpaudit._a as a", False),
        ("import dpaudit._a as kind\ndef f(a): ...", False),
    ],
)
def test_an_import_of_a_whole_module_keeps_its_name(text, caught):
    assert bool(modules_renamed([Source("dpaudit._a", ""), Source("dpaudit.b", text)])) is caught


def test_a_module_may_be_renamed_where_its_own_name_is_taken():
    taken = Source("dpaudit.b", "from dpaudit import a as kind\ndef f(a): ...")
    assert modules_renamed([Source("dpaudit.a", ""), taken]) == []


@pytest.mark.parametrize(
    "module",
    [Source("dpaudit.store.places", ""), Source("dpaudit.a", "def f():\n    def alone(): ...")],
)
def test_a_module_and_an_inner_function_have_a_name_that_says_something(module):
    assert vague_names([module])


@pytest.mark.parametrize(
    "module",
    [
        Source("dpaudit.verification.drawn", ""),
        Source("dpaudit.scan.page_shown", ""),
        Source("dpaudit.learned.known", "", is_package=True),
        Source("dpaudit.a", "class Held: ..."),
        Source("dpaudit.a", "class RecordReplaced: ..."),
        Source("dpaudit.a", "def f():\n    class _Found: ..."),
        Source("dpaudit.a", "class Interrupted(KeyboardInterrupt): ..."),
        Source("dpaudit.search.apart", ""),
    ],
)
def test_a_class_or_a_module_named_by_a_participle_is_caught(module):
    assert participles_as_nouns([module])


@pytest.mark.parametrize(
    "text",
    [
        "class Bracket: ...",
        "class Seed: ...",
        "class StoredRelease: ...",
        "class BudgetExceeded(DpauditError): ...",
        "class NotRead(Exception): ...\nclass NotSampled(NotRead): ...",
    ],
)
def test_a_noun_and_the_sentence_of_an_exception_may_name_a_class(text):
    assert participles_as_nouns([Source("dpaudit.tracing.drawn_sample", text)]) == []


def test_every_name_that_ends_in_a_participle_for_a_reason_is_there():
    classes = (
        node for source in SOURCES for node in source.nodes if isinstance(node, ast.ClassDef)
    )
    modules = {source.name.rpartition(".")[2] for source in SOURCES}
    assert TERMS.keys() <= modules | {node.name for node in classes}


# What a package exports


def bad_exports(package: ModuleType) -> list[str]:
    complaints = []
    for name in getattr(package, "__all__", ()):
        if not hasattr(package, name):
            complaints.append(f"{name}: does not exist")
        elif not documented(getattr(package, name)):
            complaints.append(f"{name}: no docstring")
    return complaints


def documented(value: object) -> bool:
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return True  # a constant is documented where it is defined
    text = value.__doc__ or ""
    return bool(text) and not text.startswith(f"{value.__name__}(")  # what @dataclass makes up


@pytest.mark.parametrize("name", [source.name for source in SOURCES if source.is_package])
def test_exports_exist_and_are_documented(name):
    assert bad_exports(importlib.import_module(name)) == []


def test_bad_exports_are_caught():
    @dataclass
    class Bare:
        x: int

    package = ModuleType("package")
    package.__dict__.update(__all__=["Bare", "bare", "gone"], Bare=Bare, bare=lambda: None)
    assert [complaint.split(":")[0] for complaint in bad_exports(package)] == package.__all__


# Errors cross process borders

RAISED = (
    errors.DpauditError("plain"),
    errors.InvalidArgument("delta", 1.5, "a number in (0, 1)"),
    errors.InvalidArgument("loss", lambda margin: margin, "a loss"),  # a value that cannot pickle
    errors.InvalidArgument("rows", "x" * 500, "a short value"),
    errors.UnknownName("claim", "huang", ["huang2020", "zhang2018"]),
    errors.DataError("a9a: line 3 is damaged"),
    errors.MechanismError("the output has a NaN"),
    errors.UnsupportedEvent("no theorem for this event"),
    errors.BudgetExceeded("budget.jsonl: gaussian does not fit"),
    errors.ConvergenceError("x-update: trial 3 has not converged"),
    errors.UnsupportedSystem("a process: got a system called 'nt'"),
)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_survives_a_process_border(error):
    once = pickle.loads(pickle.dumps(error))
    twice = pickle.loads(pickle.dumps(once))
    assert type(error) is type(once) is type(twice)
    assert str(error) == str(once) == str(twice)


def test_every_error_is_tried():
    defined = {kind for kind in vars(errors).values() if inspect.isclass(kind)}
    assert {type(error) for error in RAISED} == {
        kind for kind in defined if issubclass(kind, errors.DpauditError)
    }
