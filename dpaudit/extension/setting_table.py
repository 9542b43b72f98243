"""The table of settings: each is stated once, with all that any door of an audit says of it.

A row is a field of one of four classes: its name, its type and its default are the field's, and
`setting` adds what it means, of which kind its values are, who takes it, and to which group of a
help page it belongs. The command line, its plan, files of audits, what a store describes, the
marker of pytest and the watch of a stream are made of the rows; the signature of `dpaudit.audit` is
checked against them. The module needs nothing of weight, so that a help page costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dpaudit.extension.setting_kinds import Door as Door
from dpaudit.extension.setting_kinds import Group as Group
from dpaudit.extension.setting_kinds import Kind as Kind
from dpaudit.extension.setting_rows import AUDITS, setting
from dpaudit.extension.setting_rows import Setting as Setting

_ALL = frozenset(Door)
_CLAIMED = _ALL - {Door.SENSITIVITY, Door.VIEWS}  # nothing is claimed of a query, or a view
# An installed claim brings its own mechanism and data.
_OWN = AUDITS - {Door.CLAIM}
_RUN = AUDITS - {Door.MARKER}  # of a run of tests these are the run's
_CLAIMS = frozenset({Door.COMMAND, Door.CLAIM})
_LINES = frozenset({Door.COMMAND, Door.FILE})
_JUDGED = frozenset({Door.COMMAND, Door.CLAIM, Door.FILE})
_PROCESSES = frozenset({Door.COMMAND, Door.REPLAY, Door.SENSITIVITY, Door.VIEWS, Door.PROVE})


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """The settings of any audit: of an installed claim, or of a mechanism of one's own."""

    epsilon: float = setting(
        1.0,
        Kind.NUMBER,
        Group.CLAIM,
        "Claimed epsilon",
        "no default; 1 for a paper's claim",
        doors=_CLAIMED,
    )
    delta: float = setting(
        1e-5,
        Kind.NUMBER,
        Group.CLAIM,
        "Claimed delta",
        "0; 1e-5 for a paper's claim",
        doors=_CLAIMED,
    )
    data: str = setting(
        "worst-case",
        Kind.WORD,
        Group.DATA,
        "Data for a paper's claim: worst-case, breast-cancer, adult, a9a, csv or libsvm",
        "worst-case",
        doors=_CLAIMS,
    )
    data_path: str | None = setting(
        None,
        Kind.FILE,
        Group.DATA,
        "The file or directory that holds these data",
        "$DPAUDIT_DATA",
        doors=_CLAIMS,
    )
    data_options: Mapping[str, Any] = setting(
        {},
        Kind.PARAMETERS,
        Group.DATA,
        "An option for the loader of these data",
        doors=_CLAIMS,
        flag="--data-option",
    )
    trials: int | None = setting(
        None, Kind.INTEGER, Group.EFFORT, "Outputs per dataset", "the claim's"
    )
    confidence: float = setting(
        0.95,
        Kind.NUMBER,
        Group.EFFORT,
        "Confidence of everything that is certified, taken together",
        "0.95",
        doors=_RUN | {Door.STREAM},
    )
    seed: int = setting(
        0,
        Kind.INTEGER,
        Group.EFFORT,
        "The only source of randomness",
        "default: 0",
        doors=_ALL - {Door.MARKER},
    )
    estimator: str = setting(
        "auto",
        Kind.WORD,
        Group.EFFORT,
        "The estimator that bounds epsilon: auto, exact-loss or event",
        "default: auto",
    )
    distinguisher: str | None = setting(
        None,
        Kind.WORD,
        Group.EFFORT,
        "The only distinguisher to try",
        "every one that applies",
        doors=AUDITS | {Door.STREAM},
        older=("attack",),
    )
    doubles: str = setting(
        "report",
        Kind.WORD,
        Group.EFFORT,
        "The part of the lowest bits of doubles: report states their bound in a note, refute "
        "lets them refute the claim",
        "default: report",
        doors=AUDITS,
        metavar="report|refute",
    )
    until_refuted: bool = setting(
        False,
        Kind.FLAG,
        Group.EFFORT,
        "Bet on outputs, and stop once the claim is refuted; --trials caps their number",
    )
    candidate_pairs: int | None = setting(
        None,
        Kind.INTEGER,
        Group.DATA,
        "The number of candidate pairs to try for a paper's claim; the worst is certified on fresh "
        "outputs",
        doors=_CLAIMS,
        flag="--pairs",
    )
    parameters: Mapping[str, Any] = setting(
        {},
        Kind.PARAMETERS,
        Group.CLAIM,
        "A parameter of a paper's claim; dpaudit show names them",
        doors=_CLAIMS,
        flag="--set",
    )
    unit: int | None = setting(
        None,
        Kind.INTEGER,
        Group.EFFORT,
        "Outputs per call of a mechanism",
        "chosen by size and pace",
        doors=_RUN,
    )
    time: float | None = setting(
        None, Kind.NUMBER, Group.EFFORT, "Seconds an audit may take, in place of --trials"
    )
    looks: Sequence[tuple[int, float]] | None = setting(
        None,
        Kind.LOOKS,
        Group.EFFORT,
        "The looks that the report of an audit with --time names, to get its numbers again",
        doors=_RUN,
    )
    show_records: bool = setting(
        False,
        Kind.FLAG,
        Group.OUTPUT,
        "Let messages and reports hold values of records and outputs",
        doors=frozenset({Door.PYTHON, Door.COMMAND}),
    )


@dataclass(frozen=True, kw_only=True)
class OwnSettings:
    """The further settings of an audit of one's own mechanism."""

    dataset: Any = setting(
        None,
        Kind.RECORDS,
        Group.DATA,
        "A file of records for your mechanism, .csv, .json or .npy",
        doors=_LINES | {Door.REPLAY, Door.SENSITIVITY},
    )
    neighbour: Any = setting(
        None,
        Kind.RECORDS,
        Group.DATA,
        "The neighbour's file",
        "by default the audit searches for the worst one under the relation",
        doors=_LINES | {Door.REPLAY},
    )
    relation: str | None = setting(
        None,
        Kind.WORD,
        Group.DATA,
        "The relation by which the two datasets differ",
        "the smallest relation that explains the difference",
        doors=_OWN | {Door.REPLAY, Door.SENSITIVITY, Door.PROVE},
    )
    bounds: Any = setting(
        None,
        Kind.BOUNDS,
        Group.DATA,
        "The range of numbers in neighbours that are searched for; may be given for each column",
        doors=_OWN | {Door.REPLAY, Door.SENSITIVITY},
    )
    domain: Any = setting(
        None,
        Kind.PARAMETERS,
        Group.DATA,
        "The domain of datasets, in place of a neighbour: bounds=[0,1], records=6, columns, norm, "
        "labels, users, nodes",
        doors=_OWN | {Door.REPLAY, Door.SENSITIVITY, Door.PROVE},
    )
    about: str | None = setting(
        None,
        Kind.WORD,
        Group.DATA,
        "A name for the data that are released, such as survey-2031: a sheet adds up the "
        "spending on the same data",
        doors=_LINES,
        metavar="NAME",
    )
    search_calls: int | None = setting(
        None,
        Kind.INTEGER,
        Group.EFFORT,
        "Calls of a mechanism that the search for the worst pair may make",
        "chosen by --trials or --time",
        doors=_OWN | {Door.REPLAY},
    )
    program: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "Any program in place of module:function, such as './noiser {data} {seed}'",
        doors=_LINES,
        flag="--command",
        metavar="COMMAND",
    )
    protocol: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "The way to run the program: once for every output, or by the lines of docs/programs.md",
        "found by trying",
        doors=_LINES,
        metavar="once|lines",
    )
    url: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "A service in place of module:function, such as 'http://host/count?rows={data}'",
        doors=_LINES,
    )
    method: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "The method of requests to a service",
        "GET, or POST with a body",
        doors=_LINES,
    )
    header: Sequence[str] = setting(
        (),
        Kind.WORDS,
        Group.MECHANISM,
        "A header of the requests, 'Name: value' or 'Name: env:VARIABLE'",
        doors=_LINES,
        older=("headers",),
    )
    body: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "The body of the requests: JSON, a form or text with {data}, {dataset}, {seed}, {fresh}",
        doors=_LINES,
    )
    rate: float | None = setting(
        None,
        Kind.NUMBER,
        Group.MECHANISM,
        "The most requests a second, of all workers together",
        "as many as it answers",
        doors=_LINES,
    )
    patience: float | None = setting(
        None,
        Kind.NUMBER,
        Group.MECHANISM,
        "Seconds that a request waits in all while the answer is 429 or 503",
        "600",
        doors=_LINES,
    )
    version_header: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "The header that names the version of a service",
        "Server",
        doors=_LINES,
    )
    form: str | None = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        'The call of the mechanism, such as "f(data, rng)"',
        "read from its signature",
        doors=_OWN | {Door.REPLAY, Door.PROVE},
    )
    read: Any = setting(
        None,
        Kind.WORDS,
        Group.MECHANISM,
        "An attribute of the output to look at; for a service, a member or a JSON pointer",
        doors=_OWN | {Door.REPLAY},
    )
    observe: Sequence[str] = setting(
        (),
        Kind.WORDS,
        Group.MECHANISM,
        "A further part of the output to observe: exceptions, warnings or time",
        doors=_OWN,
    )
    ignore: Sequence[str] = setting(
        (),
        Kind.WORDS,
        Group.MECHANISM,
        "A part of the output to leave out, such as a time stamp",
        doors=_OWN,
    )
    fresh: Any = setting(
        None,
        Kind.WORD,
        Group.MECHANISM,
        "A value to make anew for every output: an argument, a global, env:NAME, a function "
        "module:reset, or process; for a service query:NAME, header:NAME or body:NAME",
        doors=_OWN,
        metavar="WHAT",
    )
    require: str | None = setting(
        None,
        Kind.WORD,
        Group.CLAIM,
        "The verdict that the claim must have: proved. Anything less ends with status 2",
        doors=_LINES,
        metavar="VERDICT",
    )
    mu: float | None = setting(
        None,
        Kind.NUMBER,
        Group.CLAIM,
        "A Gaussian claim in place of epsilon",
        doors=_LINES | {Door.PROVE},
    )
    rho: float | None = setting(
        None,
        Kind.NUMBER,
        Group.CLAIM,
        "A zCDP claim in place of epsilon",
        doors=_LINES | {Door.PROVE},
    )
    renyi: tuple[float, float] | None = setting(
        None,
        Kind.NUMBERS,
        Group.CLAIM,
        "A Renyi claim in place of epsilon",
        doors=_LINES,
        metavar="ORDER EPSILON",
    )
    curve: Any = setting(
        None,
        Kind.CURVE,
        Group.CLAIM,
        "A .csv file of epsilons and deltas in place of epsilon",
        doors=_LINES,
    )


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """The limits of mechanisms' processes; memory in MiB."""

    timeout: float | None = setting(
        None,
        Kind.NUMBER,
        Group.MACHINE,
        "Seconds that one call of a mechanism may take",
        "no limit",
        doors=_PROCESSES,
    )
    memory: float | None = setting(
        None,
        Kind.NUMBER,
        Group.MACHINE,
        "MiB that a process of a mechanism may have",
        "no limit",
        doors=_PROCESSES,
    )
    in_process: bool = setting(
        False,
        Kind.FLAG,
        Group.MACHINE,
        "Run mechanisms in this process, as debuggers need it",
        doors=_PROCESSES,
    )


@dataclass(frozen=True, kw_only=True)
class AcceptanceSettings:
    """The refutations that a project accepts: they decide no verdict, and the exit status alone."""

    baseline: str | None = setting(
        None,
        Kind.FILE,
        Group.OUTPUT,
        "A file of accepted refutations, which do not count for the exit status",
        doors=_JUDGED,
    )
    accept: str | None = setting(
        None,
        Kind.WORD,
        Group.OUTPUT,
        "Add the refutations to the baseline, with this reason",
        doors=frozenset({Door.COMMAND}),
        metavar="REASON",
    )
    accept_until: str | None = setting(
        None,
        Kind.WORD,
        Group.OUTPUT,
        "The last day on which it is accepted",
        "always",
        doors=frozenset({Door.COMMAND}),
        metavar="DAY",
    )


TABLE = (AuditSettings, OwnSettings, ProcessSettings, AcceptanceSettings)


def rows_of(*classes: type, door: Door | None = None) -> tuple[Setting, ...]:
    """Return the rows that fields of classes are, by default of all; those of one door.

    Examples
    --------
    >>> [row.flag for row in rows_of(ProcessSettings)]
    ['--timeout', '--memory', '--in-process']
    """
    found = [_row(one) for cls in classes or TABLE for one in fields(cls) if "kind" in one.metadata]
    return tuple(row for row in found if door is None or door in row.doors)


def names_of(*classes: type, door: Door | None = None) -> tuple[str, ...]:
    """Return the names of rows, as `rows_of` returns them.

    Examples
    --------
    >>> names_of(door=Door.STREAM)
    ('epsilon', 'delta', 'confidence', 'seed', 'distinguisher')
    """
    return tuple(row.name for row in rows_of(*classes, door=door))


def row_of(name: str) -> Setting:
    """Return the row of a name.

    Examples
    --------
    >>> row_of("candidate_pairs").flag
    '--pairs'
    """
    return next(row for row in rows_of() if row.name == name)


def _row(one: Any) -> Setting:
    stated = dict(one.metadata)
    usual = f"--{one.name.replace('_', '-')}"
    # A field without a factory has MISSING in its place, which is not None.
    default = one.default_factory() if callable(one.default_factory) else one.default
    return Setting(name=one.name, default=default, **{**stated, "flag": stated["flag"] or usual})
