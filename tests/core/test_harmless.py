"""A name in the words of an error is shown where code has it written, and hidden where data do."""

import importlib
import math
import types

import numpy as np
import pytest

from dpaudit.errors import warning_line, what_happened
from dpaudit.execution.failures import make_worker_error
from dpaudit.execution.worker import describe_error
from dpaudit.redaction import set_records_shown

RECORD = "".join(["Zebulon", "Quill"])  # is written nowhere


class Row:
    age = 1


def takes(*, age=1):
    return age


def raised_by(code):
    try:
        code()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def raises(kind, words):
    raise kind(words)


HIDDEN = {
    "attribute of an object": lambda: getattr(Row(), RECORD),
    "attribute of a class": lambda: getattr(Row, RECORD),
    "attribute of a module": lambda: getattr(math, RECORD),
    "attribute of an array": lambda: getattr(np.zeros(2), RECORD),
    "attribute of a library": lambda: getattr(np, RECORD),
    "name in a text": lambda: eval(RECORD),
    "name in code of a text": lambda: exec(f"def f(): return {RECORD}\nf()", {}),
    "module": lambda: importlib.import_module(RECORD),
    "module of a package": lambda: importlib.import_module(f"numpy.{RECORD}"),
    "module by a statement in a text": lambda: exec(f"import {RECORD}"),
    "name of a module": lambda: exec(f"from math import {RECORD}"),
    "argument": lambda: takes(**{RECORD: 1}),
    "type": lambda: type(RECORD, (), {})().age,
    "syntax": lambda: eval(f"{RECORD} 37"),
    "syntax of a file that is none": lambda: compile(f"'{RECORD}", "own.py", "exec"),
    "own words": lambda: raises(AttributeError, RECORD),
    "own words of division": lambda: raises(ZeroDivisionError, f"{RECORD} by zero"),
    "own words of a name": lambda: raises(NameError, f"name '{RECORD}' is not defined"),
    "own words of an import": lambda: raises(ImportError, f"install {RECORD}"),
    "own words of arguments": lambda: raises(TypeError, f"f() takes {RECORD}, and no other"),
}
SHOWN = {
    "attribute": (lambda: Row().height, "'Row' object has no attribute 'height'"),
    "attribute of a class": (lambda: Row.height, "type object 'Row' has no attribute 'height'"),
    "attribute of an array": (lambda: np.zeros(2).summ(), "has no attribute 'summ'"),
    "attribute of a library": (lambda: np.summ, "module 'numpy' has no attribute 'summ'"),
    "name": (lambda: nupmy, "name 'nupmy' is not defined"),  # noqa: F821
    "module": (lambda: __import__("nupmy"), None),
    "argument": (lambda: takes(height=1), "got an unexpected keyword argument 'height'"),
    "division": (lambda: 1 // 0, "by zero"),
    "types": (lambda: 1 + "1", "unsupported operand type(s) for +: 'int' and 'str'"),
    "shapes": (lambda: np.zeros(2) + np.zeros(3), "operands could not be broadcast"),
    "too few": (lambda: takes(1), "takes 0 positional arguments but 1 was given"),
}


def imports():
    import nupmy  # noqa: F401


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN)
def test_a_record_in_pythons_own_words_is_hidden(code):
    error = raised_by(code)
    apart = make_worker_error(describe_error(error) | {"module": "builtins"}, None)
    assert RECORD not in what_happened(error)
    assert RECORD not in str(apart)
    with set_records_shown():
        assert isinstance(error, SyntaxError) or RECORD in what_happened(error)


@pytest.mark.parametrize(("code", "words"), SHOWN.values(), ids=SHOWN)
def test_names_that_code_has_written_are_shown(code, words):
    assert (words or "show_records") in what_happened(raised_by(code))


def test_an_import_that_is_written_is_shown():
    assert "No module named 'nupmy'" in what_happened(raised_by(imports))


def test_a_syntax_error_of_a_file_is_shown(tmp_path, monkeypatch):
    (tmp_path / "broken_here.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    error = raised_by(lambda: importlib.import_module("broken_here"))
    assert "invalid syntax" in what_happened(error)


def test_an_object_that_says_its_own_name_is_hidden():
    error = raised_by(lambda: getattr(types.SimpleNamespace(**{RECORD: 1}), RECORD + "x"))
    assert RECORD not in what_happened(error)


@pytest.mark.parametrize("kind", [RuntimeWarning, DeprecationWarning, FutureWarning, UserWarning])
def test_a_warning_of_own_code_is_hidden(kind):
    assert "Zebulon" not in warning_line(f"odd record {RECORD}", kind, "own.py", 3)
    assert "overflow" in warning_line("overflow encountered in exp", RuntimeWarning, "own.py", 3)
