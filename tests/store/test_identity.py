"""What is the same is known again, and what may draw other numbers never is."""

import importlib
import importlib.metadata
import os
import subprocess
import sys
import textwrap
import threading
import types
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.store.identity import identified
from dpaudit.store.packages import _find_needed_distributions
from dpaudit.store.sealing import UnidentifiedValue
from dpaudit.store.values import is_environment

FILES = {
    "of_mine": "import helping\ndef f(x):\n    return helping.g(x)\n",
    "helping": "def g(x):\n    import lazily_needed\n    return lazily_needed.h(x)\n",
    "lazily_needed": "def h(x):\n    return x + 1\n",
    "never_named": "def unused(x):\n    return x\n",
}
PRINT = "import of_mine\nfrom dpaudit.store.identity import identified\n"


@pytest.fixture
def here(tmp_path):
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def sealed(here, what="of_mine.f"):
    """Return the identity in a process of its own: as a command that is given again sees it."""
    code = f"{PRINT}print(identified({what}).sealed())"
    ran = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, check=True)
    return ran.stdout


def test_it_is_the_same_in_every_process(here):
    assert sealed(here) == sealed(here)


@pytest.mark.parametrize("name", ["of_mine", "helping", "lazily_needed"])
def test_changed_code_is_another_one_wherever_it_is_imported(here, name):
    before = sealed(here)
    path = here / f"{name}.py"
    path.write_text(path.read_text().replace("return", "return 0 +"))
    assert sealed(here) != before


def test_code_that_nothing_imports_is_nobodys(here):
    before = sealed(here)
    (here / "never_named.py").write_text("changed = True\n")
    assert sealed(here) == before


def test_a_file_that_is_no_python_code_any_more_is_another_one(here):
    before = sealed(here)
    (here / "lazily_needed.py").write_text("def h(x: return\n")
    assert sealed(here) != before


def digest(*values):
    return identified(*values).digest


class Plain:
    def __init__(self, scale):
        self.scale = scale


class Working(Plain):
    def draw(self):
        return self.scale


class Container(dict):
    pass


class Listing(list):
    pass


class Masks:
    one = np.ma.masked_array([1.0, 2.0], [True, False])
    other = np.ma.masked_array([1.0, 2.0], [False, True])


def with_attribute(value, name):
    value.name = name
    return value


def made(text, name="f", **named):
    """Return a function, or class, of code that no file holds."""
    found = {"__name__": "made_in_a_test", **named}
    exec(text, found)
    return found[name]


def of_code(one, other, **named):
    return made(one, **named), made(other, **named)


PLAIN = "def f(x, y=1):\n    return x"
DIFFERENT = {
    "masks": (Masks.one, Masks.other),
    "factories": (defaultdict(list), defaultdict(set)),
    "attributes of a dictionary": tuple(with_attribute(Container(), n) for n in (1, 2)),
    "attributes of a list": tuple(with_attribute(Listing(), n) for n in (1, 2)),
    "attributes of a function": tuple(with_attribute(made(PLAIN), n) for n in (1, 2)),
    "fields of records": (np.zeros(1, "f8,i4"), np.zeros(1, "f8,f4")),
    "which arguments have names": of_code(PLAIN, PLAIN.replace("x, y", "x, *, y")),
    "what is caught": of_code(
        "def f(x):\n    try:\n        x()\n    except ValueError:\n        pass\n    x()",
        "def f(x):\n    try:\n        x()\n        x()\n    except ValueError:\n        pass",
    ),
    "a tuple of a class": of_code("class f:\n    a = (1, 2)", "class f:\n    a = (1, 3)"),
    "a dictionary of a class": of_code("class f:\n    a = {1: 2}", "class f:\n    a = {1: 3}"),
    "values of an enumeration": tuple(
        made(f"import enum\nclass E(enum.Enum):\n    A = {n}\nf = E.A") for n in (1, 2)
    ),
    "a function that keeps its answers": tuple(
        made(f"import functools\n@functools.cache\ndef g():\n    return {n}\ndef f():\n    g()")
        for n in (1, 2)
    ),
    "data in an argument's default": of_code(
        "def f(x, y={'a': np.arange(3)}):\n    return x",
        "def f(x, y={'a': np.arange(4)}):\n    return x",
        np=np,
    ),
    "numbers": (1, 2),
    "number and truth": (1, True),
    "whole and not": (1, 1.0),
    "zeros of two signs": (0.0, -0.0),
    "text and bytes": ("a", b"a"),
    "dtypes": (np.zeros(2, np.float32), np.zeros(2, np.float64)),
    "shapes": (np.zeros((2, 1)), np.zeros((1, 2))),
    "entries": (np.array([1.0, 2.0]), np.array([2.0, 1.0])),
    "order": ([1, 2], [2, 1]),
    "list and tuple": ([1], (1,)),
    "nesting": ([1, [2]], [[1], 2]),
    "objects": (Plain(1), Plain(2)),
    "classes": (Plain(1), Working(1)),
    "arrays of objects": (np.array([1, "a"], object), np.array([1, "b"], object)),
    "seeds": (np.random.SeedSequence(1), np.random.SeedSequence(2)),
    "generators": (np.random.default_rng(1), np.random.default_rng(2)),
    "bound methods": (Working(1).draw, Working(2).draw),
    "defaults": (lambda x=1: x, lambda x=2: x),
    "named defaults": (lambda *, x=1: x, lambda *, x=2: x),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_is_told_apart(name):
    one, other = DIFFERENT[name]
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_closures_are_told_apart():
    def noisy(scale):
        return lambda x: x * scale

    assert digest(noisy(1)) == digest(noisy(1)) != digest(noisy(2))


def test_globals_that_the_code_names_are_told_apart(tmp_path, monkeypatch):
    (tmp_path / "with_a_global.py").write_text("SCALE = 1\ndef f(x):\n    return SCALE * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("with_a_global")
    before = digest(module.f)
    module.SCALE = 2
    assert digest(module.f) != before


def test_the_order_of_sets_is_none():
    many = {f"name {i}" for i in range(50)}
    assert digest(many) == digest(set(reversed(list(many))))


def test_what_holds_itself_ends():
    own = []
    own.append(own)
    assert digest(own) == digest(own)


def test_two_places_of_one_value_are_two_equal_values():
    one = np.arange(3)
    assert digest([one, one]) == digest([np.arange(3), np.arange(3)])


def test_an_open_file_has_none(tmp_path):
    with (tmp_path / "open").open("w") as file, pytest.raises(UnidentifiedValue):
        identified(file)


def test_code_on_the_command_line_is_identified_too():
    code = textwrap.dedent(
        """
        from dpaudit.store.identity import identified
        def f(x): return x + {}
        print(identified(f).sealed())
        """
    )
    found = [
        subprocess.run([sys.executable, "-c", code.format(n)], capture_output=True, check=True)
        for n in (1, 1, 2)
    ]
    assert found[0].stdout == found[1].stdout != found[2].stdout


def test_numbers_of_a_module_that_the_code_names_are_told_apart(tmp_path, monkeypatch):
    (tmp_path / "its_settings.py").write_text("SCALE = 1\nOTHER = 1\n")
    (tmp_path / "names_settings.py").write_text(
        "import its_settings\ndef f(x):\n    return its_settings.SCALE * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module, settings = map(importlib.import_module, ("names_settings", "its_settings"))
    before = digest(module.f)
    settings.OTHER = 2
    assert digest(module.f) == before
    settings.SCALE = 2
    assert digest(module.f) != before


def test_code_of_a_module_without_a_file_is_told_apart(monkeypatch):
    found = []
    for number in (1, 2):
        module = types.ModuleType("made_here")
        exec(f"def f(x):\n    return x + {number}", vars(module))
        monkeypatch.setitem(sys.modules, "made_here", module)
        found.append(digest(module.f))
    assert found[0] != found[1]


def test_a_global_that_nothing_identifies_has_no_identity(tmp_path):
    with (tmp_path / "open").open("w") as file, pytest.raises(UnidentifiedValue):
        identified(made("def f(x):\n    return opened", opened=file))


def test_a_lock_keeps_no_numbers():
    one, other = (made("def f(x):\n    return held", held=threading.Lock()) for _ in range(2))
    assert digest(one) == digest(other)


READS = {
    "brackets": "os.environ['SCALE']",
    "get": "os.environ.get('SCALE', 1)",
    "getenv": "os.getenv('SCALE')",
    "in": "1 if 'SCALE' in os.environ else 2",
}


@pytest.mark.parametrize("how", READS)
def test_a_variable_of_the_environment_that_code_names_is_told_apart(here, monkeypatch, how):
    (here / "lazily_needed.py").write_text(f"import os\ndef h(x):\n    return {READS[how]}\n")
    found = []
    for value in ("1", "2"):
        monkeypatch.setenv("SCALE", value)
        monkeypatch.setenv("ANOTHER", value)
        found.append(sealed(here))
    assert found[0] != found[1]
    monkeypatch.setenv("ANOTHER", "3")
    assert sealed(here) == found[1]


def test_where_a_program_runs_is_no_parameter(here, monkeypatch):
    (here / "helping.py").write_text("import os\ndef g(x):\n    return os.getenv('SLURM_JOB_ID')\n")
    before = sealed(here)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert sealed(here) == before


def test_a_variable_is_seen_in_code_of_no_file(monkeypatch):
    reads = made("import os\ndef f(x):\n    return os.environ['SCALE']")
    found = []
    for value in ("1", "2"):
        monkeypatch.setenv("SCALE", value)
        found.append(identified(reads).sealed())
    assert found[0] != found[1]


@pytest.mark.parametrize("module", ["pandas", "networkx", "scipy.sparse"])
def test_objects_of_libraries_have_an_identity(module):
    library = pytest.importorskip(module)
    makes = {
        "pandas": lambda n: library.DataFrame({"x": [n, 1], "y": ["a", "b"]}),
        "networkx": lambda n: library.path_graph(n + 2),
        "scipy.sparse": lambda n: library.csr_matrix(np.eye(n + 2)),
    }
    one, again, other = (makes[module](n) for n in (1, 1, 2))
    assert digest(one) == digest(again) != digest(other)


class Several(list):
    """Numbers, with an attribute beside them."""


class Named(dict):
    """Numbers by name, with an attribute beside them."""


@pytest.mark.parametrize("kind", [Several, Named])
def test_attributes_beside_what_a_container_holds_are_part_of_it(kind):
    found = set()
    for scale in (None, 1.0, 2.0):
        held = kind()
        if scale is not None:
            held.scale = scale
        found.add(identified(held).digest)
    assert len(found) == 3


def test_the_environment_is_one_as_text_and_as_bytes():
    assert is_environment(os.environ)
    assert is_environment(getattr(os, "environb", os.environ))
    assert not is_environment(dict(os.environ))


def test_a_package_is_all_that_it_needs(monkeypatch):
    """What is needed by what it needs, too; what an extra asks for is not."""
    needed = {"a": ["b>=1", 'c; extra == "all"'], "b": ["d[x]<2"], "c": [], "d": None}
    known = {name: SimpleNamespace(name=name, requires=of) for name, of in needed.items()}
    monkeypatch.setattr(importlib.metadata, "distribution", known.__getitem__)
    assert [one.name for one in _find_needed_distributions(["a"])] == ["a", "b", "d"]
