"""Texts that code is likely to treat apart: kinds of characters, lengths, patterns, words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from dpaudit.domains.columns import Texts

_EACH = 4  # examples of a pattern
# What is looked at in a program's code.
_PATTERNS = 4  # regular expressions
_WORDS = 12  # words
_SIGNS = re.compile(r"[\\\[\]^$*+?{}()|]")


def special_texts(column: Texts, constants: Sequence[Any]) -> Iterator[str]:
    """Yield texts of a column that are worth a try, the empty one first.

    Parameters
    ----------
    column
        What may be held.
    constants
        Of code: words and patterns that it looks for, and numbers, which may be lengths.

    Examples
    --------
    >>> list(special_texts(Texts(longest=3, alphabet="aB"), ["Ba"]))[:6]
    ['', 'a', 'B', 'aaa', 'BBB', 'Ba']
    """
    letter, last = column.alphabet[0], column.alphabet[-1]
    numbers = (one for one in constants if type(one) is int)
    named = [one for one in constants if isinstance(one, str)]
    yield ""
    for length in (1, column.longest):
        yield from (sign * min(length, column.longest) for sign in (letter, last))
    for one in (*_of_words(named, letter), *_of_patterns(named, column), *_of_kinds(column)):
        if len(one) <= column.longest and set(one) <= set(column.alphabet):
            yield one
    for length in (1, column.longest, *numbers):
        for near in (length, length - 1, length + 1):
            if 0 < near <= column.longest:
                yield from (letter * near, last * near)


def _of_words(known: Sequence[str], letter: str) -> Iterator[str]:
    """Yield words of code as they are, then in other cases and inside of longer ones."""
    few = known[:_WORDS]
    yield from known
    for change in (str.upper, str.lower, str.title):
        yield from map(change, few)
    for one in filter(None, few):
        yield from (one + letter, letter + one, f"{letter} {one} {letter}")


def _of_kinds(column: Texts) -> Iterator[str]:
    """Yield texts of one kind of character alone, before and after another, and two of them."""
    kinds = _find_character_kinds(column.alphabet)
    yield from kinds
    yield from (one * 2 for one in kinds)
    for one in kinds[1:]:
        yield from (kinds[0] + one, one + kinds[0])
    for one, other in pairwise(kinds[1:]):
        yield from (one + other, other + one)


def _find_character_kinds(alphabet: str) -> list[str]:
    """Return a character of each kind: cases, digits, spaces, signs, beyond ASCII, composed."""
    found = dict[Any, str]()
    for one in alphabet:
        plain = unicodedata.normalize("NFKD", one) == one, len(one.casefold()), one.isascii()
        found.setdefault((*plain, unicodedata.category(one)), one)
    return list(found.values())


def find_patterns(words: Sequence[Any]) -> list[re.Pattern[str]]:
    """Return those constants of code that read as a regular expression, a few.

    Examples
    --------
    >>> find_patterns(["plain", "^a+$", "(", 3])
    [re.compile('^a+$')]
    """
    found = list[re.Pattern[str]]()
    for one in words:
        if isinstance(one, str) and len(found) < _PATTERNS and _SIGNS.search(one):
            try:
                found.append(re.compile(one))
            # Most constants of code that look like patterns are none.
            except (re.error, OverflowError, RecursionError):
                continue
    return found


def _of_patterns(words: Sequence[str], column: Texts) -> Iterator[str]:
    """Yield a few texts that regular expressions of code match."""
    for pattern in find_patterns(words):
        yield from _make_pattern_examples(pattern, column)


def _make_pattern_examples(pattern: re.Pattern[str], column: Texts) -> list[str]:
    from hypothesis import strategies
    from hypothesis.errors import HypothesisException

    from dpaudit.domains.generation import examples_of

    try:
        made = strategies.from_regex(pattern, alphabet=column.alphabet)
        short = made.filter(lambda text: len(text) <= column.longest)
        return list(dict.fromkeys(examples_of(short, _EACH)))
    except (HypothesisException, ValueError):  # of other characters, or longer
        return []
