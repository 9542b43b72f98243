"""The protocol of a program that goes on: lines of JSON, as docs/programs.md specifies them.

A program is greeted, is given each dataset once, and draws as many outputs as it is asked for. Each
answer ends with the number of its request, so that none can be mistaken for another's.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaudit.errors import MechanismError, VerbatimText, shorten_repr
from dpaudit.programs.answers import ProgramAnswer
from dpaudit.programs.printed_text import LONGEST, NotAnOutput, json_of
from dpaudit.programs.running import (
    ProgramFailed,
    ProgramProcess,
    TooMuch,
    make_patience_steps,
    print_waiting_message,
)
from dpaudit.redaction import Record

VERSION = 1
_RESERVED = ("dpaudit", "done", "error")
_MANY = 64  # outputs that come at once from a program that is faster than its reader wakes up
_GATHERING = 0.001  # seconds in which such a program writes some thousands


@dataclass(frozen=True)
class Hello:
    """The answer of a program to a greeting.

    Parameters
    ----------
    version
        Of the protocol that it speaks.
    seeded
        Whether its outputs follow from the seeds of requests.
    name
        What it calls itself, with its version.
    """

    version: int = VERSION
    seeded: bool = False
    name: str = ""

    @classmethod
    def read(cls, line: bytes) -> Hello | None:
        """Return the greeting of a line; None if it is none.

        Examples
        --------
        >>> Hello.read(b'{"dpaudit": 1, "seeded": true}'), Hello.read(b"3.5")
        (Hello(version=1, seeded=True, name=''), None)
        """
        found = _parse_json_object(line, "dpaudit")
        if found is None or type(found["dpaudit"]) is not int or "asks" in found:  # an echo
            return None
        name = found.get("name", "")
        known = name if isinstance(name, str) else ""
        return cls(found["dpaudit"], found.get("seeded") is True, known)


def _parse_json_object(line: bytes, key: str) -> dict[str, Any] | None:
    """Return the object of a line that has a key; None if there is none."""
    # Cheap tests come first: nearly every line is an output, which is not worth a parse.
    if len(line) > LONGEST or key.encode() not in line or not line.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and key in found else None


def make_greeting() -> bytes:
    """Return the line by which a program is greeted."""
    return _to_json_line({"dpaudit": VERSION, "asks": "hello"})


def _to_json_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, allow_nan=False).encode() + b"\n"


class Conversation:
    """A program that was started and greeted.

    Parameters
    ----------
    name
        For messages.
    words, folder
        What is run, and where.

    Attributes
    ----------
    hello
        What it answered.
    """

    def __init__(self, name: str, words: list[str], folder: str | None) -> None:
        self.name = name
        self._process = ProgramProcess(words, folder, None)
        self._known = set[str]()
        self._requests = 0
        self._greetings = 0  # that were not answered yet, beside an answer
        try:
            self.hello = self._exchange_greeting()
        except BaseException:
            self._process.kill()
            raise

    def _exchange_greeting(self) -> Hello:
        self._process.write(make_greeting())
        waits = make_patience_steps()
        while b"\n" not in self._process.waiting:
            if not self._came(next(waits)):
                print_waiting_message(f"waiting for {self.name} to answer the greeting")
            self._require_short(self._process.waiting)
        line, _, rest = self._process.take().partition(b"\n")
        found = Hello.read(line)
        if found is None or rest:
            raise self._broken('one line such as {"dpaudit": 1}, as the answer to a greeting', line)
        if found.version != VERSION:
            raise self._broken(f"version {VERSION} of the protocol", line)
        return found

    def _require_short(self, line: bytes | bytearray) -> None:
        if len(line) > LONGEST:
            raise TooMuch(f"a line of more than {LONGEST} bytes")

    def _came(self, seconds: float | None) -> bool:
        """Return whether more came; raise how the program ended, if it did."""
        try:
            return self._process.wait_for_more(seconds)
        except EOFError:
            failed = self._process.ended()
            raise failed or ProgramFailed("ended with status 0 before it was asked to") from None

    def draw(self, key: str, records: Callable[[], Any], count: int, seed: int | None) -> Any:
        """Return so many outputs on records: an array of numbers, or a list.

        Parameters
        ----------
        key, records
            Of the dataset, which is asked for and sent once.
        count, seed
            How many outputs, and from which seed where the program takes one.

        Raises
        ------
        ProgramFailed
            It ended, or says that it failed.
        MechanismError
            Its answer is none.
        """
        # Bytes that are left over from an earlier answer would be taken as the first outputs of
        # this one, on the other dataset.
        self._require_silence()
        self._requests += 1
        if key not in self._known:
            self._process.write(_to_json_line({"dataset": key, "records": records()}))
            self._known.add(key)
        seeded = {} if seed is None else {"seed": seed}
        asked = {"draw": count, "dataset": key, "request": self._requests, **seeded}
        self._process.write(_to_json_line(asked))
        return _parse_answer_outputs(self, self._answer(count))

    def _require_silence(self) -> None:
        """Refuse lines that nobody asked for."""
        while self._came(0.0):
            self._drop_greetings(self._greetings)
            if self._process.waiting:
                break
        if self._process.waiting and not self._greetings:
            line = bytes(self._process.waiting).partition(b"\n")[0]
            raise self._broken("no line without a request", line)

    def _drop_greetings(self, most: int) -> None:
        """Forget answers to greetings that were sent while an answer was waited for."""
        waiting, left = self._process.waiting, self._greetings - most
        while self._greetings > left and (end := waiting.find(b"\n")) >= 0:
            if Hello.read(bytes(waiting[:end])) is None:
                return
            del waiting[: end + 1]
            self._greetings -= 1

    def _answer(self, count: int) -> ProgramAnswer:
        """Return an answer, after which its request's number has come."""
        answer, waits = ProgramAnswer(count), make_patience_steps()
        old = self._greetings  # those of this answer stand for no outputs, and end it
        while True:
            if not self._came(next(waits)):
                self._greet_again(answer.came, count)
                continue
            waits = make_patience_steps()
            if old and answer.is_empty:
                pending = self._greetings
                self._drop_greetings(old)
                old -= pending - self._greetings
            before = answer.came
            answer.add(self._process.take())
            self._require_short(answer.rest)
            if self._is_whole(answer):
                self._process.waiting[:0] = answer.left
                self._drop_greetings(self._greetings)
                return answer
            # A write to a pipe wakes the reader on the writer's own core: a reader that waited in
            # `select` would take turns with the program for each piece.
            if is_stream(answer.came - before, count - answer.came):
                time.sleep(_GATHERING)

    def _greet_again(self, came: int, count: int) -> None:
        """Greet a program that says nothing: it answers if it waits for us, and not if it works."""
        print_waiting_message(f"waiting for {self.name}: {came} of {count} outputs came")
        self._process.write(make_greeting())
        self._greetings += 1

    def _is_whole(self, answer: ProgramAnswer) -> bool:
        """Return whether an answer has ended, and refuse one that is another than asked."""
        if (line := answer.last) is None:
            return False
        self._require_no_error(line)
        done = _parse_json_object(line, "done")
        before = answer.came if answer.after else answer.came - 1
        expected = f'{answer.count} outputs and then {{"done": {self._requests}}}'
        if done is None:
            greeted = self._greetings and Hello.read(line) is not None
            if answer.after or greeted:
                came = "more" if answer.after else before
                raise self._broken(f"{expected} ({came} outputs came)", line)
            return False
        if not answer.after or done["done"] != self._requests:
            raise self._broken(f"{expected} ({before} outputs came)", line)
        return True

    def _require_no_error(self, line: bytes) -> None:
        found = _parse_json_object(line, "error")
        if found is not None:
            raise ProgramFailed("answered an error", str(found["error"])[:2000])

    def _broken(self, expected: str, line: bytes) -> MechanismError:
        shown = Record(line[:200].decode("utf-8", "replace"))
        self.close()
        return make_protocol_error(self.name, f"{shown!r}", expected)

    def close(self) -> None:
        """End the program."""
        self._process.close()


def is_stream(came: int, left: int) -> bool:
    """Return whether outputs come so fast that more of them should gather before they are read.

    Not at the end of an answer, where nothing would come while the reader sleeps.

    Examples
    --------
    >>> is_stream(500, 8000), is_stream(500, 100), is_stream(1, 8000)
    (True, False, False)
    """
    return _MANY <= came <= left


def make_protocol_error(name: str, came: str, expected: str) -> MechanismError:
    """Return the error of a program that does not keep to the protocol."""
    return MechanismError(
        f"program {shorten_repr(VerbatimText(name))}: answered {came}, expected {expected}"
    )


def _parse_answer_outputs(conversation: Conversation, answer: ProgramAnswer) -> Any:
    """Return the outputs of an answer: an array where all are numbers."""
    if (found := answer.numbers()) is not None:
        return found
    return [
        _parse_answer_output(conversation, one) if isinstance(one, bytes) else one
        for one in answer.items()
    ]


def _parse_answer_output(conversation: Conversation, line: bytes) -> Any:
    try:
        found = json_of(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise conversation._broken("text in UTF-8", line) from None
    except NotAnOutput:
        raise conversation._broken("a value of JSON on each line", line) from None
    if not _is_finite(found):
        raise conversation._broken("a number that is finite", line)
    if isinstance(found, dict) and not found.keys().isdisjoint(_RESERVED):
        raise conversation._broken(f"an output without keys {', '.join(_RESERVED)}", line)
    return found


def _is_finite(found: Any) -> bool:
    """Return whether no number of a value of JSON is beyond all doubles."""
    left = [found]
    while left:
        one = left.pop()
        if isinstance(one, float) and not math.isfinite(one):
            return False
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return True
