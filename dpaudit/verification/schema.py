"""The JSON Schema of certificates: what each field is to whoever verifies one.

Every field has a role, under the name ``x-role``:

| role | what `dpaudit verify` makes of it |
|---|---|
| ``fact`` | computes or looks it up again, and fails where the file says something else |
| ``statement`` | is what the verdict is about: it is printed with it, or changes what is computed |
| ``pointer`` | says where to look; what is there is judged, whatever was pointed at |
| ``choice`` | is the reader's: the file's is not used, has to agree, or is a reservation |
| ``label`` | is for people; nothing rests on it |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.formats import FIELD, SCHEMAS

ROLES = ("fact", "statement", "pointer", "choice", "label")
COMPUTED = ("sensitivity", "property", "pure-dp", "support", "approximate-dp")
_NUMBER, _INTEGER, _TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}
_MAYBE_TEXT, _MAYBE_INTEGER = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
_ANYTHING: dict[str, Any] = {}
_BITS = {"type": "string", "pattern": "^[0-9a-f]*$"}


def _field(role: str, kind: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {**kind, "x-role": role, "description": words}


def _object(
    fields: Mapping[str, Any], *, others: Mapping[str, Any] | bool = False, required: bool = True
) -> dict[str, Any]:
    """Return the schema of an object; what it may hold beside these is said, or nothing is."""
    found = {"type": "object", "properties": dict(fields), "additionalProperties": others}
    return found | ({"required": list(fields)} if required else {})


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


_ASSUMPTIONS = _list(
    _object(
        {
            "name": _field("fact", _TEXT, "An assumption of the claim, each of which is there."),
            "value": _field("fact", _NUMBER, "Its number on this instance."),
            "limit": _field("fact", _NUMBER, "What that may be at most, as the verifier has it."),
        }
    )
)
_SEARCH = _object({}, others=_field("label", _INTEGER, "How it was found."))
_SETTINGS = _object(
    {
        "epsilon": _field("statement", _NUMBER, "Of the guarantee that is claimed."),
        "delta": _field("statement", _NUMBER, "Of the guarantee that is claimed."),
        "data": _field("statement", _TEXT, "An installed dataset, or the worst case."),
        "data_options": _field("statement", {"type": "object"}, "Of that dataset's loader."),
        "data_path": _field("choice", _MAYBE_TEXT, "Where its files are: --data-path."),
        "parameters": _field(
            "statement", {"type": "object"}, "Public ones; where one decides what counts, a "
            "reservation names it.",
        ),
        "confidence": _field("choice", _NUMBER, "--confidence, or 0.999999."),
        "seed": _field("choice", _INTEGER, "Of fresh draws: --seed, or the system's entropy."),
        "trials": _field("pointer", _MAYBE_INTEGER, "How many are drawn."),
        "unit": _field("pointer", _MAYBE_INTEGER, "How many in one call."),
        "estimator": _field("pointer", _TEXT, "What certifies."),
        "attack": _field("pointer", _MAYBE_TEXT, "The only distinguisher, if there is one."),
        "until_refuted": _field("pointer", {"type": "boolean"}, "Whether bets are placed."),
        "candidate_pairs": _field("pointer", _MAYBE_INTEGER, "Among which the worst is sought."),
        "looks": _field("pointer", {"type": "array"}, "Trials and share of each look."),
        "time": _field("pointer", {"type": "null"}, "None: looks stand in its place."),
    },
    required=False,
)  # fmt: skip
_CLAIMED = _object(
    {
        name: _field("statement", kind, "What is claimed; printed with the verdict.")
        for name, kind in {
            "epsilon": _NUMBER, "delta": _NUMBER, "mu": _NUMBER, "rho": _NUMBER,
            "renyi": _list(_NUMBER), "curve": {"type": "array"},
        }.items()
    },
    required=False,
)  # fmt: skip
_READING = _object(
    {
        name: _field("choice", kind, f"Has to be what the reader says: --{name}.")
        for name, kind in {
            "form": _MAYBE_TEXT, "read": {"type": ["array", "null"]}, "observe": _list(_TEXT),
            "ignore": _list(_TEXT), "fresh": _MAYBE_TEXT,
        }.items()
    }
) | {"required": ["form", "read", "observe"]}  # fmt: skip
_MECHANISM = _object(
    {
        "reference": _field("label", _MAYBE_TEXT, "Where it was; the reader names one."),
        "sha256": _field("fact", _BITS, "Of its code."),
    },
    others=_field("label", _ANYTHING, "Of its file."),
)
_MADE = _object(
    {
        "domain": _field(
            "statement", {"type": "object"}, "What datasets may be, of two that a search made; "
            "printed with the verdict, and either has to be one of it.",
        ),
        "dataset": _field("fact", {"type": "array"}, "The units of one, as its hash has it."),
        "neighbour": _field("fact", {"type": "array"}, "The units of the other."),
        "user": _field("fact", _MAYBE_TEXT, "The column of users, of a domain that has some."),
    }
)  # fmt: skip
_PAIR = {
    **_object(
        {
            "salt": _field("fact", _BITS, "With which the two are hashed."),
            "dataset": _field("fact", _BITS, "The hash of one."),
            "neighbour": _field("fact", _BITS, "The hash of the other."),
            "declared": _field(
                "choice", _MAYBE_TEXT, "What makes them neighbours where no relation can be "
                "checked: --relation, or a reservation with the number of records that differ.",
            ),
            "data": _field(
                "fact", {"type": "array"}, "The two, where records are shown or nobody's."
            ),
            "made": _MADE,
        },
        required=False,
    ),
    "required": ["salt", "dataset", "neighbour"],
}  # fmt: skip
_EVENT = _object(
    {
        "kind": _field("pointer", {"enum": ["all of", "sum", "equal"]}, "Of event."),
        "favours": _field("pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."),
        "conditions": _list(
            _object(
                {
                    "place": _field("pointer", _INTEGER, "Which number of the output."),
                    "above": _field("pointer", {"type": "boolean"}, "On which side of it."),
                    "steps": _field("pointer", _NUMBER, "Of the threshold, in units of noise."),
                    "draws": _field("pointer", {"type": "array"}, "Of either side's noise."),
                    "posts": _field("pointer", _list(_TEXT), "How it was rounded."),
                }
            )
        ),
    }
)
_COUNTED = _object(
    {
        "what": _field("pointer", {"enum": ["structure", "text", "number"]}, "What is compared."),
        "favours": _field("pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."),
        "place": _field("pointer", _INTEGER, "Which of the output's."),
    }
)
_DECLARED = _object({"draw": _field("pointer", _TEXT, "Of the call that declares.")})
_EVIDENCE = _object(
    {"event": _EVENT, "counted": _COUNTED, "declared": _DECLARED}, required=False
) | {"minProperties": 1, "maxProperties": 1}
_COUNTS = _object(
    {
        "bound": _field("fact", _NUMBER, "What is claimed, in the claim's own unit."),
        "value": _field("label", _NUMBER, "What its own seed gave; --reproduce compares it."),
        "ratio": _field("label", _NUMBER, "What its own seed gave; --reproduce compares it."),
    },
    others=_field("label", _NUMBER, "A count of its own seed; --reproduce compares it."),
    required=False,
) | {"required": ["bound"]}
_CONFIDENCE = _object({"confidence": _field("choice", _NUMBER, "--confidence, or 0.999999.")})


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of one certificate, of which a file holds one or a list.

    Examples
    --------
    >>> found = certificate_schema()
    >>> [kind["properties"]["kind"]["const"] for kind in found["oneOf"]][-4:]
    ['attack-table', 'outputs', 'views', 'proof']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Certificate",
        "description": "What a stranger can check: a refutation, or numbers of views. x-role says "
        "of every field what a verifier makes of it: fact, statement, pointer, choice or label.",
        "oneOf": [
            *(_computed(kind) for kind in COMPUTED),
            _statistical(),
            _mechanism(),
            _replay(),
            _canaries(),
            _of_counts("attack-table", {"rows": _COUNTED}),
            _of_counts("outputs", _OUTPUTS),
            _views(),
            _proof(),
        ],
    }


def _certificate(
    kind: str, claim: Any, source: Any, relation: Any, **parts: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {
        "format": _field("fact", {"const": "dpaudit-certificate"}, "Of the file."),
        "version": _field("fact", {"const": 1}, "Of the format."),
        "claim": claim,
        "kind": _field("pointer", {"const": kind}, "Of evidence: each is judged by itself."),
        "source": source,
        "relation": relation,
        "assumptions": _ASSUMPTIONS,
        **parts,
    }
    stamps = {
        FIELD: _field(
            "fact", {"type": "integer", "minimum": 1, "maximum": _NEWEST}, "Of the file."
        ),
        "search": _SEARCH,
    }
    found = _object({**stamps, **fields})
    return found | {"title": kind, "required": list(fields)}


_NEWEST = SCHEMAS["certificate"]
_NAME = _field("statement", _TEXT, "An installed claim, with a verifier.")
_THEIRS = _field("label", _TEXT, "Who says so.")
_INSTALLED = {
    "source": _field("fact", _TEXT, "As the installed claim has it."),
    "relation": _field("fact", _TEXT, "As the installed claim has it."),
}


def _computed(kind: str) -> dict[str, Any]:
    public = {"factor": _field("choice", _NUMBER, "Below 1 it is a reservation.")}
    other = "Public; where it decides what counts, a reservation names it."
    return _certificate(
        kind,
        _NAME,
        **_INSTALLED,
        parameters=_object(public, others=_field("statement", _ANYTHING, other), required=False),
        quantities=_object({}, others=_field("fact", _NUMBER, "Computed from the instance.")),
        instance=_object({}, others=_field("statement", _ANYTHING, "What breaks the bound.")),
    )


def _statistical() -> dict[str, Any]:
    return _certificate(
        "statistical",
        _NAME,
        **_INSTALLED,
        parameters=_CONFIDENCE,
        quantities=_COUNTS,
        instance=_object({"settings": _SETTINGS}),
    )


_APART = _field("fact", _NUMBER, "How far the two are apart, of a claim a unit of distance.")


def _mechanism() -> dict[str, Any]:
    return _certificate(
        "mechanism",
        _field("label", _TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        _field("choice", _TEXT, "--relation, or a reservation where it is no usual one."),
        parameters=_CONFIDENCE,
        quantities=_COUNTS,
        instance=_object(
            {
                "settings": _SETTINGS,
                "claimed": _CLAIMED,
                "reading": _READING,
                "mechanism": _MECHANISM,
                "pair": _PAIR,
                "apart": _APART,
            }
        )
        | {"required": ["settings", "claimed", "reading", "mechanism", "pair"]},
    )


def _replay() -> dict[str, Any]:
    label = _field("label", _TEXT, "What the report called it.")
    return _certificate(
        "replay",
        _field("label", _TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        _field("choice", _TEXT, "--relation, or a reservation where it is no usual one."),
        parameters=_object({"finding": label, "tier": label}),
        quantities=_object(
            {
                "bound": _field("fact", _NUMBER, "What is claimed of this pair."),
                "ratio": _field("fact", _NUMBER, "Of older files: at most what runs show."),
            },
            required=False,
        )
        | {"required": ["bound"]},
        instance=_object(
            {
                "claimed": _CLAIMED,
                "reading": _READING,
                "mechanism": _MECHANISM,
                "pair": _PAIR,
                "evidence": _EVIDENCE,
                "apart": _APART,
            }
        )
        | {"required": ["claimed", "reading", "mechanism", "pair", "evidence"]},
    )


_EXACT = {"type": ["number", "string"]}
_PLACES = _list({**_INTEGER, "minimum": -1})
_MATRIX = _object(
    {
        "rows": _field("statement", _INTEGER, "How many rows a matrix of the program has."),
        "columns": _field("statement", _INTEGER, "How many columns."),
        "at_row": _field("statement", _PLACES, "Where each of its entries stands."),
        "at_column": _field("statement", _PLACES, "Where each of its entries stands."),
        "numbers": _field("statement", _list(_EXACT), "Its entries: doubles, or text as '1/3'."),
    }
)
_COMPARED = "--mechanism compares it with the reader's code, or a reservation says that it is not."


def _views() -> dict[str, Any]:
    reference = _field("label", _MAYBE_TEXT, "Where it was; the reader names one.")
    seen = {
        "name": _field("label", _TEXT, "What the verdict calls somebody who looks."),
        "sees": _field("statement", {"type": ["array", "null"]}, f"Whose views. {_COMPARED}"),
        "at": _field("statement", _PLACES, f"The coordinates of these views. {_COMPARED}"),
    }
    moved = {
        "name": _field("label", _TEXT, "What the verdict calls a part of the private data."),
        "kind": _field("statement", _TEXT, "direction, l2, l1 or box; printed with the verdict."),
        "at": _field("statement", _PLACES, f"Which private numbers these are. {_COMPARED}"),
        "by": _field("statement", _list(_EXACT), "By how much; printed with the verdict."),
    }
    ends = {
        name: _field("fact", _EXACT, "Of mu, computed again; Infinity as text.")
        for name in ("lower", "upper")
    }
    view = {name: _field("pointer", _TEXT, "Of which view.") for name in ("observer", "about")}
    blocks = _list({"type": "object"})
    return _certificate(
        "views",
        _field("fact", {"const": "views"}, "No installed claim's name."),
        _THEIRS,
        _field("label", _TEXT, "Nothing: what changes is stated of each part."),
        parameters=_object({}),
        quantities=_object({}),
        instance=_object(
            {
                "mechanism": _object({"reference": reference}),
                "private": _field("statement", {"type": ["object", "null"]}, "Shapes of the data."),
                "matrices": _list(_MATRIX),
                "blocks": _field("statement", blocks, f"The program. {_COMPARED}"),
                "output": _field("statement", _PLACES, f"What is returned. {_COMPARED}"),
                "observers": _list(_object(seen)),
                "changes": _list(_object(moved)),
                "views": _list(_object({**view, **ends})),
            }
        ),
    )


_SHAPE = _list(_MAYBE_INTEGER)
_PART = _object(
    {
        "name": _field("statement", _TEXT, "Of the records, the labels or a column."),
        "shape": _field("statement", _SHAPE, "Null is a number of records that is not public."),
        "low": _field("statement", _list(_EXACT), "What each number of a record is at least."),
        "high": _field("statement", _list(_EXACT), "What it is at most."),
        "is_integer": _field("statement", {"type": "boolean"}, "Whether numbers are whole."),
        "norm": _field("statement", _EXACT, "The largest Euclidean length of a record."),
        "categories": _field("statement", {"type": ["array", "null"]}, "What numbers stand for."),
        "is_changed": _field("statement", {"type": "boolean"}, "Whether neighbours differ in it."),
    }
)
_UNIVERSE = _object(
    {
        "parts": _list(_PART),
        "records": _field("statement", _MAYBE_INTEGER, "How many; printed with the verdict."),
        "count": _field("statement", _INTEGER, "In how many records neighbours differ."),
        "relation": _field("statement", _TEXT, "What makes neighbours; printed with the verdict."),
    }
)


def _proof() -> dict[str, Any]:
    reference = _field("label", _MAYBE_TEXT, "Where the function was; the reader names one.")
    code = _field("label", _BITS, "Of its module; --mechanism compares programs, not text.")
    node = {
        "operation": _field(
            "statement", _TEXT, f"On one number, or on one of each record. {_COMPARED}"
        ),
        "operands": _field("statement", _list(_INTEGER), f"Earlier nodes. {_COMPARED}"),
        "parameters": _field("statement", {"type": "object"}, f"Public ones. {_COMPARED}"),
        "place": _field("label", _TEXT, "The line of the source."),
    }
    path = {
        "nodes": _list(_object(node)),
        "outputs": _field("statement", _list(_INTEGER), f"What is returned. {_COMPARED}"),
        "hints": _field("choice", _ANYTHING, "Where searches are cut: a choice of the writer."),
        "skeleton": _field("label", _ANYTHING, "The nesting of what is returned."),
    }
    instance = {
        "mechanism": _object({"reference": reference, "sha256": code}),
        "universe": _UNIVERSE,
        "alike": _field("statement", {"type": "boolean"}, f"One record for all. {_COMPARED}"),
        "draws": _field("statement", _list({"type": "object"}), f"Laws of noise. {_COMPARED}"),
        "paths": _list(_object(path)),
        "claim": _field(
            "fact", {"type": "object"}, "Epsilon and delta, mu, or rho: derived again."
        ),
        "versions": _object({}, others=_field("label", _TEXT, "What it was written with.")),
    }
    return _certificate(
        "proof",
        _field("fact", {"const": "proof"}, "No installed claim's name."),
        _THEIRS,
        _field("label", _TEXT, "Its name at the doors; the universe decides."),
        parameters=_object({}),
        quantities=_object({}),
        instance=_object(instance),
    )


_AT_CONFIDENCE = {
    **dict.fromkeys(("epsilon", "delta"), _field("statement", _NUMBER, "What is claimed.")),
    "alpha": _field("choice", _NUMBER, "1 less --confidence, or 0.05."),
}


def _canaries() -> dict[str, Any]:
    counted = "As the scores have it; without --scores a reservation says so."
    return _certificate(
        "canaries",
        _field("fact", {"const": "canaries"}, "No installed claim's name."),
        _THEIRS,
        _field("fact", _TEXT, "That of the design."),
        parameters=_object(
            {
                "design": _field("choice", _TEXT, "--design, or a reservation if not the usual."),
                "canaries": _field("fact", _INTEGER, counted),
                "included": _field("fact", _INTEGER, counted),
                "coins": _field("fact", _INTEGER, counted),
                **_AT_CONFIDENCE,
            }
        ),
        quantities=_object(
            {
                "p_value": _field("fact", _NUMBER, "Of the claim."),
                "ratio": _field("fact", _NUMBER, "The file's own alpha over it."),
            }
        ),
        instance=_object(
            {
                "guesses": _field(
                    "choice", _list(_INTEGER), "--guesses, or a reservation if not the usual."
                ),
                "shares": _field("choice", _list(_NUMBER), "Those of the guesses."),
                "correct": _field("fact", _list(_INTEGER), counted),
                "sha256": _field("fact", _BITS, "Of the scores; without --scores not seen."),
            }
        ),
    )


def _of_counts(kind: str, instance: Mapping[str, Any]) -> dict[str, Any]:
    return _certificate(
        kind,
        _field("fact", {"const": kind}, "No installed claim's name."),
        _THEIRS,
        _field("label", _TEXT, "What the two sides are."),
        parameters=_object(_AT_CONFIDENCE),
        quantities=_object({"ratio": _field("fact", _NUMBER, "At the file's own alpha.")}),
        instance=_object(instance),
    )


_COUNTED = _field("fact", _list(_list(_INTEGER)), "Hits and runs of one side, and of the other.")
_OF_FILES, _UNUSUAL = "As the files have it, with --outputs.", "A reservation, if unusual."
_OUTPUTS = {"rows": _COUNTED, "sha256": _field("fact", _list(_TEXT), _OF_FILES)}
_OUTPUTS["outputs"] = _field("fact", _list(_INTEGER), _OF_FILES)
_OUTPUTS["ignore"] = _field("choice", _list(_TEXT), _UNUSUAL)
_OUTPUTS |= {name: _field("choice", _NUMBER, _UNUSUAL) for name in ("seed", "confidence")}
