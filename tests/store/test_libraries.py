"""What of libraries is somebody's own: functions, entries of tables, numbers and settings."""

from __future__ import annotations

import ast
import colorsys
import decimal
import functools
import json
import os
import sys
import warnings
from types import MethodType, ModuleType, SimpleNamespace

import mpmath
import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.store import libraries
from dpaudit.store.libraries import (
    find_changed_values,
    format_library_signature,
    get_library_values,
    is_library_value_inspected,
    is_put,
    is_replaced,
    put_into_libraries,
    settings_in_force,
)


def mine(x, y=1):
    return x


class Mine:
    def draw(self):
        return 1


def of_text(source, **held):
    """Return what code of text makes, in a namespace of this name."""
    exec(f"made = {source}", held)
    return held["made"]


NAMELESS = {"__name__": "no_such_module_of_mine"}


@pytest.mark.parametrize(
    ("value", "own"),
    [
        (mine, True),
        (json.loads, False),
        (is_put, False),
        (len, False),
        (MethodType(mine, 1), True),
        (json.JSONDecoder().decode, False),
        (functools.partial(mine), True),
        (functools.partial(json.loads, mine), True),
        (functools.partial(json.loads, key=mine), True),
        (functools.partial(json.loads, 1, key=2), False),
        (staticmethod(mine), True),
        (staticmethod(json.loads), False),
        (classmethod(mine), True),
        (property(mine), True),
        (property(json.loads, mine), True),
        (property(json.loads), False),
        (property(), False),
        (Mine, True),
        (Mine(), True),
        (json.JSONDecoder, False),
        (InvalidArgument, False),
        (1.0, False),
        (of_text("lambda x: x", __name__="json"), False),
        (of_text("lambda x: x", __name__=__name__), True),
        (of_text("lambda x: x", __name__="dpaudit.mine"), False),
        (of_text("lambda x: x", **NAMELESS), False),
        (of_text("type('T', (), {'f': lambda self: 1})", __name__="builtins"), True),
        (of_text("type('T', (), {'n': 1})", __name__="builtins"), False),
    ],
)
def test_what_is_of_somebodys_own_code_is_put_there(value, own):
    assert is_put(value) is own


def test_the_program_is_somebodys_own_unless_it_is_a_librarys(monkeypatch):
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    made = of_text("lambda x: x", __name__="__main__")
    for file, own in ((None, True), (__file__, True), (json.__file__, False)):
        main.__file__ = file
        libraries._is_own_module.cache_clear()
        assert is_put(made) is own
    libraries._is_own_module.cache_clear()


def test_names_of_a_library_are_those_that_it_holds():
    library = ModuleType("library")
    library.scale, library.other = 2.0, 3.0
    assert get_library_values(library, ["scale", "nothing"]) == {"scale": 2.0}
    asked = []

    def lazily(name):
        asked.append(name)
        if name == "broken":
            raise RuntimeError("no such part")
        return 5.0

    library.__getattr__ = lazily
    library.__dir__ = lambda: ["scale", "later", "broken"]
    assert get_library_values(library, ["scale", "later", "broken", "nobody"]) == {
        "scale": 2.0,
        "later": 5.0,
    }
    assert sorted(asked) == ["broken", "later"]
    assert get_library_values(sys, ["path"]) == get_library_values(os, ["environ"]) == {}


@pytest.mark.parametrize(
    ("value", "of_package", "of_python"),
    [
        (1.0, True, True),
        (True, True, True),
        (1j, True, True),
        ("text", True, False),
        (b"bytes", True, False),
        (None, True, False),
        (functools.partial(len), True, True),
        (mine, True, True),
        (len, False, False),
        ([1], False, False),
    ],
)
def test_of_a_package_texts_count_too(value, of_package, of_python):
    assert is_library_value_inspected(value, np) is of_package
    assert is_library_value_inspected(value, colorsys) is of_python
    assert is_library_value_inspected(value, ModuleType("no file")) is of_python


def test_a_function_of_a_library_is_known_by_its_names():
    names = {
        format_library_signature(one)
        for one in (json.loads, json.dumps, json.JSONDecoder, len, np.sum)
    }
    assert len(names) == 5
    assert format_library_signature(json.loads) == repr(
        ["builtins", "function", "json", "loads", "loads"]
    )
    assert format_library_signature(SimpleNamespace()) == repr(
        ["types", "SimpleNamespace", "", "", ""]
    )


@pytest.mark.parametrize(
    ("name", "value", "replaced"),
    [
        ("abs", abs, False),
        ("abs", max, True),
        ("abs", mine, True),
        ("float", float, False),
        ("float", int, True),
        ("IOError", OSError, False),
        ("None", None, False),
        ("help", object(), False),
        ("mine", 1.0, True),
    ],
)
def test_a_builtin_is_replaced_where_its_name_stands_for_another(
    monkeypatch, name, value, replaced
):
    kept = dict(vars(libraries.builtins))
    monkeypatch.setattr(libraries, "builtins", SimpleNamespace(**kept | {name: value}))
    assert is_replaced(name) is replaced


def test_no_builtin_is_replaced():
    names = [
        name for name in vars(libraries.builtins) if not name.startswith("_")
    ]  # a prompt sets _
    assert len(names) > 100
    assert not [name for name in names if is_replaced(name)]
    assert not is_replaced("__debug__")
    assert not is_replaced("__doc__")


class Table(dict):
    def values(self):
        raise RuntimeError("asked of itself")


@pytest.mark.parametrize(
    ("value", "entries"),
    [
        ({"a": 1}, [1]),
        ([1, 2], [1, 2]),
        ((1,), [1]),
        ({3}, [3]),
        (frozenset({4}), [4]),
        (Table(a=1), [1]),
        ([], []),
        (list(range(999)), list(range(999))),
        (list(range(1000)), None),
        ("ab", None),
        (1, None),
    ],
)
def test_entries_are_those_of_a_table_that_is_not_long(value, entries):
    assert libraries._list_short_entries(value) == entries


def put(**held):
    return [name for name, _ in libraries._put_into("m", held)]


def test_what_was_put_into_a_module_is_named_with_its_place():
    assert put(a=mine, b=json.loads, c=1.0) == ["m.a"]
    assert put(a={"x": mine, "y": 1}, b=[json.loads], c=(mine, mine)) == ["m.a", "m.c", "m.c"]
    assert put(__wrapped__=mine, module=ModuleType("x")) == []
    own = type("C", (), {"__module__": "m", "draw": mine, "scale": 1.0, "other": json.loads})
    assert put(C=own) == ["m.C.draw"]
    foreign = type("C", (), {"__module__": "json", "draw": mine})
    assert put(C=foreign) == []


def test_libraries_alone_are_looked_at(monkeypatch):
    def module(name, **held):
        made = ModuleType(name)
        vars(made).update(held, put=mine)
        return made

    there = {
        "of_a_package": module("of_a_package", __file__=np.__file__),
        "colorsys.inner": module("colorsys.inner"),
        "of_mine": module("of_mine", __file__=__file__),
        "without_a_file": module("without_a_file"),
        "dpaudit.inner": module("dpaudit.inner", __file__=np.__file__),
        "__main__": module("__main__", __file__=np.__file__),
        "sitecustomize": module("sitecustomize", __file__=np.__file__),
        "no_module": mine,
    }
    names = sys.stdlib_module_names
    monkeypatch.setattr(libraries, "sys", SimpleNamespace(modules=there, stdlib_module_names=names))
    libraries._is_own_module.cache_clear()
    assert list(put_into_libraries()) == [("colorsys.inner.put", mine), ("of_a_package.put", mine)]
    libraries._is_own_module.cache_clear()


def test_changed_numbers_are_found_in_modules_that_are_loaded(monkeypatch, tmp_path):
    source = tmp_path / "shop.py"
    source.write_text("SCALE = 1.0\nNAME = 'a'\n")
    module = ModuleType("shop")
    vars(module).update(SCALE=1.0, NAME="a", __file__=str(source))
    monkeypatch.setitem(sys.modules, "shop", module)
    part = ModuleType("shop.part")
    vars(part).update(SCALE=5.0, NAME="a", __file__=str(source))
    monkeypatch.setitem(sys.modules, "shop.part", part)
    other = ModuleType("shopping")
    vars(other).update(SCALE=9.0, __file__=str(source))
    monkeypatch.setitem(sys.modules, "shopping", other)
    assert list(find_changed_values("shop")) == [("shop.part.SCALE", 5.0)]
    module.NAME = "b"
    assert list(find_changed_values("shop")) == [("shop.NAME", "b"), ("shop.part.SCALE", 5.0)]
    size = source.stat().st_size
    monkeypatch.setattr(libraries, "_MOST", 2 * size)
    assert len(list(find_changed_values("shop"))) == 2
    monkeypatch.setattr(libraries, "_MOST", 2 * size - 1)
    assert list(find_changed_values("shop")) == []


def test_a_module_without_source_says_nothing(monkeypatch, tmp_path):
    for file in (str(tmp_path / "gone.py"), str(tmp_path / "c.so"), None):
        module = ModuleType("shop")
        vars(module).update(SCALE=1.0, __file__=file)
        monkeypatch.setitem(sys.modules, "shop", module)
        assert list(find_changed_values("shop")) == []


def test_a_function_of_text_where_source_says_another_is_named():
    (node,) = ast.parse("def f(x, y=1): pass").body
    (decorated,) = ast.parse("@cache\ndef f(x, y=1): pass").body
    made = {}
    exec("def f(x, y=1): pass", made)

    def named(node, value):
        return [name for name, _ in libraries._find_changed_defaults("m.f", node, value)]

    assert named(node, made["f"]) == ["m.f, of text"]
    assert named(decorated, made["f"]) == []
    made["f"].__defaults__ = (2,)
    assert named(decorated, made["f"]) == ["m.f()"]
    assert named(node, staticmethod(made["f"])) == ["m.f, of text", "m.f()"]
    made["f"].__code__ = made["f"].__code__.replace(co_name="g")
    assert named(decorated, made["f"]) == []
    assert named(node, 1.0) == []


# Settings


def unusual():
    return dict(settings_in_force())


def test_digits_and_traps_of_decimals_are_told():
    assert "decimal" not in unusual()
    for changed in ({"prec": 5}, {"rounding": decimal.ROUND_UP}, {"Emax": 9}, {"clamp": 1}):
        with decimal.localcontext(**changed):
            assert "decimal" in unusual()
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = True
        assert "Inexact" in unusual()["decimal"][0][-1]
        assert "Inexact" not in unusual()["decimal"][1][-1]


def test_digits_of_mpmath_are_told():
    assert "mpmath" not in unusual()
    with mpmath.workprec(60):
        assert unusual()["mpmath"] == (60, 53)


def test_warnings_that_are_errors_are_told():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        assert "warnings" not in unusual()
        warnings.simplefilter("ignore")
        assert "warnings" not in unusual()
        warnings.simplefilter("error", UserWarning)
        assert unusual()["warnings"] == [("<class 'UserWarning'>", "None")]


def test_how_arrays_are_written_and_fail_is_told():
    before = unusual()["numpy"]
    with np.errstate(over="raise"):
        assert unusual()["numpy"][0] != before[0]
    with np.printoptions(precision=3):
        assert unusual()["numpy"][1] != before[1]
    assert before[2] is True


def test_settings_of_packages_that_code_names_are_told(monkeypatch):
    torch = SimpleNamespace(
        get_default_dtype=lambda: "float64",
        are_deterministic_algorithms_enabled=lambda: True,
    )
    jax = SimpleNamespace(config=SimpleNamespace(jax_enable_x64=False))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "jax", jax)
    assert list(libraries._of_package("torch")) == [
        ("torch.get_default_dtype", "float64"),
        ("torch.are_deterministic_algorithms_enabled", "True"),
    ]
    assert list(libraries._of_package("jax")) == [("jax.config.jax_enable_x64", "False")]
    assert list(libraries._of_package("numpy")) == []
    told = [name for name, _ in settings_in_force(["torch", "jax"])]
    assert told[-3:] == [
        "jax.config.jax_enable_x64",
        "torch.get_default_dtype",
        "torch.are_deterministic_algorithms_enabled",
    ]
