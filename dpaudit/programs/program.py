"""A program as a mechanism."""

from __future__ import annotations

import atexit
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from numpy.random import Generator

import dpaudit.execution.leftovers as leftovers
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText, shorten_repr
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.programs.command import DATA, SEED, CommandLine, digest_of
from dpaudit.programs.lines import VERSION, Conversation, Hello, make_greeting
from dpaudit.programs.printed_text import NotAnOutput, make_printed_output_error, output_of
from dpaudit.programs.records import File, Format, digest_of_records, to_json_records
from dpaudit.programs.running import ProgramFailed, TooMuch, run_program
from dpaudit.redaction import are_shown
from dpaudit.standins import tells_no_record

Protocol = Literal["once", "lines"]
_PROTOCOLS = ("once", "lines")
_SEEDS = 2**31  # of an output: what srand and set.seed take in every language
_SEEDS_OF_REQUESTS = 2**53  # below this every language has integers exactly
_HIDDEN = "(show_records=True, or --show-records, shows what it says)"


@dataclass(frozen=True)
class Program(Outside):
    """Any program as a mechanism: `dpaudit.audit` takes one where it takes a function.

    Parameters
    ----------
    command
        The program and its arguments; no shell reads them. ``{data}`` stands for the path of a file
        with the dataset, without which it is written to standard input; ``{seed}`` for an integer
        from 0 to 2^31 that is another one for every output.
    protocol
        ``"once"`` runs it for every output, and reads what it prints: a number, a line of text,
        several numbers, or JSON. ``"lines"`` starts it once a process and speaks with it as
        docs/programs.md specifies. By default it is run once for every output where the command
        has ``{data}`` or ``{seed}``, and else what it answers to a greeting decides.
    folder
        Where it runs; by default here.

    Raises
    ------
    InvalidArgument
        The command is none, or there is no such program.

    Examples
    --------
    >>> program = Program("awk -v seed={seed} 'BEGIN { srand(seed); print 3 + rand() }'")
    >>> program.form, program.name
    ('f(data, rng)', "awk -v seed={seed} 'BEGIN { srand(seed); print 3 + rand() }'")
    """

    command: str
    protocol: str | None = None
    folder: str | os.PathLike[str] | None = None
    files: Mapping[str, File] = field(default_factory=dict, repr=False, hash=False)
    greeted: Hello | None = field(default=None, repr=False)
    place: str | None = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[Program], tuple[Any, ...]]:
        return Program, tuple(getattr(self, one.name) for one in fields(self))

    def __post_init__(self) -> None:
        if self.protocol not in (None, *_PROTOCOLS):
            raise InvalidArgument("protocol", self.protocol, f"one of {', '.join(_PROTOCOLS)}")
        folder = None if self.folder is None else os.fspath(self.folder)
        object.__setattr__(self, "folder", folder)
        if self.protocol == "lines" and (self._line.has(DATA) or self._line.has(SEED)):
            expected = f"a command without {DATA} and {SEED}, which the protocol sends"
            raise InvalidArgument("command", self.command, expected)
        # Asked for here, so that a program that is not there is an error where it is named and
        # not in a worker.
        _ = self._line.executable

    @cached_property
    def _line(self) -> CommandLine:
        return CommandLine(self.command, None if self.folder is None else str(self.folder))

    @property
    def name(self) -> str:
        """The command."""
        return self.command

    @property
    def reaches(self) -> tuple[str, str]:
        """The sources of outputs that never vary: nobody sees the files that a program reads."""
        return "secret, cache or file of a program", self.name

    def with_file(self, records: Any, path: Path) -> Program:
        """Return the program that is given a file as it is where it is called on its records."""
        found = digest_of_records(records)
        return replace(self, files={**self.files, found: File.read(path)}) if found else self

    def settled(self, limits: Limits | None) -> Program:
        """Return the program of which is known whether it speaks the protocol.

        Parameters
        ----------
        limits
            Of the process that tries it; None for this process.
        """
        if self._runs_once:
            return replace(self, place=str(_get_data_folder()) if self._line.has(DATA) else None)
        question = self._greeting if self.protocol is not None else self._tried
        if (answer := self._asked(limits, question)) is None:
            return replace(self, protocol="once")
        return replace(self, protocol="lines", greeted=Hello(*answer))

    @property
    def _runs_once(self) -> bool | None:
        """Whether it is run for every output; None where nobody has said so."""
        if self.protocol is not None:
            return self.protocol == "once"
        return True if self._line.has(DATA) or self._line.has(SEED) else None

    def _asked(self, limits: Limits | None, question: Any) -> Any:
        if limits is None:
            return question()
        with add_mechanism_name(self.name), Crew(limits) as crew:
            given = self.command, self.protocol, self.folder
            return crew.call(_ask_program_elsewhere, *given, question.__name__)

    def _tried(self) -> tuple[int, bool, str] | None:
        """Return the first line's answer to a greeting after which the input ends, if it is one.

        What is no whole answer, or one of another version, is asked for once more, which says what
        is wrong with it.
        """
        try:
            printed = run_program(self._line.arguments, self._line.folder, make_greeting())
        except (ProgramFailed, TooMuch):
            return None
        line, _, rest = printed.partition(b"\n")
        if (hello := Hello.read(line)) is None:
            return None
        whole = hello.version == VERSION and not rest
        return (hello.version, hello.seeded, hello.name) if whole else self._greeting()

    @property
    def goes_on(self) -> bool:
        """Whether it speaks the protocol: one process draws many outputs."""
        return self.protocol == "lines"

    @property
    def is_costly(self) -> bool:
        """Whether every output is a start of the program."""
        return not self.goes_on

    def begin(self) -> None:
        """Start and greet a program that speaks the protocol."""
        if self.goes_on:
            self._greeting()

    def _greeting(self) -> tuple[int, bool, str]:
        try:
            hello = self._conversation().hello
        except ProgramFailed as error:  # it was given no data: its words hold no record
            raise MechanismError(
                f"{_format_program_name(self.name)}: {error}, expected a greeting"
            ) from None
        return hello.version, hello.seeded, hello.name

    @property
    def form(self) -> str:
        """The form of a call: for every output, or for many; with rng if it takes seeds."""
        if self._runs_once:
            return "f(data, rng)" if self._line.has(SEED) else "f(data)"
        known = self if self.greeted is not None else self.settled(None)
        if known.protocol == "once":
            return "f(data)"
        seeded = known.greeted is not None and known.greeted.seeded
        return "f(data, trials, rng)" if seeded else "f(data, trials)"

    @cached_property
    def parts(self) -> dict[str, str]:
        """The SHA-256 of the program, and of the files that its arguments name."""
        return {str(one): digest_of(one) for one in self._line.files()}

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the program, its files, its arguments and how it is run."""
        given = [self.command, self.protocol, *self.parts.values()]
        data = sorted(hashlib.sha256(one.content).hexdigest() for one in self.files.values())
        return hashlib.sha256(repr((given, data)).encode()).hexdigest()

    @property
    def remarks(self) -> Sequence[str]:
        """The program and its files, in words."""
        shown = ", ".join(f"{name} ({digest[:16]})" for name, digest in self.parts.items())
        said = f"Program, with the beginning of SHA-256 digests: {shown}."
        return (said,) if "rng" in self.form else (said, _OWN)

    def __call__(self, dataset: Any, *given: Any) -> Any:
        """Return an output, or as many as trials of a program that speaks the protocol.

        Raises
        ------
        MechanismError
            It fails, or answers what is no output.
        """
        if self._runs_once is None:
            return self.settled(None)(dataset, *given)
        call = self._draw_once if self._runs_once else self._draw_by_lines
        try:
            return call(dataset, *given)
        except ProgramFailed as error:
            raise self._failed(error, dataset, lambda made: call(made, *given)) from None
        except TooMuch as error:
            raise MechanismError(f"{_format_program_name(self.name)}: writes {error}") from None

    def _failed(self, error: ProgramFailed, dataset: Any, again: Any) -> MechanismError:
        """Return how it failed; its own words where they hold no record."""
        said = error.said
        if said and not are_shown() and not tells_no_record(error, dataset, again):
            said = _HIDDEN
        words = f"{error.how}: {said}" if said else error.how
        return MechanismError(f"{_format_program_name(self.name)}: {words}, expected an output")

    def _draw_once(self, dataset: Any, rng: Generator | None = None) -> Any:
        seed = None if rng is None else int(rng.integers(_SEEDS))
        file = self._file(dataset)
        by_path = self._line.has(DATA)
        words = self._line.filled(str(self._written(file)) if by_path else "", seed)
        printed = run_program(words, self._line.folder, b"" if by_path else file.content)
        try:
            return output_of(printed)
        except NotAnOutput as error:
            raise make_printed_output_error(self.name, printed, error) from None

    def _file(self, dataset: Any) -> File:
        if not self.files:
            return Format.of(None, dataset).written(dataset)
        found = self.files.get(digest_of_records(dataset))
        like = next(iter(self.files.values()))
        return found or Format.of(like, dataset).written(dataset)

    def _written(self, file: File) -> Path:
        """Return the path of a file of data, which is written once."""
        name = hashlib.sha256(file.content).hexdigest()[:16]
        place = Path(self.place or _get_data_folder()) / name / f"data{file.suffix}"
        if not place.exists():  # two processes may write it: each writes one of its own first
            place.parent.mkdir(parents=True, exist_ok=True)
            own = place.with_name(f"{os.getpid()}{file.suffix}")
            own.write_bytes(file.content)
            own.replace(place)
        return place

    def _draw_by_lines(self, dataset: Any, trials: int, rng: Generator | None = None) -> Any:
        conversation = self._conversation()
        key = digest_of_records(dataset)[:16]
        takes_seeds = conversation.hello.seeded and rng is not None
        seed = int(rng.integers(_SEEDS_OF_REQUESTS)) if takes_seeds and rng is not None else None
        try:
            return conversation.draw(key, lambda: to_json_records(dataset), trials, seed)
        except (ProgramFailed, MechanismError, TooMuch):
            # After a failure nobody knows what the program will still write: the next request
            # has a new one.
            self._hang_up()
            raise

    def _conversation(self) -> Conversation:
        key = (self.command, str(self.folder), os.getpid())
        if key not in _open:
            _open[key] = Conversation(self.name, self._line.arguments, self._line.folder)
        return _open[key]

    def _hang_up(self) -> None:
        if (found := _open.pop((self.command, str(self.folder), os.getpid()), None)) is not None:
            found.close()


_OWN = (
    "The program draws its own randomness: another run of this audit has other outputs. A program "
    "that takes {seed}, or says that it is seeded, repeats its outputs exactly."
)
_open: dict[tuple[str, str, int], Conversation] = {}
_folders: dict[int, Path] = {}


def _ask_program_elsewhere(
    command: str, protocol: str | None, folder: str | None, question: str
) -> Any:
    """Return the answer of a question to a program, in another process."""
    return getattr(Program(command, protocol=protocol, folder=folder), question)()


def _format_program_name(name: str) -> str:
    return f"program {shorten_repr(VerbatimText(name))}"


def _get_data_folder() -> Path:
    """Return the folder of files of data, which is gone when this process has ended."""
    if (found := _folders.get(os.getpid())) is None:
        found = _folders[os.getpid()] = leftovers.make_held_folder()
    return found


@atexit.register
def _close_programs() -> None:
    for (_, _, process), one in list(_open.items()):
        # A forked child inherits the table, and must not end the programs of its parent.
        if process == os.getpid():
            one.close()
