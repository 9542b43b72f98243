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
_NUMBER = {"type": "number"}
_INTEGER = {"type": "integer"}
_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_MAYBE_INTEGER = {"type": ["integer", "null"]}
_ANYTHING: dict[str, Any] = {}
_BITS = {"type": "string", "pattern": "^[0-9a-f]*$"}


def _make_field_schema(role: str, kind: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {**kind, "x-role": role, "description": words}


def _make_object_schema(
    fields: Mapping[str, Any], *, others: Mapping[str, Any] | bool = False, required: bool = True
) -> dict[str, Any]:
    """Return the schema of an object; what it may hold beside these is said, or nothing is."""
    found = {"type": "object", "properties": dict(fields), "additionalProperties": others}
    return found | ({"required": list(fields)} if required else {})


def _make_list_schema(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


_ASSUMPTIONS = _make_list_schema(
    _make_object_schema(
        {
            "name": _make_field_schema(
                "fact", _TEXT, "An assumption of the claim, each of which is there."
            ),
            "value": _make_field_schema("fact", _NUMBER, "Its number on this instance."),
            "limit": _make_field_schema(
                "fact", _NUMBER, "What that may be at most, as the verifier has it."
            ),
        }
    )
)
_SEARCH = _make_object_schema({}, others=_make_field_schema("label", _INTEGER, "How it was found."))
_SETTINGS = _make_object_schema(
    {
        "epsilon": _make_field_schema("statement", _NUMBER, "Of the guarantee that is claimed."),
        "delta": _make_field_schema("statement", _NUMBER, "Of the guarantee that is claimed."),
        "data": _make_field_schema("statement", _TEXT, "An installed dataset, or the worst case."),
        "data_options": _make_field_schema("statement", {"type": "object"}, "Of that dataset's "
                                                                            "loader."),
        "data_path": _make_field_schema("choice", _MAYBE_TEXT, "Where its files are: --data-path."),
        "parameters": _make_field_schema(
            "statement", {"type": "object"}, "Public ones; where one decides what counts, a "
            "reservation names it.",
        ),
        "confidence": _make_field_schema("choice", _NUMBER, "--confidence, or 0.999999."),
        "seed": _make_field_schema("choice", _INTEGER, "Of fresh draws: --seed, or the system's "
                                                       "entropy."),
        "trials": _make_field_schema("pointer", _MAYBE_INTEGER, "How many are drawn."),
        "unit": _make_field_schema("pointer", _MAYBE_INTEGER, "How many in one call."),
        "estimator": _make_field_schema("pointer", _TEXT, "What certifies."),
        "attack": _make_field_schema("pointer", _MAYBE_TEXT, "The only distinguisher, if there "
                                                             "is one."),
        "until_refuted": _make_field_schema("pointer", {"type": "boolean"}, "Whether bets are "
                                                                            "placed."),
        "candidate_pairs": _make_field_schema("pointer", _MAYBE_INTEGER, "Among which the worst "
                                                                         "is sought."),
        "looks": _make_field_schema("pointer", {"type": "array"}, "Trials and share of each look."),
        "time": _make_field_schema("pointer", {"type": "null"}, "None: looks stand in its place."),
    },
    required=False,
)  # fmt: skip
_CLAIMED = _make_object_schema(
    {
        name: _make_field_schema("statement", kind, "What is claimed; printed with the verdict.")
        for name, kind in {
            "epsilon": _NUMBER, "delta": _NUMBER, "mu": _NUMBER, "rho": _NUMBER,
            "renyi": _make_list_schema(_NUMBER), "curve": {"type": "array"},
        }.items()
    },
    required=False,
)  # fmt: skip
_READING = _make_object_schema(
    {
        name: _make_field_schema("choice", kind, f"Has to be what the reader says: --{name}.")
        for name, kind in {
            "form": _MAYBE_TEXT,
            "read": {"type": ["array", "null"]},
            "observe": _make_list_schema(_TEXT),
            "ignore": _make_list_schema(_TEXT),
            "fresh": _MAYBE_TEXT,
        }.items()
    }
) | {"required": ["form", "read", "observe"]}  # fmt: skip
_MECHANISM = _make_object_schema(
    {
        "reference": _make_field_schema(
            "label", _MAYBE_TEXT, "Where it was; the reader names one."
        ),
        "sha256": _make_field_schema("fact", _BITS, "Of its code."),
    },
    others=_make_field_schema("label", _ANYTHING, "Of its file."),
)
_MADE = _make_object_schema(
    {
        "domain": _make_field_schema(
            "statement", {"type": "object"}, "What datasets may be, of two that a search made; "
            "printed with the verdict, and either has to be one of it.",
        ),
        "dataset": _make_field_schema("fact", {"type": "array"}, "The units of one, as its hash "
                                                                 "has it."),
        "neighbour": _make_field_schema("fact", {"type": "array"}, "The units of the other."),
        "user": _make_field_schema("fact", _MAYBE_TEXT, "The column of users, of a domain that "
                                                        "has some."),
    }
)  # fmt: skip
_PAIR = {
    **_make_object_schema(
        {
            "salt": _make_field_schema("fact", _BITS, "With which the two are hashed."),
            "dataset": _make_field_schema("fact", _BITS, "The hash of one."),
            "neighbour": _make_field_schema("fact", _BITS, "The hash of the other."),
            "declared": _make_field_schema(
                "choice", _MAYBE_TEXT, "What makes them neighbours where no relation can be "
                "checked: --relation, or a reservation with the number of records that differ.",
            ),
            "data": _make_field_schema(
                "fact", {"type": "array"}, "The two, where records are shown or nobody's."
            ),
            "made": _MADE,
        },
        required=False,
    ),
    "required": ["salt", "dataset", "neighbour"],
}  # fmt: skip
_EVENT = _make_object_schema(
    {
        "kind": _make_field_schema("pointer", {"enum": ["all of", "sum", "equal"]}, "Of event."),
        "favours": _make_field_schema(
            "pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."
        ),
        "conditions": _make_list_schema(
            _make_object_schema(
                {
                    "place": _make_field_schema("pointer", _INTEGER, "Which number of the output."),
                    "above": _make_field_schema(
                        "pointer", {"type": "boolean"}, "On which side of it."
                    ),
                    "steps": _make_field_schema(
                        "pointer", _NUMBER, "Of the threshold, in units of noise."
                    ),
                    "draws": _make_field_schema(
                        "pointer", {"type": "array"}, "Of either side's noise."
                    ),
                    "posts": _make_field_schema(
                        "pointer", _make_list_schema(_TEXT), "How it was rounded."
                    ),
                }
            )
        ),
    }
)
_COUNTED = _make_object_schema(
    {
        "what": _make_field_schema(
            "pointer", {"enum": ["structure", "text", "number"]}, "What is compared."
        ),
        "favours": _make_field_schema(
            "pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."
        ),
        "place": _make_field_schema("pointer", _INTEGER, "Which of the output's."),
    }
)
_DECLARED = _make_object_schema(
    {"draw": _make_field_schema("pointer", _TEXT, "Of the call that declares.")}
)
_EVIDENCE = _make_object_schema(
    {"event": _EVENT, "counted": _COUNTED, "declared": _DECLARED}, required=False
) | {"minProperties": 1, "maxProperties": 1}
_COUNTS = _make_object_schema(
    {
        "bound": _make_field_schema("fact", _NUMBER, "What is claimed, in the claim's own unit."),
        "value": _make_field_schema(
            "label", _NUMBER, "What its own seed gave; --reproduce compares it."
        ),
        "ratio": _make_field_schema(
            "label", _NUMBER, "What its own seed gave; --reproduce compares it."
        ),
    },
    others=_make_field_schema(
        "label", _NUMBER, "A count of its own seed; --reproduce compares it."
    ),
    required=False,
) | {"required": ["bound"]}
_CONFIDENCE = _make_object_schema(
    {"confidence": _make_field_schema("choice", _NUMBER, "--confidence, or 0.999999.")}
)


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
            *(_make_computed_schema(kind) for kind in COMPUTED),
            _make_statistical_schema(),
            _make_mechanism_schema(),
            _make_replay_schema(),
            _make_canaries_schema(),
            _of_counts("attack-table", {"rows": _COUNTED}),
            _of_counts("outputs", _OUTPUTS),
            _make_views_schema(),
            _make_proof_schema(),
        ],
    }


def _make_certificate_schema(
    kind: str, claim: Any, source: Any, relation: Any, **parts: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {
        "format": _make_field_schema("fact", {"const": "dpaudit-certificate"}, "Of the file."),
        "version": _make_field_schema("fact", {"const": 1}, "Of the format."),
        "claim": claim,
        "kind": _make_field_schema(
            "pointer", {"const": kind}, "Of evidence: each is judged by itself."
        ),
        "source": source,
        "relation": relation,
        "assumptions": _ASSUMPTIONS,
        **parts,
    }
    stamps = {
        FIELD: _make_field_schema(
            "fact", {"type": "integer", "minimum": 1, "maximum": _NEWEST}, "Of the file."
        ),
        "search": _SEARCH,
    }
    found = _make_object_schema({**stamps, **fields})
    return found | {"title": kind, "required": list(fields)}


_NEWEST = SCHEMAS["certificate"]
_NAME = _make_field_schema("statement", _TEXT, "An installed claim, with a verifier.")
_THEIRS = _make_field_schema("label", _TEXT, "Who says so.")
_INSTALLED = {
    "source": _make_field_schema("fact", _TEXT, "As the installed claim has it."),
    "relation": _make_field_schema("fact", _TEXT, "As the installed claim has it."),
}


def _make_computed_schema(kind: str) -> dict[str, Any]:
    public = {"factor": _make_field_schema("choice", _NUMBER, "Below 1 it is a reservation.")}
    other = "Public; where it decides what counts, a reservation names it."
    return _make_certificate_schema(
        kind,
        _NAME,
        **_INSTALLED,
        parameters=_make_object_schema(
            public, others=_make_field_schema("statement", _ANYTHING, other), required=False
        ),
        quantities=_make_object_schema(
            {}, others=_make_field_schema("fact", _NUMBER, "Computed from the instance.")
        ),
        instance=_make_object_schema(
            {}, others=_make_field_schema("statement", _ANYTHING, "What breaks the bound.")
        ),
    )


def _make_statistical_schema() -> dict[str, Any]:
    return _make_certificate_schema(
        "statistical",
        _NAME,
        **_INSTALLED,
        parameters=_CONFIDENCE,
        quantities=_COUNTS,
        instance=_make_object_schema({"settings": _SETTINGS}),
    )


_APART = _make_field_schema(
    "fact", _NUMBER, "How far the two are apart, of a claim a unit of distance."
)


def _make_mechanism_schema() -> dict[str, Any]:
    return _make_certificate_schema(
        "mechanism",
        _make_field_schema("label", _TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        _make_field_schema(
            "choice", _TEXT, "--relation, or a reservation where it is no usual one."
        ),
        parameters=_CONFIDENCE,
        quantities=_COUNTS,
        instance=_make_object_schema(
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


def _make_replay_schema() -> dict[str, Any]:
    label = _make_field_schema("label", _TEXT, "What the report called it.")
    return _make_certificate_schema(
        "replay",
        _make_field_schema("label", _TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        _make_field_schema(
            "choice", _TEXT, "--relation, or a reservation where it is no usual one."
        ),
        parameters=_make_object_schema({"finding": label, "tier": label}),
        quantities=_make_object_schema(
            {
                "bound": _make_field_schema("fact", _NUMBER, "What is claimed of this pair."),
                "ratio": _make_field_schema(
                    "fact", _NUMBER, "Of older files: at most what runs show."
                ),
            },
            required=False,
        )
        | {"required": ["bound"]},
        instance=_make_object_schema(
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
_PLACES = _make_list_schema({**_INTEGER, "minimum": -1})
_MATRIX = _make_object_schema(
    {
        "rows": _make_field_schema(
            "statement", _INTEGER, "How many rows a matrix of the program has."
        ),
        "columns": _make_field_schema("statement", _INTEGER, "How many columns."),
        "at_row": _make_field_schema("statement", _PLACES, "Where each of its entries stands."),
        "at_column": _make_field_schema("statement", _PLACES, "Where each of its entries stands."),
        "numbers": _make_field_schema(
            "statement", _make_list_schema(_EXACT), "Its entries: doubles, or text as '1/3'."
        ),
    }
)
_COMPARED = "--mechanism compares it with the reader's code, or a reservation says that it is not."


def _make_views_schema() -> dict[str, Any]:
    reference = _make_field_schema("label", _MAYBE_TEXT, "Where it was; the reader names one.")
    seen = {
        "name": _make_field_schema("label", _TEXT, "What the verdict calls somebody who looks."),
        "sees": _make_field_schema(
            "statement", {"type": ["array", "null"]}, f"Whose views. {_COMPARED}"
        ),
        "at": _make_field_schema(
            "statement", _PLACES, f"The coordinates of these views. {_COMPARED}"
        ),
    }
    moved = {
        "name": _make_field_schema(
            "label", _TEXT, "What the verdict calls a part of the private data."
        ),
        "kind": _make_field_schema(
            "statement", _TEXT, "direction, l2, l1 or box; printed with the verdict."
        ),
        "at": _make_field_schema(
            "statement", _PLACES, f"Which private numbers these are. {_COMPARED}"
        ),
        "by": _make_field_schema(
            "statement", _make_list_schema(_EXACT), "By how much; printed with the verdict."
        ),
    }
    ends = {
        name: _make_field_schema("fact", _EXACT, "Of mu, computed again; Infinity as text.")
        for name in ("lower", "upper")
    }
    view = {
        name: _make_field_schema("pointer", _TEXT, "Of which view.")
        for name in ("observer", "about")
    }
    blocks = _make_list_schema({"type": "object"})
    return _make_certificate_schema(
        "views",
        _make_field_schema("fact", {"const": "views"}, "No installed claim's name."),
        _THEIRS,
        _make_field_schema("label", _TEXT, "Nothing: what changes is stated of each part."),
        parameters=_make_object_schema({}),
        quantities=_make_object_schema({}),
        instance=_make_object_schema(
            {
                "mechanism": _make_object_schema({"reference": reference}),
                "private": _make_field_schema(
                    "statement", {"type": ["object", "null"]}, "Shapes of the data."
                ),
                "matrices": _make_list_schema(_MATRIX),
                "blocks": _make_field_schema("statement", blocks, f"The program. {_COMPARED}"),
                "output": _make_field_schema(
                    "statement", _PLACES, f"What is returned. {_COMPARED}"
                ),
                "observers": _make_list_schema(_make_object_schema(seen)),
                "changes": _make_list_schema(_make_object_schema(moved)),
                "views": _make_list_schema(_make_object_schema({**view, **ends})),
            }
        ),
    )


_SHAPE = _make_list_schema(_MAYBE_INTEGER)
_PART = _make_object_schema(
    {
        "name": _make_field_schema("statement", _TEXT, "Of the records, the labels or a column."),
        "shape": _make_field_schema(
            "statement", _SHAPE, "Null is a number of records that is not public."
        ),
        "low": _make_field_schema(
            "statement", _make_list_schema(_EXACT), "What each number of a record is at least."
        ),
        "high": _make_field_schema("statement", _make_list_schema(_EXACT), "What it is at most."),
        "is_integer": _make_field_schema(
            "statement", {"type": "boolean"}, "Whether numbers are whole."
        ),
        "norm": _make_field_schema(
            "statement", _EXACT, "The largest Euclidean length of a record."
        ),
        "categories": _make_field_schema(
            "statement", {"type": ["array", "null"]}, "What numbers stand for."
        ),
        "is_changed": _make_field_schema(
            "statement", {"type": "boolean"}, "Whether neighbours differ in it."
        ),
    }
)
_UNIVERSE = _make_object_schema(
    {
        "parts": _make_list_schema(_PART),
        "records": _make_field_schema(
            "statement", _MAYBE_INTEGER, "How many; printed with the verdict."
        ),
        "count": _make_field_schema(
            "statement", _INTEGER, "In how many records neighbours differ."
        ),
        "relation": _make_field_schema(
            "statement", _TEXT, "What makes neighbours; printed with the verdict."
        ),
    }
)


def _make_proof_schema() -> dict[str, Any]:
    reference = _make_field_schema(
        "label", _MAYBE_TEXT, "Where the function was; the reader names one."
    )
    code = _make_field_schema(
        "label", _BITS, "Of its module; --mechanism compares programs, not text."
    )
    node = {
        "operation": _make_field_schema(
            "statement", _TEXT, f"On one number, or on one of each record. {_COMPARED}"
        ),
        "operands": _make_field_schema(
            "statement", _make_list_schema(_INTEGER), f"Earlier nodes. {_COMPARED}"
        ),
        "parameters": _make_field_schema(
            "statement", {"type": "object"}, f"Public ones. {_COMPARED}"
        ),
        "place": _make_field_schema("label", _TEXT, "The line of the source."),
    }
    path = {
        "nodes": _make_list_schema(_make_object_schema(node)),
        "outputs": _make_field_schema(
            "statement", _make_list_schema(_INTEGER), f"What is returned. {_COMPARED}"
        ),
        "hints": _make_field_schema(
            "choice", _ANYTHING, "Where searches are cut: a choice of the writer."
        ),
        "skeleton": _make_field_schema("label", _ANYTHING, "The nesting of what is returned."),
    }
    instance = {
        "mechanism": _make_object_schema({"reference": reference, "sha256": code}),
        "universe": _UNIVERSE,
        "alike": _make_field_schema(
            "statement", {"type": "boolean"}, f"One record for all. {_COMPARED}"
        ),
        "draws": _make_field_schema(
            "statement", _make_list_schema({"type": "object"}), f"Laws of noise. {_COMPARED}"
        ),
        "paths": _make_list_schema(_make_object_schema(path)),
        "claim": _make_field_schema(
            "fact", {"type": "object"}, "Epsilon and delta, mu, or rho: derived again."
        ),
        "versions": _make_object_schema(
            {}, others=_make_field_schema("label", _TEXT, "What it was written with.")
        ),
    }
    return _make_certificate_schema(
        "proof",
        _make_field_schema("fact", {"const": "proof"}, "No installed claim's name."),
        _THEIRS,
        _make_field_schema("label", _TEXT, "Its name at the doors; the universe decides."),
        parameters=_make_object_schema({}),
        quantities=_make_object_schema({}),
        instance=_make_object_schema(instance),
    )


_AT_CONFIDENCE = {
    **dict.fromkeys(
        ("epsilon", "delta"), _make_field_schema("statement", _NUMBER, "What is claimed.")
    ),
    "alpha": _make_field_schema("choice", _NUMBER, "1 less --confidence, or 0.05."),
}


def _make_canaries_schema() -> dict[str, Any]:
    counted = "As the scores have it; without --scores a reservation says so."
    return _make_certificate_schema(
        "canaries",
        _make_field_schema("fact", {"const": "canaries"}, "No installed claim's name."),
        _THEIRS,
        _make_field_schema("fact", _TEXT, "That of the design."),
        parameters=_make_object_schema(
            {
                "design": _make_field_schema(
                    "choice", _TEXT, "--design, or a reservation if not the usual."
                ),
                "canaries": _make_field_schema("fact", _INTEGER, counted),
                "included": _make_field_schema("fact", _INTEGER, counted),
                "coins": _make_field_schema("fact", _INTEGER, counted),
                **_AT_CONFIDENCE,
            }
        ),
        quantities=_make_object_schema(
            {
                "p_value": _make_field_schema("fact", _NUMBER, "Of the claim."),
                "ratio": _make_field_schema("fact", _NUMBER, "The file's own alpha over it."),
            }
        ),
        instance=_make_object_schema(
            {
                "guesses": _make_field_schema(
                    "choice",
                    _make_list_schema(_INTEGER),
                    "--guesses, or a reservation if not the usual.",
                ),
                "shares": _make_field_schema(
                    "choice", _make_list_schema(_NUMBER), "Those of the guesses."
                ),
                "correct": _make_field_schema("fact", _make_list_schema(_INTEGER), counted),
                "sha256": _make_field_schema(
                    "fact", _BITS, "Of the scores; without --scores not seen."
                ),
            }
        ),
    )


def _of_counts(kind: str, instance: Mapping[str, Any]) -> dict[str, Any]:
    return _make_certificate_schema(
        kind,
        _make_field_schema("fact", {"const": kind}, "No installed claim's name."),
        _THEIRS,
        _make_field_schema("label", _TEXT, "What the two sides are."),
        parameters=_make_object_schema(_AT_CONFIDENCE),
        quantities=_make_object_schema(
            {"ratio": _make_field_schema("fact", _NUMBER, "At the file's own alpha.")}
        ),
        instance=_make_object_schema(instance),
    )


_COUNTED = _make_field_schema(
    "fact",
    _make_list_schema(_make_list_schema(_INTEGER)),
    "Hits and runs of one side, and of the other.",
)
_OF_FILES = "As the files have it, with --outputs."
_UNUSUAL = "A reservation, if unusual."
_OUTPUTS = {
    "rows": _COUNTED,
    "sha256": _make_field_schema("fact", _make_list_schema(_TEXT), _OF_FILES),
}
_OUTPUTS["outputs"] = _make_field_schema("fact", _make_list_schema(_INTEGER), _OF_FILES)
_OUTPUTS["ignore"] = _make_field_schema("choice", _make_list_schema(_TEXT), _UNUSUAL)
_OUTPUTS |= {
    name: _make_field_schema("choice", _NUMBER, _UNUSUAL) for name in ("seed", "confidence")
}
