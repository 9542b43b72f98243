"""The template of a request: which words stand for data, a seed, a nonce, and secrets.

| word         | stands for                                                          |
|--------------|---------------------------------------------------------------------|
| `{data}`     | the dataset as JSON                                                 |
| `{dataset}`  | the dataset as it is, where it is a name or an address              |
| `{seed}`     | an integer that follows from the seed of the audit                  |
| `{fresh}`    | another nonce for every request, which nobody can repeat            |
| `{env:NAME}` | a variable of the environment: a secret, which is in no message     |

Within an address and a form, values are percent-encoded; within JSON they are JSON. All other
braces are left alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Literal
from urllib.parse import quote

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.redaction import convert_stray_argument

WORDS = ("data", "dataset", "seed", "fresh")
_WORD = re.compile(r"\{(data|dataset|seed|fresh|env:[A-Za-z_]\w*)\}")
_MEANT = re.compile(r"\{([A-Za-z_][\w:]*)\}")
_NAME = "{dataset}"
_NONCE = 16  # bytes
Kind = Literal["json", "form", "text"]


@dataclass(frozen=True)
class TemplateValues:
    """The values of a template's words in one request.

    Examples
    --------
    >>> values = TemplateValues([1.5, 2], seed=7, fresh="ab")
    >>> in_address("http://host/count?rows={data}&seed={seed}&n={fresh}", values)
    'http://host/count?rows=%5B1.5%2C2%5D&seed=7&n=ab'
    """

    data: Any
    seed: int
    fresh: str

    def of(self, word: str) -> Any:
        """Return the value of a word."""
        if word.startswith("env:"):
            return get_environment_variable(word.removeprefix("env:"))
        return {"data": self.data, "dataset": self.data, "seed": self.seed, "fresh": self.fresh}[
            word
        ]


def nonce() -> str:
    """Return a nonce that no other request has had, whatever the seed of an audit.

    A nonce that followed from a seed would find the answers of the audit before in a cache.
    """
    return token_hex(_NONCE)


def get_environment_variable(name: str) -> str:
    """Return a variable of the environment, of which no message shows the value.

    Raises
    ------
    InvalidArgument
        It is not set, or holds what no header can have.
    """
    found = os.environ.get(name)
    if not found or not found.isprintable():
        given = VerbatimText(f"env:{name}")
        raise InvalidArgument("service", given, f"a variable {name} of one line in the environment")
    return found


def words_in(text: Any) -> frozenset[str]:
    """Return the words of a template, of text or of a value of JSON.

    Examples
    --------
    >>> sorted(words_in({"rows": "{data}", "salt": ["{fresh}"]}))
    ['data', 'fresh']
    """
    return frozenset(one for part in _generate_template_texts(text) for one in _WORD.findall(part))


def _generate_template_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _generate_template_texts(name)
            yield from _generate_template_texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _generate_template_texts(one)


def require_known(name: str, text: str) -> None:
    """Refuse text that looks like a word of a template, and is none.

    Examples
    --------
    >>> require_known("url", "http://host/{salt}")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: url: got {salt}, expected one of {data}, {dataset}, {seed}, \
{fresh} and {env:NAME}
    """
    for one in _MEANT.finditer(text):
        if not _WORD.fullmatch(one[0]):
            known = ", ".join(f"{{{word}}}" for word in WORDS)
            raise InvalidArgument(name, VerbatimText(one[0]), f"one of {known} and {{env:NAME}}")


def in_address(text: str, values: TemplateValues) -> str:
    """Return an address, in which values are percent-encoded; one that is given whole is not."""
    if text.startswith(_NAME):
        return _require_dataset_name(values.data) + in_address(text.removeprefix(_NAME), values)
    return _WORD.sub(lambda one: quote(_as_text(one[1], values), safe=""), text)


def in_header(text: str, values: TemplateValues) -> str:
    """Return the value of a header; ``env:NAME`` by itself is a variable, too."""
    if text.startswith("env:"):
        return get_environment_variable(text.removeprefix("env:"))
    return _WORD.sub(lambda one: _as_text(one[1], values), text)


def in_body(body: Any, kind: Kind, values: TemplateValues) -> bytes:
    r"""Return a body, as JSON, as a form, or as text with JSON where a word stands.

    Examples
    --------
    >>> values = TemplateValues([1, 2], seed=7, fresh="ab")
    >>> in_body({"rows": "{data}", "tag": "n-{fresh}"}, "json", values)
    b'{"rows": [1, 2], "tag": "n-ab"}'
    >>> in_body('{"rows": {data}, "n": "{fresh}"}', "text", values)
    b'{"rows": [1, 2], "n": "ab"}'
    >>> in_body("rows={data}&n={seed}", "form", values)
    b'rows=%5B1%2C+2%5D&n=7'
    """
    if kind == "json":
        return as_json(_fill_template_words(body, values)).encode()
    encoded = _of_form if kind == "form" else str
    return _WORD.sub(lambda one: encoded(_as_text(one[1], values, " ")), body).encode()


def _of_form(text: str) -> str:
    return quote(text, safe=" ").replace(" ", "+")


def _fill_template_words(value: Any, values: TemplateValues) -> Any:
    """Return a value of JSON with words replaced: a word that stands alone by its value."""
    if isinstance(value, str):
        alone = _WORD.fullmatch(value)
        if alone:
            return values.of(alone[1])
        return _WORD.sub(lambda one: _as_text(one[1], values), value)
    if isinstance(value, Mapping):
        return {
            str(_fill_template_words(name, values)): _fill_template_words(one, values)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_fill_template_words(one, values) for one in value]
    return value


def _as_text(word: str, values: TemplateValues, space: str = "") -> str:
    found = values.of(word)
    if word == "dataset":
        return _require_dataset_name(found)
    return found if isinstance(found, str) and word != "data" else as_json(found, space)


def _require_dataset_name(dataset: Any) -> str:
    """Return the name of a dataset that the service holds itself."""
    if isinstance(dataset, str) and dataset and dataset.isprintable():
        return dataset
    expected = "a name or an address, as the template has {dataset}; {data} stands for records"
    raise InvalidArgument("dataset", convert_stray_argument(dataset), expected)


def as_json(value: Any, space: str = " ") -> str:
    """Return a dataset as JSON.

    Raises
    ------
    InvalidArgument
        JSON has no such values.

    Examples
    --------
    >>> import numpy as np
    >>> as_json(np.array([[1.0, 2.5]])), as_json((1, "a"), "")
    ('[[1.0, 2.5]]', '[1,"a"]')
    """
    try:
        separators = (f",{space}", f":{space}")
        return json.dumps(value, default=_convert_to_lists, allow_nan=False, separators=separators)
    except (TypeError, ValueError, RecursionError) as error:
        expected = f"data that JSON can hold: numbers, text, lists, tables ({type(error).__name__})"
        raise InvalidArgument("dataset", convert_stray_argument(value), expected) from None


def _convert_to_lists(value: Any) -> Any:
    """Return arrays, tables and the like as lists."""
    kind = type(value)
    makers: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("to_dict", lambda: value.to_dict(orient="records")),
        ("tolist", lambda: value.tolist()),
        ("isoformat", lambda: value.isoformat()),
    )
    if isinstance(value, set | frozenset):
        return sorted(value)
    if kind.__module__.startswith("pandas") and kind.__name__ == "Series":
        return value.tolist()
    for name, make in makers:
        if hasattr(value, name):
            return make()
    raise TypeError(kind.__name__)
