"""Models that have a field for each row of the table of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, Field, create_model

from dpaudit.extension.setting_table import Kind, Setting

Model = TypeVar("Model", bound=BaseModel)


def with_settings(
    base: type[Model], rows: Iterable[Setting], types: Mapping[Kind, Any]
) -> type[Model]:
    """Return a model with the fields of another and one for each row; none need be given.

    Parameters
    ----------
    base
        The model.
    rows
        Of the table; one whose name the model has already is the model's own.
    types
        Of values, by their kind.

    Examples
    --------
    >>> from dpaudit.extension.parameters import Parameters
    >>> from dpaudit.extension.setting_table import row_of
    >>> with_settings(Parameters, [row_of("seed")], {Kind.INTEGER: int}).model_validate({})
    Parameters(seed=None)
    """
    # None stands for a setting that was not given, which is not the same as its default.
    fields: dict[str, Any] = {
        row.name: (types[row.kind] | None, _make_model_field(row))
        for row in rows
        if row.name not in base.model_fields
    }
    return create_model(base.__name__, __base__=base, __doc__=base.__doc__, **fields)


def _make_model_field(row: Setting) -> Any:
    # Files that were written with an older name are still read.
    names = AliasChoices(row.name, *row.older) if row.older else None
    return Field(None, description=row.meaning, validation_alias=names)


def get_given_settings(model: BaseModel, rows: Iterable[Setting]) -> dict[str, Any]:
    """Return the settings that a model was given, by name."""
    found = [(row, getattr(model, row.name, None)) for row in rows]
    return {row.name: one for row, one in found if row.is_given(one)}
