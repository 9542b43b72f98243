"""Lines of an answer as they come: numbers are read at once, while the program draws on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

_EXACT = 2.0**53
_NO_NUMBER = tuple(b'ua"[{'[i : i + 1] for i in range(5))  # null and true, false, and the rest
_NEGATIVE_ZERO = (
    b"-0\n",
    b"-0\r",
    b"-0 ",
    b"-0\t",
)  # orjson reads an integer, which has no sign then

Piece: TypeAlias = NDArray[np.float64] | list[bytes]


class ProgramAnswer:
    """The part of an answer that came so far.

    Parameters
    ----------
    count
        How many outputs were asked for.

    Attributes
    ----------
    came
        How many lines of outputs came.
    after
        The lines that came after the last output.
    rest
        The beginning of a line.
    """

    def __init__(self, count: int) -> None:
        self.count, self.came = count, 0
        self.after = list[bytes]()
        self.rest = b""
        self._pieces = list[Piece]()

    def add(self, text: bytes) -> None:
        """Take the next piece of text."""
        whole, end, self.rest = (self.rest + text).rpartition(b"\n")
        if not end:
            return
        lines = whole + end
        lacking, came = self.count - self.came, lines.count(b"\n")
        if came > lacking:
            lines, after = _cut_last(lines, came - lacking)
            self.after += after.split(b"\n")[:-1]
        if lines:
            self._pieces.append(read_piece(lines))
            self.came += len(self._pieces[-1])

    @property
    def is_empty(self) -> bool:
        """Whether nothing came."""
        return not (self.came or self.after or self.rest)

    @property
    def last(self) -> bytes | None:
        """The line that may end the answer; None where no line came, or a number last."""
        if self.after:
            return self.after[0]
        piece = self._pieces[-1] if self._pieces else None
        return piece[-1] if isinstance(piece, list) else None

    @property
    def left(self) -> bytes:
        """The bytes after the line that ends the answer."""
        return b"\n".join([*self.after[1:], self.rest])

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the outputs, shape (count,), where all are numbers; None where one is none."""
        arrays = [one for one in self._pieces if not isinstance(one, list)]
        return np.concatenate(arrays) if len(arrays) == len(self._pieces) else None

    def items(self) -> list[float | bytes]:
        """Return the outputs: a float, or a line that is still to be read."""
        given = (one if isinstance(one, list) else one.tolist() for one in self._pieces)
        return [each for piece in given for each in piece]


def _cut_last(lines: bytes, count: int) -> tuple[bytes, bytes]:
    """Return lines without the last so many, and these."""
    place = len(lines) - 1
    for _ in range(count):
        place = lines.rfind(b"\n", 0, place)
    return lines[: place + 1], lines[place + 1 :]


def read_piece(lines: bytes) -> Piece:
    r"""Return the doubles of lines that hold one number of JSON each, and else the lines.

    An integer that is no double, or may be none, leaves the lines as they are.

    Examples
    --------
    >>> read_piece(b"1.5\n-2\n3e1\n"), read_piece(b"1\nnull\n")
    (array([ 1.5, -2. , 30. ]), [b'1', b'null'])
    """
    found = _read_doubles(lines)
    return lines.split(b"\n")[:-1] if found is None else found


def _read_doubles(lines: bytes) -> NDArray[np.float64] | None:
    # One of these bytes is in every value of JSON that is no number, and none of them in a number:
    # without them, the whole piece can be read as one array.
    if any(one in lines for one in _NO_NUMBER):
        return None
    try:
        numbers = orjson.loads(b"[" + lines[:-1].replace(b"\n", b",") + b"]")
    except orjson.JSONDecodeError:
        return None
    found = np.array(numbers, np.float64)
    if not found.all() and any(one in lines for one in _NEGATIVE_ZERO):
        return None
    # A line of "1,2" would pass as two outputs, and shift all those after it.
    one_each = len(found) == lines.count(b"\n")
    return found if one_each and np.abs(found).max() < _EXACT else None
