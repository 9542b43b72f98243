"""Gives an auditor the scores, whichever package it is of: ``DPAUDIT_PEER`` names its file."""

import importlib.util
import os
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent


def loaded(name):
    """Return a module beside this one."""
    specification = importlib.util.spec_from_file_location(f"peer_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


_SCORES = loaded("scores")
METHODS = {
    name: partial(method, drawn=_SCORES.drawn)
    for name, method in loaded(os.environ["DPAUDIT_PEER"]).METHODS.items()
}
