"""Public parameters: the model that others derive, and how a user's values are read with it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dpaudit.errors import InvalidArgument, one_of
from dpaudit.redaction import Record

Model = TypeVar("Model", bound=BaseModel)


class Parameters(BaseModel):
    """Public parameters: frozen, finite, and no others than these."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


CHOICE: dict[str, Any] = {"x-role": "choice"}
"""Of a field, as ``json_schema_extra``: it decides what counts as a refutation, so it is the
reader's. A certificate in which it is not the default is verified with a reservation."""


def other_choices(model: type[BaseModel], given: Mapping[str, object]) -> dict[str, object]:
    """Return the choices that are not the defaults, with those: a reader did not choose them.

    Examples
    --------
    >>> from pydantic import Field
    >>> class Found(Parameters):
    ...     cosine: float = Field(0.6, json_schema_extra=CHOICE)
    ...     runs: int = 20
    >>> other_choices(Found, {"cosine": 0.99, "runs": 5})
    {'cosine': 0.6}
    """
    return {
        name: field.default
        for name, field in model.model_fields.items()
        if field.json_schema_extra == CHOICE and given.get(name, field.default) != field.default
    }


def parse_parameters(
    model: type[Model], given: Mapping[str, object], records: Container[str] = ()
) -> Model:
    """Return the model of ``given``, or raise `InvalidArgument` on the first thing wrong.

    What stands under the names in ``records`` is a user's data, and so is any list or table where
    there are such names: somebody may have mistaken one for another.

    Examples
    --------
    >>> class Nodes(Parameters):
    ...     nodes: int = 3
    >>> parse_parameters(Nodes, {"nodes": 5}).nodes
    5
    >>> parse_parameters(Nodes, {"node": 5})
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: parameter: got 'node', expected one of: nodes; \
did you mean 'nodes'?
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        # The first is enough: the others often follow from it.
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "parameters"
        if first["type"] == "missing":
            raise InvalidArgument(name, None, "a value: it has no default") from None
        # Pydantic names no alternatives, and such a name is mostly misspelt.
        if first["type"] == "extra_forbidden":
            raise InvalidArgument("parameter", name, one_of(model.model_fields, name)) from None
        value = first["input"]
        if records and (
            any(one in records for one in first["loc"][:1]) or isinstance(value, list | dict)
        ):
            value = Record(value)
        raise InvalidArgument(name, value, _format_validation_message(first["msg"])) from None


def _format_validation_message(message: str) -> str:
    text = message.removeprefix("Input should be ")
    return text[:1].lower() + text[1:]
