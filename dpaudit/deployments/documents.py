"""Records as files: YAML, JSON or TOML, every scalar with the place where it stands.

Nothing of a file is built or run: its scalars stay text, so that ``1e-5`` is what was written and
no date becomes a number. A file is refused that is too large, too deep, repeats a key, or whose
aliases would unfold into more than a person writes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    ScalarEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dpaudit.errors import DataError, shorten_repr
from dpaudit.escaping import one_line

LARGEST = 200_000  # bytes, over ten times the longest record of the registry
MOST = 10_000  # scalars
# Levels: ten times those of the registry's layout, and far below Python's limit of recursion.
DEEPEST = 40
_EXPECTED = "a record in YAML, JSON or TOML"


@dataclass(frozen=True)
class DocumentScalar:
    """One scalar of a record.

    Attributes
    ----------
    keys
        The keys and the places in lists that lead to it.
    text
        What is written, with its line breaks.
    line
        The line on which ``text`` begins, from 1; 0 where it is not known.
    quoted
        Whether the file says that it is text: ``"1"`` and not ``1``.
    """

    keys: tuple[str, ...]
    text: str
    line: int = 0
    quoted: bool = False

    @property
    def path(self) -> str:
        """The keys, with dots between them.

        Examples
        --------
        >>> DocumentScalar(("deployment", "basic", "name"), "a").path
        'deployment.basic.name'
        """
        return ".".join(one_line(key) for key in self.keys)


def read_entries(path: Path) -> tuple[DocumentScalar, ...]:
    r"""Return every scalar of a file, in the order in which it stands there.

    Raises
    ------
    DataError
        It cannot be read, or is no record: the line is named where it is known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "record.yaml"
    ...     _ = file.write_text("privacy:\n  epsilon: 1.0\n  delta: 1e-5\n")
    ...     [(one.path, one.text, one.line) for one in read_entries(file)]
    [('privacy.epsilon', '1.0', 2), ('privacy.delta', '1e-5', 3)]
    """
    text = _text_of(path)
    suffix = path.suffix.lower()
    if suffix == ".toml":
        found = _of_toml(path, text)
    else:
        if suffix == ".json":
            _require_json(path, text)
            # In JSON a raw tab stands between values only, so that no text changes.
            text = text.replace("\t", " ")  # YAML knows no tab where JSON does
        found = _of_yaml(path, text)
    entries: list[DocumentScalar] = []
    for one in found:
        entries.append(one)
        if len(entries) > MOST:
            raise DataError(f"{path}: holds more than {MOST} values, expected {_EXPECTED}")
    if not entries:
        raise DataError(f"{path}: is empty, expected {_EXPECTED}")
    return tuple(entries)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # The one byte more shows that a file is too large, and the rest of it is never in
            # memory.
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or 'damaged'})") from None
    if len(content) > LARGEST:
        raise DataError(f"{path}: has more than {LARGEST} bytes, expected {_EXPECTED}")
    try:
        # Editors on Windows write a byte order mark and line ends of two characters.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start + 1} is not UTF-8 text") from None


# YAML, and JSON as a part of it


def _of_yaml(path: Path, text: str) -> Iterator[DocumentScalar]:
    try:
        _require_shallow(path, text)
        root = YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise DataError(f"{path}: {_format_yaml_error(error)}") from None
    # On damaged text the parser raises more than its own errors.
    except (RecursionError, ValueError, AttributeError, IndexError, TypeError, AssertionError):
        raise DataError(f"{path}: is nested too deep, or damaged, expected {_EXPECTED}") from None
    if root is None:
        return
    if not isinstance(root, MappingNode):
        raise DataError(f"{path}: holds no keys, expected {_EXPECTED}")
    yield from _DocumentWalk(path, text).entries(root, ())


def _require_shallow(path: Path, text: str) -> None:
    """Refuse a document that is too deep or too large before anything is built of it."""
    depth, unfolded = 0, _UnfoldedSize(path)
    for place, event in enumerate(YAML(typ="safe", pure=True).parse(text)):
        unfolded.add(event)
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            raise DataError(f"{path}: is more than {DEEPEST} levels deep, expected {_EXPECTED}")
        # A value takes about three events: its own, that of its key, and those of what holds it.
        if place > 3 * MOST:
            raise DataError(f"{path}: holds more than {MOST} values, expected {_EXPECTED}")


class _UnfoldedSize:
    """The number of nodes that a document has once its aliases are unfolded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._named: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []
        self._size = 0

    def add(self, event: Event) -> None:
        """Count the nodes that an event adds; aliases of aliases lead to one billions of times."""
        if isinstance(event, CollectionStartEvent):
            self._open.append((event.anchor, self._size))
            # Until it ends it holds itself, and would unfold without end.
            self._name(event.anchor, 3 * MOST)
        elif isinstance(event, CollectionEndEvent):
            anchor, before = self._open.pop()
            self._size += 1
            self._name(anchor, self._size - before)
        elif isinstance(event, ScalarEvent):
            self._size += 1
            self._name(event.anchor, 1)
        elif isinstance(event, AliasEvent):
            self._size += self._named.get(str(event.anchor), 0)
            if self._size >= 3 * MOST:
                raise DataError(f"{self._path}: its aliases unfold too far, expected {_EXPECTED}")

    def _name(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._named[anchor] = size


def _format_yaml_error(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or "is damaged"
    where = "" if mark is None else f"line {mark.line + 1}: "
    return f"{where}is not valid YAML: {shorten_repr(str(problem))}"


class _DocumentWalk:
    """A walk over the nodes of a file, which an alias may lead to more than once."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text

    def entries(self, node: Node, keys: tuple[str, ...]) -> Iterator[DocumentScalar]:
        if len(keys) > DEEPEST:
            raise DataError(f"{self._path}: is more than {DEEPEST} levels deep")
        if isinstance(node, MappingNode):
            yield from self._of_mapping(node, keys)
        elif isinstance(node, SequenceNode):
            for place, each in enumerate(node.value):
                yield from self.entries(each, (*keys, str(place)))
        elif isinstance(node, ScalarNode):
            yield self._scalar(node, keys)

    def _of_mapping(self, node: MappingNode, keys: tuple[str, ...]) -> Iterator[DocumentScalar]:
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, ScalarNode) else None
            line = key.start_mark.line + 1
            if name is None:
                raise DataError(f"{self._path}: line {line}: a key is no text")
            # Parsers keep the last of two equal keys, and a reader may see the first.
            if name in seen:
                raise DataError(
                    f"{self._path}: line {line}: the key {shorten_repr(name)} is repeated"
                )
            seen.add(name)
            yield from self.entries(value, (*keys, name))

    def _scalar(self, node: ScalarNode, keys: tuple[str, ...]) -> DocumentScalar:
        """Return the text as the file has it, so that lines count, unless it holds escapes."""
        first, last = node.start_mark, node.end_mark
        source = self._text[first.index : last.index]
        style, line = node.style, first.line + 1
        if source.startswith(("!", "&")):  # a tag or a name before the value
            return DocumentScalar(keys, str(node.value), line, quoted=style is not None)
        if style in ("|", ">"):
            return DocumentScalar(keys, source.partition("\n")[2], line + 1, quoted=True)
        if style == '"':
            return DocumentScalar(keys, str(node.value), line, quoted=True)
        if style == "'":
            return DocumentScalar(keys, source[1:-1].replace("''", "'"), line, quoted=True)
        return DocumentScalar(keys, source if source.strip() else str(node.value), line)


def _require_json(path: Path, text: str) -> None:
    try:
        json.loads(text, object_pairs_hook=_without_repeats)
    except _RepeatedKey as error:
        raise DataError(f"{path}: the key {shorten_repr(error.args[0])} is repeated") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {error.lineno}: is not valid JSON") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is not valid JSON: too long a number, or too deep") from None


class _RepeatedKey(Exception):
    """A key that stands twice in one object."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedKey(key)
        found[key] = value
    return found


# TOML


class _WrittenFloat(str):
    """A float in its own digits, which is not quoted."""

    __slots__ = ()


def _of_toml(path: Path, text: str) -> Iterator[DocumentScalar]:
    try:
        # As text, so that a number keeps its own digits and with them its slack.
        document = tomllib.loads(text, parse_float=_WrittenFloat)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: is not valid TOML: {shorten_repr(str(error))}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is not valid TOML: too long a number, or too deep") from None
    yield from _of_tables(path, document, (), _lines_of_keys(text))


def _lines_of_keys(text: str) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    # tomllib tells no lines. A key that occurs once in the text has the line where it occurs.
    for number, line in enumerate(text.split("\n"), start=1):
        for key in re.findall(r"""(?:^|[{,\s])["']?([\w.-]+)["']?\s*=(?!=)""", line):
            found.setdefault(key.rpartition(".")[2], []).append(number)
    return found


def _of_tables(
    path: Path, value: Any, keys: tuple[str, ...], lines: Mapping[str, list[int]]
) -> Iterator[DocumentScalar]:
    if len(keys) > DEEPEST:
        raise DataError(f"{path}: is more than {DEEPEST} levels deep")
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _of_tables(path, each, (*keys, key), lines)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _of_tables(path, each, (*keys, str(place)), lines)
    else:
        named = next((key for key in reversed(keys) if not key.isdecimal()), "")
        at = lines.get(named, [])
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield DocumentScalar(
            keys,
            text,
            at[0] if len(at) == 1 else 0,
            quoted=isinstance(value, str) and not isinstance(value, _WrittenFloat),
        )
