"""A command as a store describes it, to be carried out again: typed fields, all of them harmless.

Whoever can write a store can write a description. So it says what is computed, and nothing about
where results go, who computes, what is shown of records, or in which process code runs: that is for
whoever resumes. Code of the user's is named there again, and files of data have to be plain ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from dpaudit.auditing.repeat import plan
from dpaudit.errors import DataError, shorten_repr
from dpaudit.escaping import one_line
from dpaudit.extension.models import get_given_settings, with_settings
from dpaudit.extension.setting_table import (
    AuditSettings,
    Door,
    Group,
    Kind,
    OwnSettings,
    ProcessSettings,
    rows_of,
)


def _require_plain_text(text: str, info: ValidationInfo) -> str:
    kept = info.context is not None  # what is given on the command line is checked where it is used
    # A store that somebody sends is as hostile as any file: a text that begins with a minus
    # would be read as an option when the command line is shown and typed again.
    if kept and (not text.isprintable() or text.startswith("-") or not 0 < len(text) <= _LONGEST):
        raise ValueError("expected a text on one line that is no option")
    return text


def _require_local_path(text: str, info: ValidationInfo) -> str:
    kept = info.context is not None
    # An address would let a store make this machine fetch something, and a device or a pipe
    # would wait for ever.
    if kept and ("://" in text or not (Path(text).is_file() or Path(text).is_dir())):
        raise ValueError("expected a file or a folder of this machine")
    return text


_LONGEST = 4096
Text = Annotated[str, AfterValidator(_require_plain_text)]
Local = Annotated[Text, AfterValidator(_require_local_path)]
Parameters = dict[Text, JsonValue]


class _Description(BaseModel):
    # Strict: JSON's "1" must not become the number 1, as the description has to be the command
    # that was given.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def code(self) -> Sequence[str]:
        """The words that name code of the user's, or decide which code runs."""
        return ()

    def document(self) -> dict[str, Any]:
        """Return it as a store keeps it: the settings that somebody gave."""
        return self.model_dump(exclude_none=True)


class AuditCommand(_Description):
    """An audit of claims or mechanisms, with the options that determine it."""

    command: Literal["audit"] = "audit"
    targets: list[Text] = []
    every: bool = False
    outputs: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> AuditCommand:
        """Return the description of a command line's arguments, values by names of settings."""
        return _AUDIT.model_validate(given)

    @property
    def code(self) -> Sequence[str]:
        """Files of audits, mechanisms by their names, and the code that makes parts of them anew.

        So are programs, and services: nobody else decides whom this machine asks.
        """
        if self.outputs:
            return ()
        own = self.own
        if beyond := [own[one] for one in ("program", "url") if one in own]:
            return beyond
        anew = [own["fresh"]] if "fresh" in own else []
        named = [one for one in (*self.targets, *anew) if one.endswith(".toml") or ":" in one]
        return list(dict.fromkeys(named))

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings that come before those of a claim or a file."""
        return get_given_settings(self, rows_of(AuditSettings, door=Door.COMMAND))

    @property
    def own(self) -> dict[str, Any]:
        """Options of a mechanism of one's own."""
        return get_given_settings(self, rows_of(OwnSettings, door=Door.COMMAND))

    @property
    def processes(self) -> ProcessSettings:
        """The limits of mechanisms' processes."""
        return ProcessSettings(**get_given_settings(self, rows_of(ProcessSettings)))

    @property
    def line(self) -> str:
        """The command line."""
        targets = ["--all"] if self.every else self.targets
        given = get_given_settings(self, rows_of(door=Door.COMMAND))
        return str(plan.CommandPlan(given, tuple(targets), self.outputs))


def _as_tuples(value: Any) -> Any:
    """Return lists of JSON as the tuples that they stand for."""
    if isinstance(value, Mapping):
        return {key: _as_tuples(one) for key, one in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _make_tuple_type(kind: Any) -> Any:
    return Annotated[kind, BeforeValidator(_as_tuples)]


_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: float,
    Kind.NUMBERS: _make_tuple_type(tuple[float, float]),
    Kind.INTEGER: int,
    Kind.FLAG: bool,
    Kind.WORD: Text,
    Kind.WORDS: list[Text],
    Kind.FILE: Local,
    Kind.RECORDS: Local,
    Kind.CURVE: Local,
    Kind.BOUNDS: _make_tuple_type(tuple[float, float] | dict[Text, tuple[float, float]]),
    Kind.LOOKS: _make_tuple_type(tuple[tuple[int, float], ...]),
    Kind.PARAMETERS: Parameters,
}
# No ``show_records``: what is shown is for whoever resumes.
_ROWS = [row for row in rows_of(door=Door.COMMAND) if row.group is not Group.OUTPUT]
_AUDIT = with_settings(AuditCommand, _ROWS, _TYPES)


class AttackCommand(_Description):
    """An attack, its parameters and its seed."""

    command: Literal["attack"] = "attack"
    name: Text
    parameters: Parameters = {}
    seed: int = 0

    @property
    def line(self) -> str:
        """The command line."""
        given = (("--set", self.parameters or None), ("--seed", self.seed))
        return plan.join_options(["dpaudit", "attack", one_line(self.name)], given)


class SelftestCommand(_Description):
    """A self-test, of either size."""

    command: Literal["selftest"] = "selftest"
    full: bool = False
    seed: int = 0

    @property
    def line(self) -> str:
        """The command line."""
        size = "--full" if self.full else "--quick"
        return plan.join_options(["dpaudit", "selftest", size], [("--seed", self.seed)])


Command = AuditCommand | AttackCommand | SelftestCommand
_EACH: Any = _AUDIT | AttackCommand | SelftestCommand
_COMMANDS: TypeAdapter[Command] = TypeAdapter(
    Annotated[_EACH, Field(discriminator="command")],
)


def read_command(kept: Mapping[str, Any], path: Path) -> Command:
    """Return the command that a store describes.

    Raises
    ------
    DataError
        It describes none, or one with a field that is not known, or not harmless.

    Examples
    --------
    >>> read_command({"command": "selftest", "seed": 3}, Path("a.sqlite")).line
    'dpaudit selftest --quick --seed 3'
    >>> read_command({"command": "audit", "format": "x=PATH"}, Path("a.sqlite"))
    Traceback (most recent call last):
    dpaudit.errors.DataError: store a.sqlite: the command that it describes cannot be resumed \
('format: extra inputs are not permitted'); give the command itself again, with --store
    """
    try:
        # The context tells the validators that the text was stored, and is not what somebody
        # has just typed.
        return _COMMANDS.validate_python(kept, context={"path": path})
    except (ValidationError, RecursionError) as error:
        why = (
            "it was begun in Python, or by an earlier dpaudit"
            if not kept
            else _format_first_error(error)
        )
        said = f"the command that it describes cannot be resumed ({why})"
        again = "give the command itself again, with --store"
        raise DataError(f"store {one_line(str(path))}: {said}; {again}") from None


def _format_first_error(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("audit", "attack"))
    message = first["msg"].removeprefix("Value error, ")
    return shorten_repr(one_line(f"{place}: {message[:1].lower()}{message[1:]}".removeprefix(": ")))
