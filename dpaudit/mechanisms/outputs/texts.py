"""The inside of a text: parsed JSON, or its letters, words and numbers, as parts by path.

A text that never comes twice is as one token worth nothing. What it is made of may be seen again:
a field beside a random id, the letter at a place, how often a letter is there, a number. Texts that
repeat are outcomes already, and are not opened.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dpaudit.mechanisms.outputs.leaves import LeafToken, Part
from dpaudit.mechanisms.outputs.observations import PartsOf, split_observation

Parts = dict[str, tuple[Part, ...]]

AROUND = ".around numbers"
_OPENED = 4  # texts of an output that are opened
_SEEN = 8  # outputs that they were seen in at least
_LONGEST = 2**16
_PLACES = 32
_WORDS = 16
_NUMBERS = 16
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# A double holds 15 digits of any number.
_DIGITS = 15
_LEAST = 4  # outputs whose texts are alike but for their numbers, to be read as these
_EVERY_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.I | re.A)


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
    # A text that mostly comes back is an outcome already, and is left as it is.
    return seen.total() >= _SEEN and 2 * len(seen) > seen.total()


def find_numbers(text: str) -> Parts:
    """Return the numbers of a text, and the words around them; nothing of one that has none.

    Each number is read as a double, whatever it is a part of.

    Examples
    --------
    >>> find_numbers("total: 3.25 of 17")[".number(0)"], find_numbers("no")
    ((3.25,), {})
    >>> find_numbers("count=17")[".around numbers"]
    (LeafToken(kind='around', text='count=#'),)
    """
    if len(text) > _LONGEST or _parse_text(text) is not None:
        return {}
    numbers = [float(one) for one in _EVERY_NUMBER.findall(text)]
    if not 0 < len(numbers) <= _NUMBERS or not all(map(math.isfinite, numbers)):
        return {}
    around = LeafToken("around", _EVERY_NUMBER.sub("#", text))
    read: Parts = {f".number({n})": (one,) for n, one in enumerate(numbers)}
    return {**read, AROUND: (around,)}


def find_numbers_by_path(found: Mapping[str, tuple[Part, ...]]) -> Mapping[str, Parts]:
    """Return the numbers of `find_numbers` in each text that has some, by the text's path."""
    if isinstance(found, PartsOf):  # whoever read the parts had the texts
        return found.numbers
    texts = {
        path: part.text
        for path, values in found.items()
        for part in values
        if type(part) is LeafToken and part.kind == "str"
    }
    read = {path: find_numbers(text) for path, text in texts.items()}
    return {path: one for path, one in read.items() if one}


def choose_texts_of_numbers(
    read: Sequence[Mapping[str, tuple[Part, ...]]], numbers: Sequence[Mapping[str, Parts]]
) -> tuple[str, ...]:
    """Return the paths of texts that are all alike but for their numbers.

    Parameters
    ----------
    read
        The parts of observations.
    numbers
        Of each of these what `find_numbers_by_path` returns.

    Examples
    --------
    >>> texts = [{"output": (8.0, LeafToken("str", f"count={n % 3}"))} for n in range(8)]
    >>> choose_texts_of_numbers(texts, list(map(find_numbers_by_path, texts)))
    ('output',)
    """
    seen = dict[str, list[Parts]]()
    for one in numbers:
        for path, parts in one.items():
            seen.setdefault(path, []).append(parts)
    present = Counter(path for one in read for path in one)
    found = [path for path, every in seen.items() if _are_alike(every, present[path])]
    return tuple(found[:_OPENED])


def _are_alike(texts: Sequence[Parts], present: int) -> bool:
    """Return whether numbers vary, and the words around them do not, in all texts there are."""
    around = {one[AROUND] for one in texts}
    varied = any(one != texts[0] for one in texts)
    return varied and len(around) == 1 and len(texts) == present >= _LEAST


def add_text_parts(found: Parts, opened: Sequence[str]) -> Parts:
    """Return parts of an observation and, of the texts at these paths, the parts in them.

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
    # Parts that are there already keep their paths.
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
    # A longer run of digits would be rounded, and two such texts could become one.
    numbers = [one for one in _NUMBER.findall(text) if len(one) <= _DIGITS]
    yield from ((f".number({n})", (float(one),)) for n, one in enumerate(numbers[:_NUMBERS]))


def _parse_text(text: str) -> object:
    """Return the JSON of a text, if that is a list or an object."""
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
