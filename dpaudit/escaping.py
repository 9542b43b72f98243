"""Text that somebody else wrote, made fit to be shown: the one escape of all output.

Whatever a certificate, a report, a table, a stream or a package says may hold characters that move
a terminal's cursor, turn the direction of what follows, or cannot be seen. Every error, report and
line on a terminal goes through `make_printable`, which puts U+FFFD in the place of each.
"""

from __future__ import annotations

import json
import unicodedata

# Control and format characters (bidirectional marks are of these), surrogates, separators of lines.
_NEVER = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def make_printable(text: str) -> str:
    r"""Return ``text`` with U+FFFD for control codes, invisible characters and non-characters.

    Line breaks and tabs stay.

    Examples
    --------
    >>> make_printable("a\x1b[31mb")
    'a�[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _format_unprintable(character) if _is_unprintable(character) else character
        for character in text
    )


def _format_unprintable(character: str) -> str:
    """Return the replacement of a character: of a surrogate in a file's name, its number."""
    surrogate = unicodedata.category(character) == "Cs"
    return f"\\u{ord(character):x}" if surrogate else "\ufffd"


def one_line(text: str) -> str:
    r"""Return ``text`` on one line, as `make_printable` shows it.

    Examples
    --------
    >>> one_line("two\n lines")
    'two lines'
    """
    return make_printable(" ".join(text.split()))


def json_escaped(text: str) -> str:
    r"""Return JSON that says the same, with escapes for characters that `make_printable` replaces.

    Examples
    --------
    >>> print(json_escaped('{"claimed": "\u202eε"}'))
    {"claimed": "\u202eε"}
    """
    if text.isascii():
        return text
    return "".join(json.dumps(each)[1:-1] if _is_unprintable(each) else each for each in text)


def _is_unprintable(character: str) -> bool:
    if character in "\n\t":
        return False
    # The last two code points of every plane are no characters, and are in no category that is
    # listed.
    return unicodedata.category(character) in _NEVER or ord(character) & 0xFFFE == 0xFFFE
