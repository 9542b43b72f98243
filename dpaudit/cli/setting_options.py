"""Options that a command takes from the table of settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

import typer

import dpaudit.cli.completion as completion
from dpaudit.cli.options import integer_option, looks_option, number_option, pairs, parser_of
from dpaudit.extension.setting_table import Kind, Setting

Command = TypeVar("Command", bound=Callable[..., int])
_COMPLETED = {"distinguisher": completion.complete_distinguishers}


def takes(rows: Iterable[Setting], required: Iterable[str] = ()) -> Callable[[Command], Command]:
    """Give a command an option for each row, in place of its ``**given``.

    Parameters
    ----------
    rows
        Of the table; one whose name the command has already is the command's own.
    required
        Names of those that have to be given.
    """
    needed = frozenset(required)

    def add_options(command: Command) -> Command:
        # Typer reads signatures, and modules here have their annotations as text.
        own = inspect.signature(command, eval_str=True)
        kept = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        known = {one.name for one in kept}
        added = [
            _make_option_parameter(row, row.name in needed) for row in rows if row.name not in known
        ]
        # A signature has its required parameters first; the sort is stable, so that the help
        # keeps the order of the table.
        ordered = sorted([*kept, *added], key=lambda one: one.default is not one.empty)
        plain = [one.replace(kind=one.KEYWORD_ONLY) for one in ordered]
        command.__signature__ = own.replace(parameters=plain)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in plain}
        return command

    return add_options


def values_of(rows: Iterable[Setting], given: dict[str, Any]) -> dict[str, Any]:
    """Return the given options of a command line, by name; options that are absent are left out."""
    found = [(row, _parse_setting_value(row, given[row.name])) for row in rows if row.name in given]
    return {row.name: one for row, one in found if row.is_given(one)}


def _make_option_parameter(row: Setting, required: bool) -> inspect.Parameter:
    kind, default = _TYPES.get(row.kind, str), inspect.Parameter.empty
    if not required:
        default = False if row.kind is Kind.FLAG else None  # type: ignore[assignment]
        # None tells what was not given from what was given with the default value: a file's
        # setting is overridden by the latter alone.
        kind = kind if row.kind is Kind.FLAG else kind | None
    annotation = Annotated[kind, _make_setting_option(row)]  # type: ignore[valid-type]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(row.name, keyword, default=default, annotation=annotation)


_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: float,
    Kind.INTEGER: int,
    Kind.FLAG: bool,
    Kind.LOOKS: str,
    Kind.NUMBERS: tuple[float, float],
    **dict.fromkeys((Kind.WORDS, Kind.PARAMETERS, Kind.BOUNDS), list[str]),
}


def _make_setting_option(row: Setting) -> Any:
    older = [f"--{name}" for name in row.older]
    match row.kind:
        case Kind.NUMBER:
            found = number_option(row.flag, row.help)
        case Kind.INTEGER:
            found = integer_option(row.flag, row.help)
        case Kind.LOOKS:
            found = looks_option(row.help)
        case _:
            shown = row.metavar or _METAVARS.get(row.kind)
            complete = _COMPLETED.get(row.name)
            found = typer.Option(
                row.flag, *older, help=row.help, metavar=shown, autocompletion=complete
            )
    found.rich_help_panel = row.group.value
    return found


_METAVARS = {Kind.PARAMETERS: "KEY=VALUE", Kind.BOUNDS: "[COLUMN=]LOW,HIGH"}


def _parse_setting_value(row: Setting, value: Any) -> Any:
    if row.kind is Kind.PARAMETERS:
        found = pairs(row.flag, value)
        return _with_flags(found) if row.name == "domain" else found
    return _parse_column_bounds(row.flag, value) if row.kind is Kind.BOUNDS and value else value


def _with_flags(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a domain, with words for yes and no as booleans."""
    from dpaudit.domains.domain import FLAGS

    said = {"true": True, "yes": True, "false": False, "no": False}
    return {
        name: said.get(value.lower(), value) if name in FLAGS and isinstance(value, str) else value
        for name, value in values.items()
    }


def _parse_column_bounds(flag: str, texts: list[str]) -> Any:
    """Return bounds of all columns, or of each that is named."""
    read = parser_of(
        flag, _parse_bound_pair, "LOW,HIGH or COLUMN=LOW,HIGH, and one of all or some by name"
    )
    # From the right, as the name of a column may hold an equals sign and a number cannot.
    named = [one.rpartition("=") for one in texts]
    if len(named) == 1 and not named[0][1]:
        return read(texts[0])
    if not all(column and sign for column, sign, _ in named):
        return read(" ".join(texts))  # neither one of all nor each by its name: say so
    return {column: read(numbers) for column, _, numbers in named}


def _parse_bound_pair(text: str) -> tuple[float, float]:
    low, high = text.split(",")
    return float(low), float(high)
