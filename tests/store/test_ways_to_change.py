"""Forty ways to change what a mechanism draws: each changes its identity, or is named as unseen.

A process that has imported everything forks for every look: a look is as a worker has it.
"""

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from dataclasses import dataclass, field

import pytest

SERVER = """
import importlib, json, os, sys
import mpmath, scipy.stats
from dpaudit.store import identity, sealing
sealing.own_code()
for line in sys.stdin:
    asked = json.loads(line)
    if not (child := os.fork()):
        os.chdir(asked["folder"])
        site = os.path.join(asked["folder"], "site-packages")
        sys.path[:0] = [asked["folder"], site]
        os.environ.update(asked["environment"])
        exec(asked["before"], space := {})
        try:
            mechanism = eval(asked["what"], vars(importlib.import_module("mech")))
            exec(asked["after"], space | {"mechanism": mechanism})
            found = identity.identified(mechanism, caches=True)
            said = [found.sealed(), list(found.unseen), list(found.left_out)]
        except sealing.Unidentified as error:
            said = ["", [str(error)], []]
        except BaseException as error:
            said = ["failed: " + repr(error), [], []]
        print(json.dumps(said), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:  # it ended without an answer, for which its asker would wait for ever
        print(json.dumps([f"failed: ended with {status}", [], []]), flush=True)
"""


class Looking:
    """Asks the process that forks."""

    def __init__(self):
        quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([sys.executable, "-c", SERVER], env=environment, **quiet)

    def __call__(self, folder, state):
        asked = {"folder": str(folder), "environment": state.environment, "what": state.what}
        asked |= {"before": state.before, "after": state.after}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        sealed, unseen, left_out = json.loads(self.process.stdout.readline())
        assert not sealed.startswith("failed"), sealed
        return sealed, unseen, left_out


@pytest.fixture(scope="module")
def look():
    looking = Looking()
    yield looking
    looking.process.communicate()


@dataclass
class State:
    """A mechanism in its surroundings: files, variables, and what runs around its import."""

    files: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    before: str = ""
    after: str = ""
    what: str = "mechanism"

    def written(self, folder):
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
            path.write_bytes(content)
        return self


def mech(text, **files):
    """Return the files of a module, and others whose dots are two low lines."""
    others = {name.replace("__", "."): content for name, content in files.items()}
    return {"mech.py": text, **others}


def code(body, head="import os\n"):
    return f"{head}def mechanism(data, trials, rng):\n    {body}\n    return data\n"


def installed(body, version="1.0", url=None, name="noisepkg", **others):
    """Return the files of an installed package, as an installer would write them."""
    import base64
    import hashlib

    files = {f"{name}/__init__.py": body, **others}
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).decode()
        lines.append(f"{path},sha256={digest.rstrip('=')},{len(content)}\n")
    info = f"{name}-{version}.dist-info"
    files |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/RECORD": "".join(lines) + f"{info}/RECORD,,\n",
        f"{info}/top_level.txt": f"{name}\n",
    }
    if url is not None:
        files[f"{info}/direct_url.json"] = json.dumps(url)
    return {f"site-packages/{path}": content for path, content in files.items()}


USES = "import noisepkg\ndef mechanism(data, trials, rng):\n    return noisepkg.draw(data)\n"
FROM = USES.replace("import noisepkg", "from noisepkg import draw").replace("noisepkg.draw", "draw")
LAZY = "def mechanism(data, trials, rng):\n    import noisepkg\n    return noisepkg.draw(data)\n"
DRAW = "def draw(data):\n    return data * {}\n"
NEEDS = "Metadata-Version: 2.1\nName: noisepkg\nVersion: 1.0\nRequires-Dist: deeper>=0\n"
THROUGH = "import deeper\ndef draw(data):\n    return deeper.draw(data)\n"


def through(scale):
    files = installed(THROUGH) | installed(DRAW.format(scale), name="deeper")
    files["site-packages/noisepkg-1.0.dist-info/METADATA"] = NEEDS
    return {"mech.py": USES, **files}


def with_package(text, scale, **others):
    return {"mech.py": text, **installed(DRAW.format(scale), **others)}


def edited(scale):
    """Return a package whose file was edited where it lies: RECORD says what was installed."""
    files = with_package(USES, "1")
    files["site-packages/noisepkg/__init__.py"] = DRAW.format(scale)
    return files


def from_git(commit):
    url = {"url": "https://example.org/n.git", "vcs_info": {"vcs": "git", "commit_id": commit}}
    return with_package(USES, "1", url=url)


DATACLASS = """
from dataclasses import dataclass
@dataclass{}
class Noisy:
    scale: float = 1.0
    def sample(self, data, trials, rng):
        return data * self.hidden
mechanism = Noisy()
object.__setattr__(mechanism, "hidden", {})
"""
SLOTS = """
class Noisy:
    __slots__ = ("scale",)
    def sample(self, data, trials, rng):
        return data * self.scale
mechanism = Noisy()
mechanism.scale = {}
"""
DROPS = """
class Noisy:
    def __init__(self, scale):
        self.scale = scale
    def __getstate__(self):
        return {{}}
    def sample(self, data, trials, rng):
        return data * self.scale
mechanism = Noisy({})
"""
CACHED = """
from functools import cached_property
class Noisy:
    factor = 2
    @cached_property
    def scale(self):
        return self.factor * 3
    def sample(self, data, trials, rng):
        return data * self.scale
mechanism = Noisy()
"""
ANSWERS = """
from functools import {kind}
import os
SETTING = [1]
@{kind}
def scale():
    return SETTING[0]
def mechanism(data, trials, rng):
    return data * scale()
"""
FILLED = "m = __import__('mech'); m.SETTING[0] = {}; m.scale(); m.SETTING[0] = 1"
BY_NAME = """
def noise_a(x):
    return x * SCALE
SCALE = {}
def mechanism(data, trials, rng):
    return globals()["noise_" + "a"](data)
"""
GETATTR = """
import helping
def mechanism(data, trials, rng):
    return getattr(helping, "noise_" + str(trials))(data)
"""
NESTED = (
    "import package.sub\ndef mechanism(data, trials, rng):\n    return data * package.sub.SCALE\n"
)
IN_PACKAGE = {"package/__init__.py": "", "package/sub.py": "SCALE = 1\n"}
METACLASS = """
class Meta(type):
    def scale(cls):
        return {}
class Noisy(metaclass=Meta):
    def sample(self, data, trials, rng):
        return data * type(self).scale()
mechanism = Noisy()
"""
CALLED = """
import functools
def noisy(scale, self, data):
    return data
class Noisy:
    __call__ = functools.partial(noisy, {})
mechanism = Noisy()
"""
WITH_NAME = "import os\nfrom settings import NAME\n"
COMPILED = sysconfig.get_config_var("EXT_SUFFIX")
EXTENSION = (
    "import importlib.util, sys, types\n"
    "module = types.ModuleType('fast'); module.__file__ = {file!r}\n"
    "sys.modules['fast'] = module; module.draw = types.SimpleNamespace\n"
)


def both(make, one="1.0", other="0.05", **others):
    return State(make(one), **others), State(make(other), **others)


def variable(text, name="SCALE", files=None):
    files = {"mech.py": text, **(files or {})}
    return State(files, {name: "1"}), State(files, {name: "2"})


def pair_of(text, one, other, name="params.json"):
    return State({"mech.py": text, name: one}), State({"mech.py": text, name: other})


def around(text, one, other, *, before=False, **files):
    place = "before" if before else "after"
    files = {"mech.py": text, **files}
    return tuple(State(files, **{place: what}) for what in (one, other))


# Each a state, and one in which the mechanism may draw other numbers.
WAYS = {
    # code
    "its own code": both(lambda n: mech(code(f"data = data * {n}"))),
    "a helper beside it": both(
        lambda n: mech("import other\n" + code("other.f(data)", ""), other__py=DRAW.format(n))
    ),
    "a helper that is imported late": both(
        lambda n: mech(code("import other; data = other.draw(data)"), other__py=DRAW.format(n))
    ),
    "a helper that a text names": both(
        lambda n: mech(
            code("data = importlib.import_module('other').draw(data)", "import importlib\n"),
            other__py=DRAW.format(n),
        )
    ),
    "a helper's name that is worked out": both(lambda n: mech(BY_NAME.format(n))),
    "a helper's name that is worked out, in a module changed at run time": around(
        BY_NAME.format(1), "", "__import__('mech').SCALE = 2"
    ),
    "a name of another module that is worked out": both(
        lambda n: mech(GETATTR, helping__py=f"SCALE = {n}\ndef noise_1(x):\n    return x * SCALE\n")
    ),
    "a name of another module, changed at run time": around(
        GETATTR,
        "",
        "__import__('helping').noise_1 = lambda x: 7",
        **{"helping.py": "def noise_1(x):\n    return x\n"},
    ),
    "a module's name that is worked out": both(
        lambda n: mech(
            code(
                "data = importlib.import_module('oth' + str(trials)).draw(data)",
                "import importlib\n",
            ),
            oth1__py=DRAW.format(n),
        )
    ),
    "a number in a module of a package": around(
        NESTED, "", "__import__('package.sub').sub.SCALE = 2", **IN_PACKAGE
    ),
    "a default": both(lambda n: mech(f"def mechanism(data, trials, rng, scale={n}): return data")),
    "a closure": both(
        lambda n: mech(f"def f(n):\n    return lambda data, trials, rng: n\nmechanism = f({n})")
    ),
    "a metaclass": both(lambda n: mech(METACLASS.format(n))),
    "what is called in a class": both(lambda n: mech(CALLED.format(n))),
    "code that is evaluated": around(
        "TEXT = 'data * 1'\n" + code("data = eval(TEXT)"),
        "",
        "__import__('mech').TEXT = 'data * 2'",
    ),
    "a compiled module": tuple(
        State(
            {"mech.py": "from fast import draw\n" + code("draw(data)", ""), f"fast{COMPILED}": n},
            before="import sys, types\n"
            f"m = sys.modules['fast'] = types.ModuleType('fast'); m.__file__ = 'fast{COMPILED}'\n"
            "import math, os; m.__file__ = os.path.abspath(m.__file__)\n"
            "class draw: __module__ = 'fast'\n"
            "m.draw = draw",
        )
        for n in (b"\x7fELF one", b"\x7fELF two")
    ),
    "a library of C": pair_of(
        code("data = ctypes.CDLL('./libnoise.so').draw(data)", "import ctypes\n"),
        b"\x7fELF one",
        b"\x7fELF two",
        "libnoise.so",
    ),
    # objects
    "an attribute that is no field": both(lambda n: mech(DATACLASS.format("", n))),
    "an attribute of frozen fields": both(lambda n: mech(DATACLASS.format("(frozen=True)", n))),
    "an attribute in a slot": both(lambda n: mech(SLOTS.format(n))),
    "an attribute that pickling leaves out": both(lambda n: mech(DROPS.format(n))),
    "a property that was kept": around(CACHED, "", "mechanism.scale = 7"),
    "a property of a changed class": around(
        CACHED, "mechanism.scale", "type(mechanism).factor = 5; mechanism.scale"
    ),
    "answers of a cache": around(
        ANSWERS.format(kind="cache"), FILLED.format(1), FILLED.format(2), before=True
    ),
    "answers of a bounded cache": around(
        ANSWERS.format(kind="lru_cache"), FILLED.format(1), FILLED.format(2), before=True
    ),
    # the environment
    "a variable": variable(code("scale = os.environ['SCALE']")),
    "a variable by a constant": variable(
        code("scale = os.environ[NAME]", "import os\nNAME = 'SCALE'\n")
    ),
    "a variable by another module's constant": variable(
        WITH_NAME + code("scale = os.getenv(NAME, '1')", ""),
        files={"settings.py": "NAME = 'SCALE'\n"},
    ),
    "a variable by another name of the environment": variable(
        code("scale = e.get('SCALE', 1)", "from os import environ as e\n")
    ),
    "a variable by a function's alias": variable(
        code("scale = read('SCALE')", "import os\nread = os.environ.get\n")
    ),
    "a variable by a local name": variable(code("name = 'SCALE'; scale = os.environ[name]")),
    "a variable in a module that is imported late": variable(
        code("import late; data = late.f()"),
        files={"late.py": "import os\nNAME = 'SCALE'\ndef f():\n    return os.environ[NAME]\n"},
    ),
    "a variable whose name is worked out": variable(code("scale = os.environ['SC' + str(trials)]")),
    "all variables": variable(code("data = dict(os.environ)")),
    "all variables, handed on": variable(
        "import os\ndef g(e):\n    return e['SCALE']\n" + code("g(os.environ)", "")
    ),
    # files, programs, networks
    "a file": pair_of(code("data = open('params.json').read()"), "1", "2"),
    "a file beside the code": pair_of(
        code(
            "data = (Path(__file__).parent / NAME).read_text()",
            "from pathlib import Path\nNAME = 'params.json'\n",
        ),
        "1",
        "2",
    ),
    "a file of arrays": pair_of(
        code("data = np.load('params.npy')", "import numpy as np\n"), b"1", b"2", "params.npy"
    ),
    "a table": pair_of(
        code("data = pd.read_csv('t.csv')", "import pandas as pd\n"), "1", "2", "t.csv"
    ),
    "a file whose name is worked out": pair_of(code("data = open(str(data)).read()"), "1", "2"),
    "another program": pair_of(
        code("subprocess.run(['java', '-jar', 'm.jar'])", "import subprocess\n"), "1", "2", "m.jar"
    ),
    "a shell": pair_of(code("os.system('./draw')"), "1", "2", "draw"),
    "a network": pair_of(
        code("urlopen('http://localhost/scale')", "from urllib.request import urlopen\n"), "1", "2"
    ),
    "the words of the command": around(
        code("data = data * float(sys.argv[1])", "import sys\n"),
        "import sys; sys.argv = ['a', '1']",
        "import sys; sys.argv = ['a', '2']",
        before=True,
    ),
    # libraries
    "a package of the same version": both(lambda n: with_package(USES, n)),
    "a package, named by what it gives": both(lambda n: with_package(FROM, n)),
    "a package that is imported late": both(lambda n: with_package(LAZY, n)),
    "a package's version": (
        State(with_package(USES, 1)),
        State(with_package(USES, 1, version="2")),
    ),
    "a package that was edited where it lies": both(edited),
    "a package of another commit": both(from_git, "a" * 40, "b" * 40),
    "a package that a package needs": both(through),
    "a package that no installer knows": both(
        lambda n: {"mech.py": USES, "site-packages/noisepkg/__init__.py": DRAW.format(n)}
    ),
}


# What stands for a way that nobody sees; every other way is seen.
NAMED = {
    "a module's name that is worked out": "modules whose names it works out",
    "a variable whose name is worked out": "variables of the environment whose names it works out",
    "all variables": "all variables of the environment",
    "all variables, handed on": "all variables of the environment",
    "a file whose name is worked out": "files whose names it works out",
    "another program": "what another program answers",
    "a shell": "what another program answers",
    "a network": "what a network answers",
    "the words of the command": "the words of the command",
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_changes_the_identity_or_is_named(look, tmp_path, way):
    looks = looked_at(look, tmp_path, WAYS[way])
    for _, unseen, _ in looks:
        assert [one.rpartition(" (")[0] for one in unseen] == ([NAMED[way]] if way in NAMED else [])
    assert way in NAMED or looks[0][0] != looks[1][0]


def looked_at(look, tmp_path, states):
    looks = []
    for number, state in enumerate(states):
        folder = tmp_path / str(number)
        folder.mkdir()
        looks.append(look(folder, state.written(folder)))
    return looks


def test_there_are_forty_ways_and_most_are_seen():
    assert len(WAYS) - len(NAMED) >= 40


LOCAL = {"url": "file:///home/{}/noisepkg", "dir_info": {"editable": False}}
SHARES = code("scale = environ['SCALE']", "from os import environ\n")
METHODS = """
class Noisy:
    def sample(self, data, trials, rng):
        return data
    @classmethod
    def from_file(cls, path):
        return cls(open(path).read())
mechanism = Noisy()
"""
MAIN = """
import argparse, subprocess
def mechanism(data, trials, rng):
    return data
def main(words):
    subprocess.run(words)
    open(words[0]).read()
"""
VOUCHED = """
def mechanism(data, trials, rng):
    return open(str(data)).read()
mechanism.__identity__ = "of the first of May"
"""
WRITES = "import time\n" + code("open(str(data), 'a').write('x'); t = time.time()")
# Each a state, and one in which nothing that matters is another.
SAME = {
    "another folder": both(lambda _: mech(code("data = data"))),
    "shares of a job": tuple(
        State(mech(SHARES), {"SCALE": "1", "SLURM_JOB_ID": n, "SLURM_ARRAY_TASK_ID": n})
        for n in "12"
    ),
    "a variable that nobody reads": tuple(
        State(mech(SHARES), {"SCALE": "1", "A": n}) for n in "12"
    ),
    "a file that nobody reads": pair_of(code("data = data"), "1", "2"),
    "a module that nobody imports": both(
        lambda n: mech(code("data = data"), other__py=DRAW.format(n))
    ),
    "a package installed again": both(lambda _: with_package(USES, 1)),
    "a package from another folder": both(
        lambda n: with_package(USES, 1, url={**LOCAL, "url": LOCAL["url"].format(n)})
    ),
    "a package that nobody names": both(
        lambda n: {**mech(code("data = data")), **installed(DRAW.format(n))}
    ),
    "a property that was worked out": around(CACHED, "", "mechanism.scale"),
    "a method that nobody calls": both(lambda _: mech(METHODS)),
    "the main part of a script": both(lambda _: mech(MAIN)),
    "what is written": both(lambda _: mech(WRITES)),
    "what its author answers for": both(lambda _: mech(VOUCHED)),
    "a lock": around("import threading\nL = threading.Lock()\n" + code("L.acquire()"), "", ""),
}


@pytest.mark.parametrize("what", SAME)
def test_nothing_is_drawn_again_without_need(look, tmp_path, what):
    looks = looked_at(look, tmp_path, SAME[what])
    assert looks[0] == looks[1]
    assert looks[0][1] == []


def test_what_differs_by_its_nature_is_named(look, tmp_path):
    body = "import time\n" + code("t = time.time(); j = os.environ['SLURM_JOB_ID']")
    state = State(mech(body), {"SLURM_JOB_ID": "1"})
    _, unseen, left_out = look(tmp_path, state.written(tmp_path))
    assert (unseen, left_out) == ([], ["the clock (mech.mechanism)", "the variable SLURM_JOB_ID"])
