"""What claims, attacks and releases can be asked with: every default, limit and choice.

`stated_parameters` is what users rely on. A default that moves changes every published number that
comes of it; a limit that moves refuses what ran, or runs what nothing was proved of.
"""

from __future__ import annotations

from typing import get_args

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

import dpaudit.extension.registry as registry
from dpaudit.extension.parameters import CHOICE
from tests.claims.stated_parameters import PARAMETERS

SIGNS = {Ge: ">=", Gt: ">", Le: "<=", Lt: "<", MinLen: "at least", MaxLen: "at most"}
OURS = "dpaudit.algorithms", "dpaudit.attacks"


def models():
    """Yield the models of the parameters of all cards."""
    for card in (*registry.CLAIMS.all().values(), *registry.RELEASES.all().values()):
        yield card.parameters
    for card in registry.ATTACKS.all().values():
        yield card.load_parameters()


MODELS = {(one.__module__, one.__qualname__): one for one in models()}
MODELS = {place: one for place, one in MODELS.items() if place[0].startswith(OURS)}


def shown(field):
    """Return the default of a field, its limits, the values it is one of, and whether it decides.

    A list has limits of its own, and its numbers have theirs.
    """
    said = [*field.metadata, *inner(field.annotation)]
    limits = [f"{SIGNS[type(one)]} {limit_of(one)!r}" for one in said if type(one) in SIGNS]
    choices = [one for one in get_args(field.annotation) if isinstance(one, str)]
    default = "required" if field.is_required() else repr(field.default)
    decides = ["decides"] if field.json_schema_extra == CHOICE else []
    return ", ".join([default, *limits, *choices, *decides])


def limit_of(one):
    (name,) = type(one).__dataclass_fields__
    return getattr(one, name)


def inner(annotation):
    """Yield what annotations inside of an annotation say."""
    for one in get_args(annotation):
        yield from getattr(one, "__metadata__", ())
        yield from inner(one)


def test_all_models_are_there():
    assert sorted(MODELS) == sorted(
        (module, name) for module in PARAMETERS for name in PARAMETERS[module]
    )


@pytest.mark.parametrize(("module", "name"), sorted(MODELS))
def test_defaults_limits_and_choices_are_those_that_are_stated(module, name):
    fields = MODELS[module, name].model_fields
    assert {key: shown(field) for key, field in fields.items()} == PARAMETERS[module][name]
