"""What code may read of which nobody has the source, and what counts where names are worked out."""

from __future__ import annotations

import os
import subprocess
import types
import urllib.request

import numpy as np
import pytest

from dpaudit.store.identity import _ValueWalk
from dpaudit.store.reading import _guess_code_reads


def guessed(source, **scope):
    """Return what the one function of a source may read."""
    code = compile(f"def f(x):\n    return {source}", "<gone>", "exec").co_consts[0]
    return _guess_code_reads(code, scope, "f")


@pytest.mark.parametrize(
    ("source", "scope", "unseen"),
    [
        ("x + 1", {}, set()),
        ("open(x)", {}, {"files"}),
        ("open(x, 'r')", {}, {"files"}),
        ("open(x, 'w')", {}, set()),
        ("open(x, 'ab')", {}, set()),
        ("open(x, 'x')", {}, set()),
        ("open(x, 'write')", {}, {"files"}),  # a name of a file, and no mode
        ("x.read_text()", {}, {"files"}),
        ("load(x)", {}, set()),
        ("np.load(x)", {"np": np}, {"files"}),
        ("os.getenv(x)", {"os": os}, {"variables of the environment"}),
        ("e[x]", {"e": os.environ}, {"variables of the environment"}),
        ("s.run(x)", {"s": subprocess}, {"what another program answers"}),
        ("o.system(x)", {"o": os}, {"what another program answers"}),
        ("u.urlopen(x)", {"u": urllib.request}, {"what a network answers"}),
        ("urlopen(x)", {"urlopen": urllib.request.urlopen}, {"what a network answers"}),
        ("__import__(x)", {}, {"modules"}),
    ],
)
def test_names_in_code_say_what_it_may_read(source, scope, unseen):
    found = guessed(source, **scope)
    assert found.unseen == {f"{one} (f)" for one in unseen}
    assert (found.files, found.variables, found.by_name) == (frozenset(), frozenset(), False)


def test_texts_in_code_are_the_files_and_variables_that_it_names(tmp_path):
    data = tmp_path / "a.csv"
    data.touch()
    found = guessed(f"open({str(data)!r})")
    assert (found.files, found.unseen) == ({str(data)}, frozenset())
    found = guessed("open(PLACE)", PLACE=data)
    assert (found.files, found.unseen) == ({str(data)}, frozenset())
    found = guessed(f"open({str(data)!r}, 'w')")
    assert found.files == frozenset()
    found = guessed("os.getenv('SCALE') + 'no name'", os=os)
    assert (found.variables, found.unseen) == ({"SCALE"}, frozenset())
    inner = guessed(f"(lambda: open({str(data)!r}))()")
    assert inner.files == {str(data)}


@pytest.mark.parametrize("name", ["globals", "vars", "eval", "getattr"])
def test_names_that_are_worked_out_may_be_any(name):
    assert guessed(f"{name}(x)").by_name


def test_all_numbers_of_a_module_count_but_those_of_a_notebook_and_its_own():
    def everything(**held):
        return _ValueWalk(False)._everything({"__name__": "m"} | held)

    assert [one for one in everything(b=2.0, a=1.0) if isinstance(one, str)] == ["a", "b"]
    assert everything(a=1.0) != everything(a=2.0)
    assert everything(_a=1.0) == everything(In=[1.0]) == everything(Out={1: 2.0}) == []
    assert everything(math=types.ModuleType("m")) == []
