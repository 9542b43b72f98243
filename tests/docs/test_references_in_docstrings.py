"""Every object that a docstring refers to by its full name is there."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = re.compile(r"(?<!`)`(dpaudit(?:\.\w+)+)`(?!`)")


def is_there(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        return has_parts(found, parts[length:])
    return False


def has_parts(found, parts):
    for part in parts:
        if part in getattr(found, "__annotations__", {}):
            return True
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def list_references():
    for package in ("dpaudit", "algorithms", "attacks"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    for name in REFERENCE.findall(ast.get_docstring(node) or ""):
                        yield name, path.relative_to(ROOT)


@pytest.mark.slow
def test_docstrings_refer_to_what_is_there():
    references = set(list_references())
    assert len(references) > 200
    assert sorted((name, str(path)) for name, path in references if not is_there(name)) == []


def test_a_name_of_before_is_not_there():
    assert is_there("dpaudit.errors.InvalidArgument")
    assert not is_there("dpaudit.errors.WrongArgument")
