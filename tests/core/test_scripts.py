"""Files that are run again: which they are, how far they run, and which names changed since."""

from __future__ import annotations

import os
import sys
import types

import pytest

from dpaudit.execution import scripts
from dpaudit.execution.failures import CodeFailed
from dpaudit.execution.fingerprints import close_look
from dpaudit.execution.scripts import MAIN, ScriptSource, Survey


def a_module(name, file=None, package=None):
    module = types.ModuleType(name)
    module.__file__, module.__package__ = file, package
    return module


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write a file, and leave modules and arguments as they were."""
    monkeypatch.setattr(sys, "argv", ["pytest", "-x"])
    names = ("__main__", MAIN, "own_script", "own.part", "folder", "folder.inner")
    before = {name: sys.modules.get(name) for name in names}

    def write(text, name="own_script.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path.resolve())

    sys.modules.pop(MAIN, None)
    yield write
    scripts._put_back(before)


# --- which files ----------------------------------------------------------------------------------


def test_a_script_is_run_under_the_name_that_multiprocessing_gives_it(script):
    path = script("")
    for name in ("__main__", "__mp_main__"):
        found = scripts.source_of(a_module(name, path, "pkg"))
        assert found == ScriptSource(path, MAIN, "pkg", ("pytest", "-x"))
    plain = scripts.source_of(a_module("__main__", script("", "tool")))
    assert plain.name == MAIN


def test_a_module_of_a_file_that_nobody_finds_by_its_name_is_run_again(script):
    path = script("")
    assert scripts.source_of(a_module("own_script", path)) == ScriptSource(
        path, "own_script", None, ()
    )


@pytest.mark.parametrize(
    "name", ["sys", "json", "dpaudit.execution.scripts", "numpy", "tests.core.test_scripts"]
)
def test_a_module_that_can_be_imported_is_not_run_again(name):
    module = sys.modules.get(name) or __import__(name)
    assert scripts.source_of(module) is None


def test_no_file_of_other_kinds_is_run_again(script, tmp_path, monkeypatch):
    assert scripts.source_of(a_module("own")) is None
    assert scripts.source_of(a_module("own", str(tmp_path / "missing.py"))) is None
    assert scripts.source_of(a_module("own", str(tmp_path))) is None
    assert scripts.source_of(a_module("own", script("", "tool"))) is None
    assert scripts.source_of(a_module("dpaudit.own", script(""))) is None
    assert scripts.source_of(a_module("dpaudits", script(""))) is not None
    packages = tmp_path / "site-packages"
    packages.mkdir()
    assert scripts.source_of(a_module("own", script("", "site-packages/own.py"))) is None


def test_what_stands_on_the_path_is_found_by_its_name_alone(script, tmp_path, monkeypatch):
    path = script("")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert scripts._find_importable_file("own_script") == path
    assert scripts.source_of(a_module("own_script", path)) is None
    assert scripts.source_of(a_module("other_script", path)) is not None
    assert scripts._find_importable_file("no_such_package.own_script") is None
    (tmp_path / "folder").mkdir()
    inner = script("", "folder/inner.py")
    (tmp_path / "folder" / "__init__.py").touch()
    import folder

    assert folder.__path__
    assert scripts._find_importable_file("folder.inner") == inner
    assert scripts._is_found("folder")
    assert not scripts._is_found("folder.deeper")
    assert not scripts._is_found("missing.folder")


# --- a run ----------------------------------------------------------------------------------------


def test_a_script_is_run_once_with_its_arguments_and_is_main(script):
    path = script("import sys\nseen = sys.argv[:], __name__, __package__\nhere = __file__\n")
    source = ScriptSource(path, MAIN, None, ("program", "7"))
    module = scripts.run(source)
    assert module.seen == (["program", "7"], MAIN, None)
    assert module.here == path
    assert sys.modules[MAIN] is sys.modules["__main__"] is module
    assert sys.argv == ["program", "7"]
    assert scripts.run(source) is module


def test_a_module_is_run_in_its_package_and_leaves_main_alone(script):
    path = script("name = __name__\nclass A:\n    class B:\n        c = 3\n")
    main = sys.modules["__main__"]
    module = scripts.run(ScriptSource(path, "own.part", "own", ()))
    assert (module.name, module.__package__, module.__spec__.name) == (
        "own.part",
        "own",
        "own.part",
    )
    assert sys.modules["__main__"] is main
    assert sys.argv == ["pytest", "-x"]
    assert scripts.load_from_source((path, "own.part", "own", ()), "A.B").c == 3
    elsewhere = scripts.run(ScriptSource(script("name = 1\n", "other.py"), "own.part", "own", ()))
    assert elsewhere.name == 1


def test_a_file_runs_up_to_its_first_call_into_this_package(script):
    text = "before = 1\nimport dpaudit\ndpaudit.audit(None)\nafter = 2\n"
    module = scripts.run(ScriptSource(script(text), "own_script", None, ()))
    assert module.before == 1
    assert not hasattr(module, "after")


def test_a_file_that_raises_leaves_what_was_there(script):
    before = sys.modules["__main__"]
    source = ScriptSource(script("raise ValueError('mine')\n"), MAIN, None, ())
    with pytest.raises(ValueError, match="mine"):
        scripts.run(source)
    assert sys.modules["__main__"] is before
    assert MAIN not in sys.modules
    with pytest.raises(CodeFailed, match="ValueError"):
        scripts.looks_of(source)


def test_looks_of_a_file_are_those_of_all_its_names(script):
    found = scripts.looks_of((script("a = 1\nb = [2]\n"), "own_script", None, ()))
    assert (found["a"], found["b"]) == (close_look(1), close_look([2]))
    assert found["a"] != close_look(2)


# --- surveys --------------------------------------------------------------------------------------


CODE = """
SCALE, OTHER, UNUSED = 1.0, 2.0, 3.0
def helper(): return SCALE
def release(data): return helper() + len(data)
def alone(data): return OTHER
"""


def of_code(**given):
    module = a_module("own_script", "own_script.py")
    exec(compile(CODE, "own_script.py", "exec"), vars(module))
    runs = [{name: close_look(one) for name, one in vars(module).items()} for _ in range(2)]
    vars(module).update(given)
    return module, runs


@pytest.mark.parametrize(
    ("changed", "of_release", "of_alone"),
    [
        ({}, [], []),
        ({"SCALE": 0.5}, ["SCALE"], []),
        ({"OTHER": 0.5}, [], ["OTHER"]),
        ({"UNUSED": 0.5}, [], []),
        ({"helper": lambda: 3}, ["helper"], []),
        ({"SCALE": 0.5, "helper": None}, ["helper"], []),
        ({"SCALE": 0.5, "OTHER": 0.5}, ["SCALE"], ["OTHER"]),
    ],
)
def test_names_differ_that_code_needs_and_fresh_runs_give_otherwise(changed, of_release, of_alone):
    module, runs = of_code(**changed)
    survey = Survey(tuple(runs))
    assert survey.differing(module.release, module) == of_release
    assert survey.differing(module.alone, module) == of_alone


def test_what_fresh_runs_do_not_agree_on_may_differ_and_what_one_lacks_does():
    module, runs = of_code(SCALE=0.5)
    runs[0]["SCALE"] = close_look(0.25)
    assert Survey(tuple(runs)).differing(module.release, module) == []
    del runs[1]["helper"]
    assert Survey(tuple(runs)).differing(module.release, module) == ["helper"]


def test_a_survey_is_of_a_file_as_it_is(script):
    source, found = ScriptSource(script("a = 1\n"), "own_script", None, ()), Survey((), "why")
    assert scripts.survey_of(source) is None
    scripts.register_survey(source, found)
    assert scripts.survey_of(source) is found
    assert scripts.survey_of(source._replace(name="other")) is None
    os.utime(source.path, (1, 1))
    assert scripts.survey_of(source) is None
