"""Noise that an import puts on something of others' is looked for, wherever it was put."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest

from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.mechanisms.foreign.reached_state import find_touches
from dpaudit.watching.containing import contains

_KEEPS = {
    "a name": "KEY = open('key').read()",
    "a name that is changed": "TABLE = {}\nTABLE['key'] = open('key').read()\nTABLE.update(a=1)",
    "a block": "try:\n    with open('key') as held:\n        KEY, *_ = held.read().split()\n"
    "except OSError:\n    KEY = ''",
    "a function": "def made():\n    found = []\n    found.append(open('key').read())\n"
    "    return found\nKEY = made()",
    "a class": "class Config:\n    def __init__(self):\n        self.key = open('key').read()\n"
    "CONFIG = Config()",
    "a decorator": "from functools import lru_cache\n@lru_cache(maxsize=4)\ndef f(): return 1",
    "a decorator of its own": "TABLE = {}\ndef put(one):\n    TABLE[one.__name__] = one\n"
    "    return one\n@put\ndef f(): return 1",
    "settings of libraries": "import logging, warnings, numpy as np\n"
    "logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
    "log = logging.getLogger(__name__)\nlog.addHandler(logging.NullHandler())\n"
    "warnings.filterwarnings('ignore', category=DeprecationWarning)\n"
    "np.set_printoptions(precision=3, suppress=True)",
    "settings worked out of constants": "import logging, sys\nsys.setrecursionlimit(10 ** 4)\n"
    "logging.basicConfig(level=-logging.INFO, handlers=[logging.NullHandler()])",
    "arguments": "import argparse\nparser = argparse.ArgumentParser(description='x')\n"
    "parser.add_argument('--n', type=int, default=3)",
    "types": "import re\nfrom dataclasses import dataclass, field\n"
    "from typing import Generic, TypeVar\n"
    "T = TypeVar('T')\nWORD = re.compile('a+')\n@dataclass(frozen=True)\nclass Own(Generic[T]):\n"
    "    held: list = field(default_factory=list)",
    "a cache": "import functools\ndef f(x): return x\nfast = functools.lru_cache(maxsize=None)(f)",
    "a path": "from pathlib import Path as P\n"
    "HERE = P(__file__).resolve().parent\nassert HERE.exists()",
    "a script": "if __name__ == '__main__':\n    import hashlib\n    hashlib.key = 1",
    "a script the other way round": "if '__main__' == __name__:\n    import hashlib\n"
    "    hashlib.key = 1\nelse:\n    KEY = open('key').read()",
    "no script": "if __name__ != '__main__':\n    KEY = open('key').read()",
    "an end": "KEY = open('key').read()\nTABLE = {'key': KEY}\ndel KEY, TABLE['key']",
    "annotations": "from typing import Annotated\nimport lib\n"
    "def f(x: Annotated[list[int], lib.Option(help='x')], *more: int) -> int: return 1",
    "loops in a value": "KEYS = {a: b for a, (b, *_) in zip(range(3), open('key').read())}",
}
# Each runs in an import, or may: tests that name `__name__`, and all that a statement holds.
_PUTS_IN_BLOCKS = {
    "the body of no script": "if __name__ != '__main__':\n    {put}",
    "the other branch of a script": "if __name__ == '__main__':\n    pass\nelse:\n    {put}",
    "another name": "if __name__ == 'source':\n    {put}",
    "a script or more": "if __name__ == '__main__' or True:\n    {put}",
    "a part of a name": "if '__main__' in __name__ + '__main__':\n    {put}",
    "a name that is given": "__name__ = '__main__'\nif __name__ == '__main__':\n    {put}",
    "a name that is a parameter": "def f(__name__):\n    if __name__ == '__main__':\n"
    "        {put}\nf('__main__')",
    "while": "while __name__ != '__main__':\n    {put}\n    break",
    "the end of while": "while __name__ == '__main__':\n    pass\nelse:\n    {put}",
    "for": "for _ in __name__:\n    {put}",
    "try": "try:\n    {put}\nfinally:\n    pass",
    "except": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {put}",
    "finally": "try:\n    pass\nfinally:\n    {put}",
    "with": "with open('key'):\n    {put}",
    "match": "match __name__:\n    case _:\n        {put}",
    "a class": "class Own:\n    if __name__ != '__main__':\n        {put}",
}
_PUTS = {
    "a setting in a list": "import logging\nlogging.basicConfig(handlers=[open('key')])",
    "a setting of an empty list": "import logging\nlogging.basicConfig(handlers=[])",
    "a setting of a sum": "import logging\nKEY = 1\nlogging.basicConfig(level=KEY + 1)",
    "a module": "import hashlib\nhashlib.key = open('key').read()",
    "an alias": "import hashlib\nmine = hashlib\nmine.key = open('key').read()",
    "builtins": "import builtins\nbuiltins.key = open('key').read()",
    "a table of modules": "import sys\nsys.modules['key'] = open('key').read()",
    "setattr": "import hashlib\nsetattr(hashlib, 'key', open('key').read())",
    "a namespace": "import hashlib\nvars(hashlib).update(key=open('key').read())",
    "a class of a library": "from decimal import Decimal as D\nD.key = open('key').read()",
    "a default": "import json\njson.dumps.__kwdefaults__['key'] = open('key').read()",
    "a cache of a library": "import linecache\nlinecache.getline('key', 1)",
    "a cache that a name hides": "import linecache\nLINE = linecache.getline('key', 1)",
    "a context": "import contextvars as c, decimal\nV = decimal.getcontext()\nV.prec = len('key')",
    "a variable of a context": "from lib import V\nTOKEN = V.set(open('key').read())",
    "a registry": "import atexit\natexit.register(print, open('key').read())",
    "a registry by another name": "from atexit import register as load\nload(open('key').read())",
    "a name for a call": "import atexit\nload = atexit.register\nload(open('key').read())",
    "a parameter for a call": "import atexit\ndef put(load, key): load(key)\n"
    "put(atexit.register, open('key').read())",
    "what a call calls": "import atexit\nKEY = sorted([open('key').read()], key=atexit.register)",
    "what maps": "import atexit\nKEY = list(map(atexit.register, open('key')))",
    "a part of a call": "import atexit\nfrom functools import partial\n"
    "partial(atexit.register, open('key').read())()",
    "an assertion": "import atexit\nassert atexit.register(open('key').read())",
    "an error": "import atexit\ntry:\n    raise atexit.register(open('key').read())\n"
    "except TypeError:\n    pass",
    "a logger's name": "import logging\nlogging.getLogger(open('key').read())",
    "a logger's name from a function": "import logging\ndef key(): return open('key').read()\n"
    "logging.getLogger(key())",
    "a method": "import hashlib\nclass Put:\n    def read(key):\n        hashlib.key = key\n"
    "Put.read(open('key').read())",
    "a method that is another's": "import atexit\nclass Put:\n    load = atexit.register\n"
    "Put.load(open('key').read())",
    "a class of a library's": "from lib import Kept\nclass Own(Kept):\n"
    "    key = open('key').read()",
    "its own name for a setting": "import hashlib\ndef use(name):\n"
    "    hashlib.key = open(name).read()\nuse('key')",
    "a list of a library": "from warnings import filters\nfilters += [open('key').read()]",
    "a list under two names": "import sys\nPATH = []\nPATH = sys.path\n"
    "PATH.append(open('key').read())",
    "a helper": "import hashlib\ndef put(key):\n    hashlib.key = key\n    return key\n"
    "KEY = put(open('key').read())",
    "a class that is made": "import hashlib\nclass Put:\n    def __init__(self, key):\n"
    "        hashlib.key = key\nPUT = Put(open('key').read())",
    "a decorator's argument": "from lib import register\nKEY = open('key').read()\n"
    "@register(KEY)\ndef f(): return 1",
    "a metaclass": "from lib import Kept\nclass Own(metaclass=Kept):\n    key = open('key').read()",
    "what is caught": "import atexit\ntry:\n    1 / 0\n"
    "except atexit.register(open('key').read()):\n    pass",
    "a base of a class": "import atexit\nclass Own(atexit.register(open('key').read())): pass",
    "a part of a decorator": "import lib\n@lib.put(open('key').read())('x')\ndef f(): return 1",
    "an annotation": "import lib\ndef f(x: lib.put(open('key').read())): return 1",
    "an annotation of what is returned": "import lib\n"
    "def f() -> lib.put(open('key').read()): return 1",
    "a loop in a value": "import hashlib\nKEYS = [0 for hashlib.key in open('key')]",
    "what is taken away": "import hashlib\nif open('key').read():\n    del hashlib.md5",
    "a parameter": "import hashlib\ndef put(where, key):\n    where.key = key\n"
    "class Own:\n    put(hashlib, open('key').read())",
}


def _file(tmp_path, text):
    (tmp_path / "source.py").write_text(text)
    return str(tmp_path / "source.py")


@pytest.mark.parametrize("what", _KEEPS)
def test_an_import_that_keeps_to_itself(tmp_path, what):
    assert contains(_file(tmp_path, _KEEPS[what]), {})


@pytest.mark.parametrize("what", _PUTS)
def test_an_import_that_may_put_values_elsewhere(tmp_path, what):
    assert not contains(_file(tmp_path, _PUTS[what]), {})


@pytest.mark.parametrize("what", _PUTS_IN_BLOCKS)
def test_a_block_that_may_run_in_an_import(tmp_path, what):
    text = "import hashlib\n" + _PUTS_IN_BLOCKS[what]
    assert not contains(_file(tmp_path, text.format(put="hashlib.key = open('key').read()")), {})
    assert contains(_file(tmp_path, text.format(put="KEY = open('key').read()")), {})


@pytest.mark.parametrize("text", ["KEY = load()", "KEY = helpers.load()"])
def test_a_call_of_another_module_of_the_user(tmp_path, text):
    helpers = ModuleType("helpers")
    helpers.__file__ = str(tmp_path / "helpers.py")
    source = _file(tmp_path, text)
    assert not contains(source, {"load": helpers, "helpers": helpers})
    assert contains(source, {"load": json.load, "helpers": json})


def test_a_call_of_another_module_of_an_installed_package(tmp_path, monkeypatch):
    """Where the code of a package lies tells nothing of what its modules keep."""
    helpers = ModuleType("installed.helpers")
    helpers.__file__ = json.__file__
    monkeypatch.setitem(sys.modules, "installed.helpers", helpers)

    def load():
        """Return nothing."""

    load.__module__ = "installed.helpers"
    source = _file(tmp_path, "KEY = load()")
    assert not contains(source, {"__name__": "installed.release", "load": load})
    assert contains(source, {"__name__": "other", "load": load})


_READS = {
    "module": (
        "import hashlib\nhashlib.noise = float(open(KEY).read())\n"
        "def release(data): return len(data) + hashlib.noise",
        {"file"},
    ),
    "posix": (
        "import posix\ndef release(data): return len(data) + len(posix.environ[b'CONTAINING'])",
        {"environment variable"},
    ),
    "nothing": (
        "TEXT = open(KEY).read()\ndef release(data): return len(data)",
        set(),
    ),
}


@pytest.mark.parametrize("what", _READS)
def test_what_an_import_puts_on_a_library_is_seen(tmp_path, monkeypatch, what):
    text, kinds = _READS[what]
    (tmp_path / "key").write_text("3")
    name = f"containing_{what}"
    (tmp_path / f"{name}.py").write_text(f"KEY = {str(tmp_path / 'key')!r}\n{text}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CONTAINING", "value")
    mechanism = isolate_reference(f"{name}:release", Isolation()).mechanism
    with mechanism.crew:
        touches, rows, failed = find_touches(mechanism, [[1.0, 2.0]], 2, 0, 1)
    assert not failed
    assert rows is not None
    assert {kind for kind, _ in touches} == kinds


def test_every_way_to_read_the_environment_tells():
    code = """
        import os, posix, subprocess, sys
        from dpaudit.watching import environment
        seen = []
        same = dict(os.environ)
        environment.watch(seen.append)
        ways = [
            lambda: posix.environ[b"CONTAINING"], lambda: posix.environ.get(b"CONTAINING"),
            lambda: os.environ["CONTAINING"], lambda: os.getenv("CONTAINING"),
            lambda: os.environb[b"CONTAINING"], lambda: os.environ._data[b"CONTAINING"],
            lambda: dict(posix.environ), lambda: {**posix.environ}, lambda: posix.environ.copy(),
            lambda: list(posix.environ.values()), lambda: dict(os.environ),
            lambda: posix.environ | {},
        ]
        for n, way in enumerate(ways):
            seen.clear()
            way()
            assert seen, n
        assert dict(os.environ) == same
        os.environ["CONTAINING"] = "other"
        assert posix.environ[b"CONTAINING"] == b"other"
        shown = subprocess.run(["/bin/sh", "-c", "echo $CONTAINING"], capture_output=True)
        assert shown.stdout == b"other\\n"
    """
    environment = {**os.environ, "CONTAINING": "value"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)
