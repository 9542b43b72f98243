"""What an identity takes in, part by part: each of these is told from another one that differs."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace

import numpy as np
import pytest

import dpaudit.store.sealing as sealing
from dpaudit.store import libraries, packages
from dpaudit.store.identity import _ValueWalk, identified
from dpaudit.store.keeping import _find_machine_differences
from dpaudit.store.parts import (
    attributes_of,
    cells_of,
    functions_in,
    generate_cached_answers,
    holds_numbers,
    is_its_authors,
    is_method,
    names_in,
    reduces_itself,
    without_caches,
)
from dpaudit.store.sealing import Identity
from dpaudit.store.values import (
    UNKNOWN,
    ExpressionEvaluator,
    ImportSymbol,
    bound_by,
    constants,
    parse_source,
)
from dpaudit.store.variables import says_where


def digest(*values):
    return identified(*values).digest


def with_caches(value):
    return _ValueWalk(True).of(value)


@dataclass
class Held:
    scale: float
    hidden: float = field(default=0.0, repr=False, compare=False)


def with_beside(value):
    made = Held(1.0)
    made.beside = value
    return made


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Reducing:
    def __init__(self, scale, other=0):
        self.scale, self.other = scale, other

    def __reduce__(self):
        return Reducing, (self.scale,)


class Working:
    def __init__(self, scale):
        self.scale = scale

    @cached_property
    def doubled(self):
        return 2 * self.scale


def plain(x):
    return x


def scaled(x, scale):
    return x * scale


def rounds(x):
    yield x


async def awaits(x):
    return x


def not_yet(flag):
    if flag:
        later = 1

    def inner():
        return later

    return inner


DIFFERENT = {
    "functions of a partial": (partial(plain, 1), partial(scaled, 1)),
    "arguments of a partial": (partial(scaled, 1), partial(scaled, 2)),
    "named arguments of a partial": (partial(scaled, scale=1), partial(scaled, scale=2)),
    "names of a partial": (partial(scaled, x=1), partial(scaled, scale=1)),
    "fields": (Held(1.0), Held(2.0)),
    "fields that nothing compares": (Held(1.0, 0.0), Held(1.0, 1.0)),
    "attributes beside fields": (with_beside(1), with_beside(2)),
    "slots": (Slotted(1), Slotted(2)),
    "what pickling writes": (Reducing(1), Reducing(2)),
    "what pickling leaves out": (Reducing(1, 1), Reducing(1, 2)),
    "keys": ({"a": 1}, {"b": 1}),
    "values of keys": ({"a": 1}, {"a": 2}),
    "order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "kinds of dictionaries": ({"a": 1}, OrderedDict(a=1)),
    "sets": ({1, 2}, {1, 3}),
    "kinds of sets": ({1}, frozenset({1})),
    "types": (int, float),
    "scalars of numpy": (np.float32(1), np.float64(1)),
    "values of scalars": (np.float64(1), np.float64(2)),
    "dtypes alone": (np.dtype("f4"), np.dtype("f8")),
    "dtypes of one size": (np.zeros(2), np.zeros(2, np.int64)),
    "byte orders": (np.zeros(2, ">f8"), np.zeros(2, "<f8")),
    "shapes without entries": (np.zeros((0, 2)), np.zeros((2, 0))),
    "kinds of bits": (
        np.random.Generator(np.random.PCG64(1)),
        np.random.Generator(np.random.MT19937(1)),
    ),
    "states of generators": (np.random.default_rng(1), None),
    "spawn keys": (np.random.SeedSequence(1), np.random.SeedSequence(1, spawn_key=(0,))),
    "children that were spawned": (np.random.SeedSequence(1), None),
    "not a number": (float("nan"), 0.0),
    "infinities": (float("inf"), float("-inf")),
    "complex numbers": (1j, 2j),
    "nothing": (None, False),
    "an empty one": ([], ()),
    "bound functions of builtins": ([1].append, [2].append),
    "functions and their generators": (plain, rounds),
    "coroutines": (plain, awaits),
    "cells": (not_yet(True), not_yet(False)),
    "properties": (Working.__dict__["doubled"], cached_property(plain)),
    "static methods": (staticmethod(plain), staticmethod(rounds)),
    "paths": (Path("a"), Path("b")),
    "a value and a list of it": (1, [1]),
}
DIFFERENT["states of generators"][0].random()
DIFFERENT["states of generators"] = (
    DIFFERENT["states of generators"][0],
    np.random.default_rng(1),
)
_spawned = np.random.SeedSequence(1)
_spawned.spawn(1)
DIFFERENT["children that were spawned"] = (_spawned, np.random.SeedSequence(1))


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_is_told_apart(name):
    one, other = DIFFERENT[name]
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_a_mechanism_is_one_by_value_and_not_by_place():
    assert digest(Held(1.0)) == digest(Held(1.0))
    assert digest(partial(scaled, scale=1)) == digest(partial(scaled, scale=1))
    assert digest(np.zeros((2, 2))) == digest(np.asfortranarray(np.zeros((2, 2))))
    assert digest(1, [2]) != digest(1, 2)
    assert digest(1, 2) != digest(2, 1)


class Named:
    """Says itself what it is."""

    def __init__(self, name, scale):
        self.__identity__, self.scale = name, scale


def test_what_says_itself_what_it_is_is_that():
    assert digest(Named("a", 1)) == digest(Named("a", 2)) != digest(Named("b", 1))


def test_what_was_worked_out_is_no_part_and_what_was_put_there_is():
    fresh, asked, put = Working(1.0), Working(1.0), Working(1.0)
    assert asked.doubled == 2.0
    vars(put)["doubled"] = 3.0
    assert digest(fresh) == digest(asked) == digest(put)
    assert with_caches(fresh) == with_caches(asked) != with_caches(put)


@functools.cache
def answers(x):
    return x


def test_answers_that_are_kept_are_a_part_where_they_are_asked_for():
    answers.cache_clear()
    before = with_caches(answers), digest(answers)
    answers(1)
    after = with_caches(answers), digest(answers)
    assert before[0] != after[0]
    assert before[1] == after[1]
    answers(2)
    assert with_caches(answers) not in (before[0], after[0])
    assert sorted(map(str, generate_cached_answers(answers))) == ["[1, 1]", "[2, 2]"]
    bounded = functools.lru_cache(maxsize=4)(plain)
    bounded(5)
    assert [answer for _, answer in generate_cached_answers(bounded)] == [5]


# Sealing


EMPTY = Identity("d", (), (), (), (), (), ())


@pytest.fixture
def files(tmp_path):
    found = [tmp_path / name for name in "ab"]
    for one in found:
        one.write_text(one.name)
    return [str(one) for one in found]


def test_every_part_of_an_identity_is_sealed(files, monkeypatch):
    monkeypatch.setenv("SCALE", "1")
    monkeypatch.setattr(sealing, "digest_of_packages", lambda names: repr(names))
    monkeypatch.setattr(sealing, "own_code", lambda: own[0])
    own = ["code"]
    made = [
        EMPTY,
        EMPTY._replace(digest="e"),
        EMPTY._replace(files=(files[0],)),
        EMPTY._replace(files=(files[1],)),
        EMPTY._replace(files=tuple(files)),
        EMPTY._replace(data=(files[0],)),
        EMPTY._replace(packages=("numpy",)),
        EMPTY._replace(packages=("scipy",)),
        EMPTY._replace(variables=("SCALE",)),
        EMPTY._replace(variables=("OTHER",)),
    ]
    seals = [one.sealed() for one in made]
    assert len(set(seals)) == len(made)
    assert [one.sealed() for one in made] == seals
    monkeypatch.setenv("SCALE", "2")
    assert made[8].sealed() != seals[8]
    assert made[0].sealed() == seals[0]
    Path(files[0]).write_text("changed")
    assert made[2].sealed() != seals[2]
    assert made[5].sealed() != seals[5]
    own[0] = "other code"
    assert made[0].sealed() != seals[0]


def test_a_file_in_an_archive_is_the_archive(files):
    assert sealing._on_disk(f"{files[0]}/inside/module.py") == Path(files[0])
    assert sealing._on_disk(files[0]) == Path(files[0])
    assert sealing._on_disk("/no/such/file.py") == Path("/no/such/file.py")


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("HOME", True),
        ("OMP_NUM_THREADS", True),
        ("XDG_CACHE_HOME", True),
        ("DPAUDIT_STORE", True),
        ("MY_HOME", False),
        ("HOMES", False),
        ("SCALE", False),
        ("THREADS", False),
        ("home", False),
        ("JOB_COMPLETION_INDEX", True),
        ("JOB_NAME", False),
    ],
)
def test_a_variable_says_where_by_its_whole_name(name, where):
    assert says_where(name) is where


def test_another_machine_differs_in_a_part_of_either():
    here = {"processor": "a", "numpy": "2"}

    def told(*others):
        return _find_machine_differences(here, [json.dumps(one) for one in others], Path("s"))

    assert told(here) == told() == ()
    assert told({**here, "numpy": "1"}) == ("numpy 1, now 2",)
    assert told({"processor": "a"}) == ("numpy None, now 2",)
    assert told({**here, "numpy": "1"}, {**here, "numpy": "1"}, here) == ("numpy 1, now 2",)
    assert len(told({"processor": "b", "numpy": "1"}, {**here, "numpy": "3"})) == 3


# Packages


class Distribution:
    def __init__(self, folder, name="n", version="1", origin=None, files=("m.py",), digests=("x",)):
        self.folder, self.metadata, self.version = folder, {"Name": name}, version
        self.origin = origin
        self.files = [
            SimpleNamespace(
                parts=Path(one).parts, size=3, hash=SimpleNamespace(value=value),
                as_posix=lambda one=one: one,
            )
            for one, value in zip(files, digests, strict=True)
        ]  # fmt: skip

    def read_text(self, name):
        return self.origin if name == "direct_url.json" else None

    def locate_file(self, name):
        return self.folder / name


def test_a_package_is_its_version_origin_list_and_code(tmp_path):
    def of(text="x = 1", **given):
        (tmp_path / "m.py").write_text(text)
        return tuple(packages._generate_distribution_parts(Distribution(tmp_path, **given)))

    commits = [json.dumps({"vcs_info": {"commit_id": one}}) for one in ("a", "b")]
    archive = json.dumps({"archive_info": {"hash": "h"}})
    made = [
        of(), of("x = 2"), of(name="m"), of(version="2"), of(origin=commits[0]),
        of(origin=commits[1]), of(origin=archive), of(digests=("y",)),
    ]  # fmt: skip
    assert len(set(made)) == len(made)
    assert of() == made[0]


def test_what_an_installer_made_is_no_part_of_a_package(tmp_path):
    names = ("m.py", "n-1.dist-info/RECORD", "__pycache__/m.pyc", "../bin/n", "n.egg-info/x")
    found = Distribution(tmp_path, files=names, digests="abcde")
    assert [name for name, _, _ in packages._list_distribution_files(found)] == ["m.py"]


def test_packages_are_of_the_distributions_that_importlib_names():
    known = {
        one: set(names)
        for one, names in importlib.metadata.packages_distributions().items()
        if str(getattr(sys.modules.get(one), "__file__", None)).endswith(".py")
    }
    found = packages.find_distribution_names([*known, "no such package"])
    assert found.pop("no such package") == set()
    assert len(known) > 10
    assert found == known


def test_a_distribution_without_a_record_has_the_names_of_its_files(tmp_path, monkeypatch):
    for name, declared in (("a", None), ("b", "one\ntwo\n")):
        info = tmp_path / f"{name}.egg-info"
        info.mkdir()
        (info / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "SOURCES.txt").write_text("of_files/m.py\nalone.py\nsetup.cfg\n")
        (tmp_path / "of_files").mkdir(exist_ok=True)
        for file in ("of_files/m.py", "alone.py", "setup.cfg"):
            (tmp_path / file).write_text("")
        if declared is not None:
            (info / "top_level.txt").write_text(declared)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    found = packages.find_distribution_names(["of_files", "alone", "setup", "one", "two", "b"])
    assert {top: names for top, names in found.items() if names} == {
        "of_files": {"a"}, "alone": {"a"}, "one": {"b"}, "two": {"b"},
    }  # fmt: skip


def test_of_packages_of_numbers_the_version_is_enough(monkeypatch):
    versions = {"numpy": "1", "other": "1"}
    monkeypatch.setattr(importlib.metadata, "version", lambda name: versions[name])
    monkeypatch.setattr(packages, "_find_needed_distributions", lambda names: iter(()))
    monkeypatch.setattr(packages, "_files_of_module", lambda top: [])
    names = {"numpy": {"numpy"}, "o": {"other"}}
    monkeypatch.setattr(
        packages, "find_distribution_names", lambda tops: {one: names[one] for one in tops}
    )
    before = packages.digest_of_packages(["numpy"])
    assert before != packages.digest_of_packages(["o"]) != packages.digest_of_packages([])
    assert packages.digest_of_packages(["numpy", "o"]) != packages.digest_of_packages(
        ["o", "numpy"]
    )
    versions["numpy"] = "2"
    assert packages.digest_of_packages(["numpy"]) != before


def test_of_more_code_than_is_read_its_sizes_and_source_count(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "_MOST", 10)
    names = ("m.py", "c.so")

    def of(source, compiled):
        (tmp_path / "m.py").write_text(source)
        (tmp_path / "c.so").write_text(compiled)
        found = Distribution(tmp_path, files=names, digests="ab")
        return hashlib.sha256(b"".join(packages._generate_distribution_parts(found))).digest()

    first = of("x = 1 + 2 + 3", "abc")
    assert of("x = 1 + 2 + 4", "abc") != first
    assert of("x = 1 + 2 + 3", "abcd") != first
    assert of("x = 1 + 2 + 3", "abd") == first


# Parts


def test_parts_of_functions_and_classes():
    def outer(x):
        return [np.cumsum(one) for one in x if outer]

    assert {"cumsum", "np"} <= names_in(outer.__code__)
    assert cells_of(outer) == [outer]
    assert cells_of(plain) == []
    assert cells_of(not_yet(False)) == ["(empty)"]
    assert is_method(Working.__init__) is False
    assert is_method(Held.__dict__["__eq__"]) is False
    assert is_method(Several.draw) is True
    assert is_method(outer) is is_method(plain) is False
    assert functions_in(property(plain, rounds)) == [plain, rounds]
    assert functions_in(staticmethod(plain)) == [plain]
    assert functions_in(cached_property(plain)) == [plain]
    assert reduces_itself(Reducing)
    assert not reduces_itself(Held)


class Several(list):
    def draw(self):
        return len(self)


def test_what_an_author_wrote_of_a_class():
    assert is_its_authors("scale", 1.0)
    assert is_its_authors("__call__", plain)
    assert is_its_authors("__slots__", ("a",))
    assert not is_its_authors("__doc__", "text")
    assert not is_its_authors("_abc_impl", object())
    assert not is_its_authors("scale", Slotted.__dict__["scale"])
    assert holds_numbers(1.0)
    assert holds_numbers(plain)
    assert not holds_numbers(np)
    own = Several([1])
    assert attributes_of(own) == ()
    own.b, own.a = 1, 2
    assert attributes_of(own) == ({"a": 2, "b": 1},)


def test_properties_that_were_worked_out_are_no_state():
    state = {"doubled": 2.0, "scale": 1.0, "__networkx_cache__": {}}
    assert without_caches(Working, state) == {"scale": 1.0}
    assert without_caches(Working, (None, state)) == (None, {"scale": 1.0})
    assert without_caches(Held, {"doubled": 2.0}) == {"doubled": 2.0}
    assert without_caches(Working, [1]) == [1]


# What expressions stand for


SCOPE = {
    "os": os,
    "os_path": os.path,
    "Path": Path,
    "NAME": "SCALE",
    "HERE": Path("/a/b.py"),
    "d": {"k": 5},
}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("'a'", "a"),
        ("NAME", "SCALE"),
        ("nobody", UNKNOWN),
        ("HERE.parent / 'c'", Path("/a/c")),
        ("HERE.parents[1]", UNKNOWN),
        ("HERE.stem + '.csv'", "b.csv"),
        ("f'{NAME}_x'", "SCALE_x"),
        ("f'{nobody}_x'", UNKNOWN),
        ("f'{NAME}'", "SCALE"),
        ("f'{NAME!r}'", UNKNOWN),
        ("f'{7:03d}.csv'", UNKNOWN),
        ("d['k']", 5),
        ("d['m']", UNKNOWN),
        ("d[nobody]", UNKNOWN),
        ("NAME - 'a'", UNKNOWN),
        ("NAME + nobody", UNKNOWN),
        ("Path('/a') / NAME", Path("/a/SCALE")),
        ("os.path.join('a', NAME)", "a/SCALE"),
        ("os.path.join('a', nobody)", UNKNOWN),
        ("os.listdir('/')", UNKNOWN),
        ("HERE.with_name('c')", Path("/a/c")),
        ("HERE.read_text()", UNKNOWN),
        ("NAME.lower()", UNKNOWN),
        ("os.environ", os.environ),
        ("getattr(os, 'environ')", os.environ),
        ("vars(os)['environ']", os.environ),
        ("__import__('os').environ", os.environ),
        ("os.nothing", ImportSymbol("os.nothing")),
        ("1 / 0", UNKNOWN),
    ],
)
def test_an_expression_is_worked_out_or_unknown(code, value):
    found = ExpressionEvaluator(SCOPE).of(ast.parse(code, mode="eval").body)
    assert found is value if value is UNKNOWN else found == value


def test_a_variable_is_read_as_it_is_now(monkeypatch):
    monkeypatch.setenv("SCALE", "7")
    for code in ("os.environ[NAME]", "os.getenv(NAME)", "os.environ.get(NAME)"):
        assert ExpressionEvaluator(SCOPE).of(ast.parse(code, mode="eval").body) == "7"


def test_names_are_bound_by_imports_and_assignments():
    def bound(code):
        return dict(bound_by(parse_source(code).body[0]))

    assert bound("import os.path")["os"] is os
    assert bound("import no_such as n")["n"] == ImportSymbol("no_such")
    assert bound("from os import environ as e")["e"] is os.environ
    assert bound("from os import nothing")["nothing"] == ImportSymbol("os.nothing")
    assert bound("from . import a") == {}
    assert ast.literal_eval(bound("a = 3")["a"]) == 3
    assert ast.literal_eval(bound("a: int = 4")["a"]) == 4
    assert bound("a, b = 3, 4") == {}
    assert constants(parse_source("A = 'x'\nB = A + 'y'\nC = B + nobody")) == {
        "A": "x", "B": "xy", "C": UNKNOWN,
    }  # fmt: skip
    assert parse_source("def :").body == []


# Libraries


@pytest.mark.parametrize(
    ("source", "value", "differs"),
    [
        ("1.0", 1.0, False),
        ("1.0", 2.0, True),
        ("1", 1.0, True),
        ("1", True, True),
        ("(1, 2)", (1, 2), False),
        ("(1, 2)", (1, 3), True),
        ("{}", {"a": 1}, False),
        ("{'a': 1}", {"a": 2}, True),
        ("other", 3, False),
        ("-1", -1, False),
    ],
)
def test_a_value_is_what_source_says_in_plain_words(source, value, differs):
    assert libraries._is_value_changed(ast.parse(source, mode="eval").body, value) is differs


def test_a_name_counts_where_a_body_says_it_once():
    def said(code):
        return set(libraries._find_single_statements(ast.parse(code).body))

    assert said("A = 1\nB: int = 2\ndef f(): pass\nclass C: pass") == {"A", "B", "f", "C"}
    assert said("A = 1\nA = 2") == set()
    assert said("A = 1\nif x:\n    A = 2") == set()
    assert said("A = 1\nA += 2") == set()


@pytest.mark.parametrize(
    ("source", "function", "other"),
    [
        ("def f(x, y=1): pass", lambda x, y=1: x, False),
        ("def f(x, y=1): pass", lambda x, y=2: x, True),
        ("def f(x, y=1): pass", lambda x, y: x, True),
        ("def f(x, *, y=1): pass", lambda x, *, y=1: x, False),
        ("def f(x, *, y=1): pass", lambda x, *, y=2: x, True),
        ("def f(x): pass", lambda x: x, False),
    ],
)
def test_defaults_are_compared_with_source(source, function, other):
    (node,) = ast.parse(source).body
    assert libraries._has_other_defaults(node.args, function) is other


def test_changed_numbers_of_a_library_are_named():
    source = "A = 1\nB = (1, 2)\nclass C:\n    D = 3\n    def g(self, x=4): pass\n"
    held = {}
    exec(compile(source, "lib.py", "exec"), held)
    body = ast.parse(source).body

    def changed():
        return [name for name, _ in libraries._find_changed_statements("m", body, held)]

    assert changed() == []
    held["A"] = 2
    assert changed() == ["m.A"]
    held["C"].D = 5
    assert changed() == ["m.A", "m.C.D"]
    held["C"].g.__defaults__ = (6,)
    assert changed() == ["m.A", "m.C.D", "m.C.g()"]
    held["A"] = 1
    assert changed() == ["m.C.D", "m.C.g()"]


def test_settings_count_where_they_are_unusual(monkeypatch):
    def named():
        return {name for name, _ in libraries.settings_in_force()}

    usual = named()
    with np.errstate(divide="raise"):
        before = dict(libraries.settings_in_force())["numpy"]
    assert dict(libraries.settings_in_force()).get("numpy") != before
    monkeypatch.setattr(sys, "get_int_max_str_digits", lambda: 0)
    assert named() == usual | {"sys"}


@functools.singledispatch
def scale_of(value):
    return 1.0


class Dispatching:
    @functools.singledispatchmethod
    def scale_of(self, value):
        return 1.0

    def __call__(self, data, rng):
        return data + rng.laplace(scale=self.scale_of(1))


def by_dispatch(data, rng):
    return data + rng.laplace(scale=scale_of(1))


@pytest.mark.parametrize(
    ("code", "register"),
    [(by_dispatch, scale_of.register), (Dispatching(), Dispatching.scale_of.register)],
)
def test_what_is_registered_for_a_type_is_told_apart(code, register):
    plain = digest(code)
    assert plain == digest(code)
    register(bytes, lambda *_: 2.0)
    with_bytes = digest(code)
    register(bytes, lambda *_: 3.0)
    assert len({plain, with_bytes, digest(code)}) == 3
    scale_of(b"")  # which the function remembers: no registration
    assert digest(code) == digest(code)
    register(str, lambda *_: 3.0)
    assert digest(code) not in (plain, with_bytes)


def test_what_only_looks_like_a_dispatch_is_told_apart_by_its_code():
    def made(scale):
        def draw(data, rng):
            return data + rng.laplace(scale=scale)

        draw.registry, draw.dispatch = MappingProxyType({}), len
        return draw

    assert len({unless_unidentified(made(scale)) for scale in (1.0, 2.0)}) == 2


def unless_unidentified(code):
    """Return the digest, or another object each time: nothing is kept of what has none."""
    try:
        return digest(code)
    except sealing.UnidentifiedValue:
        return object()


def test_attributes_of_a_dispatching_function_are_told_apart():
    @functools.singledispatch
    def dispatched(value):
        return dispatched.scale

    seen = set()
    for scale in (1.0, 2.0, 1.0):
        dispatched.scale = scale
        seen.add(digest(dispatched))
    assert len(seen) == 2


def test_what_is_typed_into_a_session_is_the_users(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setitem(sys.modules, "no_file_of_mine", ModuleType("no_file_of_mine"))
    assert _ValueWalk(True)._met("__main__")
    assert not _ValueWalk(True)._met("no_file_of_mine")
    assert not _ValueWalk(True)._met("numpy.linalg")
