"""The draws that a certificate of a replay names: which frozen ones a number is made of, and how.

What follows a number and what tells whether two numbers share noise read a name here alone: two
readings of one name would let a file count the same noise twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Stated = tuple[str, int, str]
"""Key of a call, entry of its draw, and what was made of it: nothing, a law's inverse, less one."""
INVERSES = ("", "inverted", "-log(u)", "-log(1-u)")
# No leading zeros and no blank ends: each draw has a single spelling, so that two names of one
# draw cannot pass for two.
_LESS = re.compile(r"less (0|[1-9][0-9]{0,8}) of (\S(?:.*\S)?)")


def parse_stated_draw(given: Sequence[Any]) -> Stated:
    """Return a draw as a file names it.

    Raises
    ------
    ValueError, TypeError
        It is not of the form in which certificates are written.

    Examples
    --------
    >>> parse_stated_draw(["laplace(0;)#0", 1, ""])
    ('laplace(0;)#0', 1, '')
    >>> parse_stated_draw(["exponential(1;)#0", 0, " less 1 of exponential(1;)#0"])
    Traceback (most recent call last):
    ValueError: draw
    """
    key, entry, made = given
    words = isinstance(key, str) and isinstance(made, str)
    # A negative entry would be another name of a draw from the other end of its array.
    if not words or type(entry) is not int or entry < 0:
        raise ValueError("draw")
    if made not in INVERSES and _LESS.fullmatch(made) is None:
        raise ValueError("draw")
    return key, entry, made


def parse_subtrahend(made: str) -> tuple[str, int] | None:
    """Return key and entry of the draw that was taken away, None where none was.

    Examples
    --------
    >>> parse_subtrahend("less 1 of exponential(1;)#0"), parse_subtrahend("inverted")
    (('exponential(1;)#0', 1), None)
    """
    found = _LESS.fullmatch(made)
    return None if found is None else (found[2], int(found[1]))


def entries_of(draw: Stated) -> frozenset[tuple[str, int]]:
    """Return every entry of a frozen draw that a number is made of.

    Examples
    --------
    >>> sorted(entries_of(("e#0", 0, "less 1 of e#0")))
    [('e#0', 0), ('e#0', 1)]
    """
    key, entry, made = draw
    other = parse_subtrahend(made)
    return frozenset({(key, entry)} if other is None else {(key, entry), other})
