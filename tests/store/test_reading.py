"""What the code of a function reads, construct by construct, as a table says it."""

from __future__ import annotations

import ast
import asyncio
import configparser
import ctypes
import datetime
import gc
import getpass
import gzip
import importlib
import inspect
import io
import multiprocessing
import operator
import os
import pathlib
import platform
import posixpath
import runpy
import socket
import sqlite3
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.parse
import urllib.request
from functools import partial
from multiprocessing import shared_memory
from types import ModuleType

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.io

import dpaudit.store.reading as reading
from dpaudit.store.reading import (
    Reads,
    _FunctionReader,
    join_reads,
    reads_in,
    reads_of,
    variables_in,
)

MODULES = {
    one.__name__: one
    for one in (
        *(asyncio, configparser, ctypes, datetime, gc, getpass, gzip, importlib, inspect, io),
        *(multiprocessing, operator, os, pathlib, platform, posixpath, runpy, socket, sqlite3),
        *(subprocess, sys, tarfile, time, tomllib, urllib, joblib, scipy),
    )
}
SCOPE = MODULES | {
    "np": np, "pd": pd, "environ": os.environ, "NAME": "SCALE", "DATA": "/no/such/data.csv",
    "HERE": pathlib.Path("/no/such/here.py"), "getenv": os.getenv, "get": os.environ.get,
    "loadmat": scipy.io.loadmat, "connect": sqlite3.connect, "taropen": tarfile.open,
    "joblib_load": joblib.load, "np_load": np.load, "shared": shared_memory.SharedMemory,
    "Manager": multiprocessing.Manager, "ask": getpass.getpass, "listdir": os.listdir,
    "opening": partial(open, "/no/such/data.csv"), "opens": partial(open),
    "runs": partial(subprocess.run, "ls"), "uname": os.uname, "hostname": socket.gethostname,
}  # fmt: skip


def reads(source, **scope):
    """Return what a function with such a body reads; without whose it is."""
    lines = "".join(f"    {line}\n" for line in source.splitlines())
    (node,) = ast.parse(f"def f(x, y):\n{lines}").body
    found = _FunctionReader("f", SCOPE | scope, node).found()
    sets = (frozenset(one.removesuffix(" (f)") for one in some) for some in found[1:])
    return Reads(found.by_name, *sets)


# Variables


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("os.environ['A']", {"A"}),
        ("os.environb[b'A']", {"A"}),
        ("os.environ[NAME]", {"SCALE"}),
        ("environ['A']", {"A"}),
        ("'A' in os.environ", {"A"}),
        ("'A' not in os.environ", {"A"}),
        ("os.environ.get('A')", {"A"}),
        ("os.environ.get(key='A')", {"A"}),
        ("os.environ.get(default='A', key='B')", {"B"}),
        ("os.environ.setdefault('A', 'B')", {"A"}),
        ("os.environ.pop('A', 'B')", {"A"}),
        ("os.getenv('A', 'B')", {"A"}),
        ("os.getenvb(b'A')", {"A"}),
        ("getenv('A')", {"A"}),
        ("get('A')", {"A"}),
        ("e = os.environ\ne['A']", {"A"}),
        ("name = 'A'\nos.environ[name]", {"A"}),
        ("(n := 'A')\nos.environ[n]", {"A"}),
        ("from os import environ as e\ne['A']", {"A"}),
        ("os.path.expandvars('$A/${B}/C')", {"A", "B"}),
        ("os.path.expandvars(path='$A')", {"A"}),
        ("os.path.expanduser('~')", {"HOME"}),
        ("pathlib.Path.home()", {"HOME"}),
        ("os.environ['A'] = 'B'", set()),
        ("os.environ.update(A='B')", set()),
        ("os.environ.clear()", set()),
        ("'A' in x", set()),
        ("x['A']", set()),
        ("x.get('A')", set()),
    ],
)
def test_variables_are_those_whose_names_are_worked_out(source, names):
    assert reads(source) == Reads(variables=frozenset(names), imports=reads(source).imports)


@pytest.mark.parametrize(
    "source",
    [
        "os.environ[x]",
        "x in os.environ",
        "os.environ.get(x)",
        "os.environ.get(default='A')",
        "os.getenv(x)",
        "os.path.expandvars(x)",
        "name = 'A'\nname = x\nos.environ[name]",
        "os.getenv(y.NAME)",
        "NAME = x\nos.getenv(NAME)",
    ],
)
def test_variables_whose_names_are_not_worked_out_are_unseen(source):
    unseen = {"variables of the environment whose names it works out"}
    assert reads(source) == Reads(unseen=frozenset(unseen))


@pytest.mark.parametrize(
    "source",
    [
        "dict(os.environ)",
        "os.environ.items()",
        "os.environ.copy()",
        "return os.environ",
        "x(environ)",
        "[os.environ]",
    ],
)
def test_the_environment_handed_on_is_all_of_it(source):
    assert reads(source).unseen == {"all variables of the environment"}


# Files


@pytest.mark.parametrize(
    "source",
    [
        "open(DATA)",
        "open(file=DATA)",
        "open(DATA, 'rb')",
        "open(DATA, mode='r+')",
        "open(DATA, 'w+')",
        "open(DATA, x)",
        "io.open(DATA)",
        "gzip.open(DATA)",
        "np.load(DATA)",
        "np.loadtxt(DATA)",
        "pd.read_csv(DATA)",
        "opening()",
        "opens(DATA)",
        "opens(file=DATA)",
        "os.path.isfile(DATA)",
        "os.stat(DATA)",
        "sqlite3.connect(DATA)",
        "connect(DATA)",
        "taropen(DATA)",
        "loadmat(DATA)",
        "joblib_load(DATA)",
        "np_load(DATA)",
        "pathlib.Path(DATA).read_text()",
        "pathlib.Path(DATA).read_bytes()",
        "pathlib.Path(DATA).open()",
        "pathlib.Path(DATA).exists()",
        "pathlib.Path(DATA).stat()",
        "HERE.with_name('data.csv').read_text()",
        "(HERE.parent / 'data.csv').open('rb')",
        "ctypes.cdll.LoadLibrary(DATA)",
        "runpy.run_path(DATA)",
        "configparser.ConfigParser().read(DATA)",
        "place = DATA\nopen(place)",
    ],
)
def test_a_file_is_known_by_its_name(source):
    assert reads(source) == Reads(files=frozenset({"/no/such/data.csv"}))


@pytest.mark.parametrize(
    "source",
    [
        "open(DATA, 'w')",
        "open(DATA, 'a')",
        "open(DATA, 'xb')",
        "open(DATA, mode='w')",
        "open(x, 'w')",
        "pathlib.Path(DATA).open('w')",
        "pathlib.Path(DATA).open(mode='a')",
        "open(3)",
        "tomllib.load(x)",
        "x.exists(y)",
        "x.read(y)",
        "HERE.with_name(DATA)",
        "print(DATA)",
    ],
)
def test_what_is_written_or_open_already_is_no_file(source):
    assert reads(source) == Reads()


@pytest.mark.parametrize(
    "source",
    [
        "open(x)",
        "open(True)",
        "open(file=x)",
        "open(x, 'r+')",
        "np.load(x)",
        "np_load(x)",
        "loadmat(x)",
        "connect(x)",
        "taropen(x)",
        "joblib_load(x)",
        "pd.read_csv(x)",
        "opens(x)",
        "opens()",
        "x.read_text()",
        "x.open()",
        "x.exists()",
        "x.is_file()",
        "os.path.exists(x)",
        "np.ctypeslib.load_library(x, '/a')",
        "np.ctypeslib.load_library('a', x)",
        "map(open, x)",
        "x(np.load)",
        "[taropen]",
        "configparser.ConfigParser().read(x)",
    ],
)
def test_files_whose_names_are_not_worked_out_are_unseen(source):
    assert reads(source) == Reads(unseen=frozenset({"files whose names it works out"}))


def test_files_are_plain_and_not_too_large(tmp_path, monkeypatch):
    data = tmp_path / "d.bin"
    data.write_bytes(b"abc")
    assert reads("open(D)", D=str(data)) == Reads(files=frozenset({str(data)}))
    assert reads("open(D)", D=os.fsencode(data)) == Reads(files=frozenset({str(data)}))
    assert reads("open(D)", D=tmp_path).unseen == {f"{tmp_path.name}, which is no plain file"}
    monkeypatch.setattr(reading, "_LARGEST", 3)
    assert reads("open(D)", D=data).files == {str(data)}
    monkeypatch.setattr(reading, "_LARGEST", 2)
    assert reads("open(D)", D=data) == Reads(unseen=frozenset({"d.bin, a file of more than 1 GiB"}))


def test_a_file_among_the_arguments_counts_whoever_reads_it(tmp_path):
    data = tmp_path / "d.csv"
    data.touch()
    found = Reads(files=frozenset({str(data)}))
    for source in ("x(D)", "x.parse(1, D)", "x(source=D)", "y.load(D)", "x(str(D))"):
        assert reads(source, D=data) == found, source
    for source in ("x.save(D)", "x.to_csv(D)", "os.remove(D)", "x.append(D)", "open(D, 'w')"):
        assert reads(source, D=data) == Reads(), source
    assert reads("x(D)", D=str(tmp_path)) == reads("x(D)", D=f"{data}\0") == Reads()
    assert reads("x(D)", D="") == reads("x(D)", D=b"a") == Reads()


def test_a_library_of_c_is_looked_for_with_its_ending(tmp_path):
    source = "np.ctypeslib.load_library('lib', FOLDER)"
    assert reads(source, FOLDER=str(tmp_path)).files == {str(tmp_path / "lib")}
    (tmp_path / "lib.so").touch()
    assert reads(source, FOLDER=str(tmp_path)).files == {str(tmp_path / "lib.so")}
    (tmp_path / "lib").touch()
    assert reads(source, FOLDER=str(tmp_path)).files == {str(tmp_path / "lib")}
    named = "np.ctypeslib.load_library(libname='lib', loader_path=FOLDER)"
    assert reads(named, FOLDER=str(tmp_path)).files == {str(tmp_path / "lib")}


# Elsewhere


@pytest.mark.parametrize(
    ("source", "unseen"),
    [
        ("os.listdir(x)", "what stands in a folder"),
        ("listdir(x)", "what stands in a folder"),
        ("x.glob('*')", "what stands in a folder"),
        ("input()", "what is typed in"),
        ("getpass.getpass()", "what is typed in"),
        ("ask()", "what is typed in"),
        ("sys.stdin.readline()", "what is typed in"),
        ("sys.argv[1]", "the words of the command"),
        ("sys.path", "folders that modules are looked for in"),
        ("sys._getframe(1)", "what the rest of the program holds"),
        ("gc.get_objects()", "what the rest of the program holds"),
        ("gc.get_referrers(x)", "what the rest of the program holds"),
        ("gc.get_referents(x)", "what the rest of the program holds"),
        ("inspect.stack()", "what the rest of the program holds"),
        ("x.__subclasses__()", "what the rest of the program holds"),
        ("shared('a')", "what another process holds"),
        ("multiprocessing.Manager()", "what another process holds"),
        ("Manager()", "what another process holds"),
        ("subprocess.run(x)", "what another program answers"),
        ("runs()", "what another program answers"),
        ("os.system(x)", "what another program answers"),
        ("os.popen(x)", "what another program answers"),
        ("os.execv(x, y)", "what another program answers"),
        ("os.posix_spawn(x, y)", "what another program answers"),
        ("asyncio.create_subprocess_exec(x)", "what another program answers"),
        ("asyncio.open_connection(x)", "what a network answers"),
        ("urllib.request.urlopen(x)", "what a network answers"),
        ("socket.create_connection(x)", "what a network answers"),
        ("importlib.import_module(x)", "modules whose names it works out"),
        ("__import__(x)", "modules whose names it works out"),
        ("importlib.util.find_spec('a')", "code that it loads while it runs"),
        ("runpy.run_module('a')", "code that it loads while it runs"),
        ("sys.modules[x]", "modules that it looks up"),
    ],
)
def test_what_comes_from_elsewhere_is_unseen_by_its_kind(source, unseen):
    assert reads(source).unseen == {unseen}


@pytest.mark.parametrize(
    ("source", "left_out"),
    [
        ("time.time()", "the clock"),
        ("time.monotonic_ns()", "the clock"),
        ("datetime.datetime.now()", "the clock"),
        ("datetime.date.today()", "the clock"),
        ("os.getpid()", "where it runs"),
        ("os.uname()", "where it runs"),
        ("uname()", "where it runs"),
        ("hostname()", "where it runs"),
        ("socket.gethostname()", "where it runs"),
        ("platform.node()", "where it runs"),
        ("sys.flags.optimize", "how Python was started"),
    ],
)
def test_clock_and_place_are_left_out_by_name(source, left_out):
    assert reads(source) == Reads(left_out=frozenset({left_out}))


@pytest.mark.parametrize(
    ("source", "by_name"),
    [
        ("getattr(x, y)", True),
        ("getattr(x, 'a')", False),
        ("getattr(x, NAME)", False),
        ("globals()['a']", True),
        ("locals()", True),
        ("vars(x)", True),
        ("eval(x)", True),
        ("x.eval(y)", False),
        ("operator.attrgetter(x)", True),
        ("operator.methodcaller('a')", True),
        ("operator.itemgetter(1)", False),
        ("x.__globals__", True),
        ("x.__dict__", False),
        ("os.__dict__", True),
        ("sys.modules.get('a')", True),
        ("sys.modules[__name__]", True),
        ("time.sleep(1)", False),
        ("urllib.parse.quote(x)", False),
        ("np.sum(x)", False),
        ("len(x)", False),
    ],
)
def test_names_that_are_worked_out_are_told(source, by_name):
    assert reads(source, __name__="m") == Reads(by_name=by_name)


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("import a.b, c as d", {"a.b", "c"}),
        ("from a import b as c, d", {"a", "a.b", "a.d"}),
        ("from . import a", {"p.q", "p.q.a"}),
        ("from .a import b", {"p.q.a", "p.q.a.b"}),
        ("from .. import a", {"p", "p.a"}),
        ("from ..a import b", {"p.a", "p.a.b"}),
        ("importlib.import_module('a.b')", {"a.b"}),
        ("importlib.import_module(name='.c')", {"p.q.c"}),
        ("__import__('a')", {"a"}),
    ],
)
def test_imports_have_their_whole_names(source, imports):
    assert reads(source, __package__="p.q") == Reads(imports=frozenset(imports))


# Whole functions and files


SCALE = "DPAUDIT_TEST_SCALE"


def reads_a_variable(x):
    return x + float(os.environ[SCALE])


def closing_over(name):
    def inner(x):
        return os.getenv(name)

    return inner


def before_it_is_set():
    def inner(x):
        return os.getenv(late)

    found = reads_of(inner)
    late = "A"
    return found, reads_of(inner), late


def test_a_function_is_read_with_what_its_names_stand_for():
    assert reads_of(reads_a_variable).variables == {SCALE}
    assert reads_of(closing_over("A")) == Reads(variables=frozenset({"A"}))
    unset, later, _ = before_it_is_set()
    assert unset.variables == set()
    assert [one.partition(" (")[2] for one in unset.unseen] == [
        f"{__name__}.before_it_is_set.<locals>.inner)"
    ]
    assert later == Reads(variables=frozenset({"A"}))


def test_a_function_without_source_is_guessed_at():
    made = {}
    exec("def f(x):\n    return getenv('A') + x", {"getenv": os.getenv}, made)
    assert reads_of(made["f"]).variables == {"A"}


FILE = """
import os
from pathlib import Path
NAME = "A"
DATA = Path(__file__).with_name("d.csv").read_text()
def f(x):
    return os.environ[NAME]
class C:
    def g(self, NAME):
        return os.environ[NAME]
    def h(self):
        return os.getenv("B")
"""


def test_a_file_is_read_with_its_functions_and_methods(tmp_path):
    path = tmp_path / "no_such_module.py"
    path.write_text(FILE)
    found = reads_in(path, "no_such_module")
    assert found.variables == {"A", "B"} == variables_in(path)
    assert found.files == {str(tmp_path / "d.csv"), str(path)}  # it names itself
    hidden = "variables of the environment whose names it works out"
    assert found.unseen == {f"{hidden} (no_such_module (no_such_module.py))"}
    assert found.imports == {"os", "pathlib", "pathlib.Path"}
    path.unlink()
    gone = Reads(unseen=frozenset({"no_such_module.py, which cannot be read"}))
    assert reads_in(path, "no_such_module") == gone
    assert variables_in(path) == frozenset()


def test_names_of_a_loaded_module_are_what_it_holds(tmp_path, monkeypatch):
    path, loaded = tmp_path / "no_such_module.py", ModuleType("no_such_module")
    path.write_text("import os\nNAME = 'A'\ndef f(x):\n    return os.environ[NAME]\n")
    loaded.NAME, loaded.os = "B", os
    monkeypatch.setitem(sys.modules, "no_such_module", loaded)
    assert reads_in(path, "no_such_module").variables == {"B"}
    assert reads_in(path, "another").variables == {"A"}
    assert variables_in(path) == {"A"}


def test_joined_reads_are_the_union_of_each_part():
    parts = [
        Reads(False, *(frozenset({f"a{number}"}) for number in range(5))),
        Reads(True, *(frozenset({f"b{number}"}) for number in range(5))),
    ]
    assert join_reads(parts) == Reads(True, *(frozenset({f"a{n}", f"b{n}"}) for n in range(5)))
    assert join_reads(parts[:1]) == parts[0]
