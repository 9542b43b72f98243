"""What is inside a text: parsed JSON, or its letters, words and numbers, as parts by path.

A text that never comes twice is as one token worth nothing. What it is made of may be seen again:
a field beside a random id, the letter at a place, how often a letter is there, a number. Texts that
repeat are outcomes already, and are not opened.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dpaudit.mechanisms.outputs.leaves import LeafToken, Part
from dpaudit.mechanisms.outputs.observations import split_observation

Parts = dict[str, tuple[Part, ...]]

_OPENED = 4  # texts of an output that are opened
_SEEN = 8  # outputs that they were seen in at least
_LONGEST = 2**16
_PLACES = 32
_WORDS = 16
_NUMBERS = 16
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DIGITS = 15


def choose_texts_to_open(read: Iterable[Mapping[str, tuple[Part, ...]]]) -> tuple[str, ...]:
    """Return the paths of texts that hardly ever come twice, as a random one does not.

    Examples
    --------
    >>> texts = [{"id": (2.0, LeafToken("str", str(n))), "sort": (1.0, LeafToken("str", "b"))}
    ...          for n in range(20)]
    >>> choose_texts_to_open(texts)
    ('id',)
    """
    texts = dict[str, Counter[str]]()
    for one in read:
        for path, values in one.items():
            for part in values:
                if type(part) is LeafToken and part.kind == "str":
                    texts.setdefault(path, Counter())[part.text] += 1
    found = [path for path, seen in texts.items() if _is_text_varied(seen)]
    return tuple(found[:_OPENED])


def _is_text_varied(seen: Counter[str]) -> bool:
    return seen.total() >= _SEEN and 2 * len(seen) > seen.total()


def add_text_parts(found: Parts, opened: Sequence[str]) -> Parts:
    """Return parts of an observation and, of the texts at these paths, what is in them.

    Examples
    --------
    >>> sorted(add_text_parts({"output": (7.0, LeafToken("str", '{"a": 1.5}'))}, ["output"]))
    ['output', 'output.json.a', 'output.json.keys']
    """
    if not opened:
        return found
    more: Parts = {}
    for path in opened:
        for part in found.get(path, ()):
            if type(part) is LeafToken and part.kind == "str":
                more |= {f"{path}{name}": one for name, one in find_text_parts(part.text)}
    return {**more, **found}


def find_text_parts(text: str) -> Iterator[tuple[str, tuple[Part, ...]]]:
    """Yield the parts of a text, each with the end of its path.

    Examples
    --------
    >>> found = dict(find_text_parts("Ann is 31"))
    >>> found[".word(0)"], found[".number(0)"], found[".count('n')"], found[".place(1)"]
    ((LeafToken(kind='str', text='Ann'),), (31.0,), (2.0,), (LeafToken(kind='str', text='n'),))
    """
    if len(text) > _LONGEST:
        return
    parsed = _parse_text(text)
    if parsed is not None:
        yield from ((f".json.{path}", part) for path, part in split_observation(parsed).items())
        return
    lower = text.lower()
    yield from ((f".count({letter!r})", (float(lower.count(letter)),)) for letter in _LETTERS)
    for name, most, found in (("place", _PLACES, text), ("word", _WORDS, _split_words(text))):
        yield from (
            (f".{name}({n})", (LeafToken("str", one),)) for n, one in enumerate(found[:most])
        )
    numbers = [one for one in _NUMBER.findall(text) if len(one) <= _DIGITS]
    yield from ((f".number({n})", (float(one),)) for n, one in enumerate(numbers[:_NUMBERS]))


def _parse_text(text: str) -> object:
    """Return what a text says in JSON, if that is a list or an object."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _split_words(text: str) -> list[str]:
    found = text.split()
    return found if len(found) > 1 else []
