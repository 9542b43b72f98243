"""A command as a store describes it, to be carried out again: typed fields, all of them harmless.

Whoever can write a store can write a description. So it says what is computed, and nothing about
where results go, who computes, what is shown of records, or in which process code runs: that is for
whoever resumes. Code of the user's is named there again, and files of data have to be plain ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from dpaudit.auditing import plan
from dpaudit.errors import DataError, shorten
from dpaudit.text import one_line


def _plain(text: str, info: ValidationInfo) -> str:
    kept = info.context is not None  # what is given on the command line is checked where it is used
    if kept and (not text.isprintable() or text.startswith("-") or not 0 < len(text) <= _LONGEST):
        raise ValueError("expected a text on one line that is no option")
    return text


def _local(text: str, info: ValidationInfo) -> str:
    kept = info.context is not None
    if kept and ("://" in text or not (Path(text).is_file() or Path(text).is_dir())):
        raise ValueError("expected a file or a folder of this machine")
    return text


_LONGEST = 4096
Text = Annotated[str, AfterValidator(_plain)]
Local = Annotated[Text, AfterValidator(_local)]
Parameters = dict[Text, JsonValue]


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def code(self) -> Sequence[str]:
        """What it names that is code of the user's, or says which code is run."""
        return ()

    def document(self) -> dict[str, Any]:
        """Return it as a store keeps it: what was given."""
        return self.model_dump(exclude_none=True)


class AuditCommand(_Described):
    """An audit of claims or mechanisms, with the options that determine it."""

    command: Literal["audit"] = "audit"
    targets: list[Text] = []
    every: bool = False
    epsilon: float | None = None
    delta: float | None = None
    data: Text | None = None
    data_path: Local | None = None
    data_options: Parameters | None = None
    parameters: Parameters | None = None
    trials: int | None = None
    confidence: float | None = None
    seed: int | None = None
    estimator: Text | None = None
    distinguisher: Text | None = None
    until_refuted: bool | None = None
    candidate_pairs: int | None = None
    unit: int | None = None
    time: float | None = None
    looks: tuple[tuple[int, float], ...] | None = None
    dataset: Local | None = None
    neighbour: Local | None = None
    relation: Text | None = None
    form: Text | None = None
    mu: float | None = None
    rho: float | None = None
    renyi: tuple[float, float] | None = None
    curve: Local | None = None
    read: list[Text] | None = None
    observe: list[Text] | None = None
    ignore: list[Text] | None = None
    fresh: Text | None = None
    timeout: float | None = None
    memory: float | None = None
    in_process: bool = False

    _OWN: ClassVar[tuple[str, ...]] = (
        *("dataset", "neighbour", "relation", "form", "mu", "rho", "renyi", "curve", "read"),
        *("observe", "ignore", "fresh"),
    )
    _ELSEWHERE: ClassVar[tuple[str, ...]] = (
        *("command", "targets", "every", "timeout", "memory", "in_process"),
    )

    @property
    def code(self) -> Sequence[str]:
        """Files of audits, mechanisms by their names, and what makes a part of them anew."""
        anew = [] if self.fresh is None else [self.fresh]
        named = [one for one in (*self.targets, *anew) if one.endswith(".toml") or ":" in one]
        return list(dict.fromkeys(named))

    @property
    def own(self) -> dict[str, Any]:
        """Options of a mechanism of one's own."""
        return self._given(self._OWN)

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings that come before those of a claim or a file."""
        names = [one for one in type(self).model_fields if one not in self._OWN + self._ELSEWHERE]
        return self._given(names)

    def _given(self, names: Sequence[str]) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value not in (None, {}, [])}

    @property
    def line(self) -> str:
        """The command line."""
        targets = ["--all"] if self.every else self.targets
        where = self._given(("timeout", "memory", "in_process"))
        return str(plan.Command({**self.overrides, **self.own, **where}, tuple(targets)))


class AttackCommand(_Described):
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


class SelftestCommand(_Described):
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
_COMMANDS: TypeAdapter[Command] = TypeAdapter(
    Annotated[Command, Field(discriminator="command")],
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
        # Lists of JSON stand for tuples; nothing else is converted.
        return _COMMANDS.validate_python(_with_tuples(kept), context={"path": path})
    except (ValidationError, RecursionError) as error:
        why = "it was begun in Python, or by an earlier dpaudit" if not kept else _first(error)
        said = f"the command that it describes cannot be resumed ({why})"
        again = "give the command itself again, with --store"
        raise DataError(f"store {one_line(str(path))}: {said}; {again}") from None


def _with_tuples(kept: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(kept)
    if isinstance(one := found.get("renyi"), list):
        found["renyi"] = tuple(one)
    if isinstance(looks := found.get("looks"), list):
        found["looks"] = tuple(tuple(one) if isinstance(one, list) else one for one in looks)
    return found


def _first(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("audit", "attack"))
    message = first["msg"].removeprefix("Value error, ")
    return shorten(one_line(f"{place}: {message[:1].lower()}{message[1:]}".removeprefix(": ")))
