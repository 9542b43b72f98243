"""The JSON Schema of certificates: the role of each field for whoever verifies one.

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
from dpaudit.verification.schema_fields import (
    ANYTHING,
    ASSUMPTIONS,
    BITS,
    CLAIMED,
    CONFIDENCE,
    COUNTS,
    EVIDENCE,
    INTEGER,
    MAYBE_INTEGER,
    MAYBE_TEXT,
    MECHANISM,
    NUMBER,
    PAIR,
    READING,
    SEARCH,
    SETTINGS,
    TEXT,
    make_field_schema,
    make_list_schema,
    make_object_schema,
)

ROLES = ("fact", "statement", "pointer", "choice", "label")
COMPUTED = ("sensitivity", "property", "pure-dp", "support", "approximate-dp")


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
            _of_counts("attack-table", {"rows": _ROWS_COUNTED}),
            _of_counts("outputs", _OUTPUTS),
            _make_views_schema(),
            _make_proof_schema(),
        ],
    }


def _make_certificate_schema(
    kind: str, claim: Any, source: Any, relation: Any, **parts: Mapping[str, Any]
) -> dict[str, Any]:
    fields = {
        "format": make_field_schema("fact", {"const": "dpaudit-certificate"}, "Of the file."),
        "version": make_field_schema("fact", {"const": 1}, "Of the format."),
        "claim": claim,
        "kind": make_field_schema(
            "pointer", {"const": kind}, "Of evidence: each is judged by itself."
        ),
        "source": source,
        "relation": relation,
        "assumptions": ASSUMPTIONS,
        **parts,
    }
    stamps = {
        FIELD: make_field_schema(
            "fact", {"type": "integer", "minimum": 1, "maximum": _NEWEST}, "Of the file."
        ),
        "search": SEARCH,
    }
    found = make_object_schema({**stamps, **fields})
    return found | {"title": kind, "required": list(fields)}


_NEWEST = SCHEMAS["certificate"]
_NAME = make_field_schema("statement", TEXT, "An installed claim, with a verifier.")
_THEIRS = make_field_schema("label", TEXT, "Who says so.")
_INSTALLED = {
    "source": make_field_schema("fact", TEXT, "As the installed claim has it."),
    "relation": make_field_schema("fact", TEXT, "As the installed claim has it."),
}


def _make_computed_schema(kind: str) -> dict[str, Any]:
    public = {"factor": make_field_schema("choice", NUMBER, "Below 1 it is a reservation.")}
    other = "Public; where it decides what counts, a reservation names it."
    return _make_certificate_schema(
        kind,
        _NAME,
        **_INSTALLED,
        parameters=make_object_schema(
            public, others=make_field_schema("statement", ANYTHING, other), required=False
        ),
        quantities=make_object_schema(
            {}, others=make_field_schema("fact", NUMBER, "Computed from the instance.")
        ),
        instance=make_object_schema(
            {}, others=make_field_schema("statement", ANYTHING, "What breaks the bound.")
        ),
    )


def _make_statistical_schema() -> dict[str, Any]:
    return _make_certificate_schema(
        "statistical",
        _NAME,
        **_INSTALLED,
        parameters=CONFIDENCE,
        quantities=COUNTS,
        instance=make_object_schema({"settings": SETTINGS}),
    )


_APART = make_field_schema(
    "fact", NUMBER, "How far the two are apart, of a claim a unit of distance."
)


def _make_mechanism_schema() -> dict[str, Any]:
    return _make_certificate_schema(
        "mechanism",
        make_field_schema("label", TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        make_field_schema("choice", TEXT, "--relation, or a reservation where it is no usual one."),
        parameters=CONFIDENCE,
        quantities=COUNTS,
        instance=make_object_schema(
            {
                "settings": SETTINGS,
                "claimed": CLAIMED,
                "reading": READING,
                "mechanism": MECHANISM,
                "pair": PAIR,
                "apart": _APART,
            }
        )
        | {"required": ["settings", "claimed", "reading", "mechanism", "pair"]},
    )


def _make_replay_schema() -> dict[str, Any]:
    label = make_field_schema("label", TEXT, "What the report called it.")
    return _make_certificate_schema(
        "replay",
        make_field_schema("label", TEXT, "The reader's mechanism is what the verdict names."),
        _THEIRS,
        make_field_schema("choice", TEXT, "--relation, or a reservation where it is no usual one."),
        parameters=make_object_schema({"finding": label, "tier": label}),
        quantities=make_object_schema(
            {
                "bound": make_field_schema("fact", NUMBER, "What is claimed of this pair."),
                "ratio": make_field_schema(
                    "fact", NUMBER, "Of older files: at most what runs show."
                ),
            },
            required=False,
        )
        | {"required": ["bound"]},
        instance=make_object_schema(
            {
                "claimed": CLAIMED,
                "reading": READING,
                "mechanism": MECHANISM,
                "pair": PAIR,
                "evidence": EVIDENCE,
                "apart": _APART,
            }
        )
        | {"required": ["claimed", "reading", "mechanism", "pair", "evidence"]},
    )


_EXACT = {"type": ["number", "string"]}
_PLACES = make_list_schema({**INTEGER, "minimum": -1})
_MATRIX = make_object_schema(
    {
        "rows": make_field_schema(
            "statement", INTEGER, "How many rows a matrix of the program has."
        ),
        "columns": make_field_schema("statement", INTEGER, "How many columns."),
        "at_row": make_field_schema("statement", _PLACES, "Where each of its entries stands."),
        "at_column": make_field_schema("statement", _PLACES, "Where each of its entries stands."),
        "numbers": make_field_schema(
            "statement", make_list_schema(_EXACT), "Its entries: doubles, or text as '1/3'."
        ),
    }
)
_COMPARED = "--mechanism compares it with the reader's code, or a reservation says that it is not."


def _make_views_schema() -> dict[str, Any]:
    reference = make_field_schema("label", MAYBE_TEXT, "Where it was; the reader names one.")
    seen = {
        "name": make_field_schema("label", TEXT, "What the verdict calls somebody who looks."),
        "sees": make_field_schema(
            "statement", {"type": ["array", "null"]}, f"Whose views. {_COMPARED}"
        ),
        "at": make_field_schema(
            "statement", _PLACES, f"The coordinates of these views. {_COMPARED}"
        ),
    }
    moved = {
        "name": make_field_schema(
            "label", TEXT, "What the verdict calls a part of the private data."
        ),
        "kind": make_field_schema(
            "statement", TEXT, "direction, l2, l1 or box; printed with the verdict."
        ),
        "at": make_field_schema(
            "statement", _PLACES, f"Which private numbers these are. {_COMPARED}"
        ),
        "by": make_field_schema(
            "statement", make_list_schema(_EXACT), "By how much; printed with the verdict."
        ),
    }
    ends = {
        name: make_field_schema("fact", _EXACT, "Of mu, computed again; Infinity as text.")
        for name in ("lower", "upper")
    }
    view = {
        name: make_field_schema("pointer", TEXT, "Of which view.") for name in ("observer", "about")
    }
    blocks = make_list_schema({"type": "object"})
    return _make_certificate_schema(
        "views",
        make_field_schema("fact", {"const": "views"}, "No installed claim's name."),
        _THEIRS,
        make_field_schema("label", TEXT, "Nothing: what changes is stated of each part."),
        parameters=make_object_schema({}),
        quantities=make_object_schema({}),
        instance=make_object_schema(
            {
                "mechanism": make_object_schema({"reference": reference}),
                "private": make_field_schema(
                    "statement", {"type": ["object", "null"]}, "Shapes of the data."
                ),
                "matrices": make_list_schema(_MATRIX),
                "blocks": make_field_schema("statement", blocks, f"The program. {_COMPARED}"),
                "output": make_field_schema("statement", _PLACES, f"What is returned. {_COMPARED}"),
                "observers": make_list_schema(make_object_schema(seen)),
                "changes": make_list_schema(make_object_schema(moved)),
                "views": make_list_schema(make_object_schema({**view, **ends})),
            }
        ),
    )


_SHAPE = make_list_schema(MAYBE_INTEGER)
_PART = make_object_schema(
    {
        "name": make_field_schema("statement", TEXT, "Of the records, the labels or a column."),
        "shape": make_field_schema(
            "statement", _SHAPE, "Null is a number of records that is not public."
        ),
        "low": make_field_schema(
            "statement", make_list_schema(_EXACT), "What each number of a record is at least."
        ),
        "high": make_field_schema("statement", make_list_schema(_EXACT), "What it is at most."),
        "is_integer": make_field_schema(
            "statement", {"type": "boolean"}, "Whether numbers are whole."
        ),
        "norm": make_field_schema("statement", _EXACT, "The largest Euclidean length of a record."),
        "categories": make_field_schema(
            "statement", {"type": ["array", "null"]}, "What numbers stand for."
        ),
        "is_changed": make_field_schema(
            "statement", {"type": "boolean"}, "Whether neighbours differ in it."
        ),
    }
)
_UNIVERSE = make_object_schema(
    {
        "parts": make_list_schema(_PART),
        "records": make_field_schema(
            "statement", MAYBE_INTEGER, "How many; printed with the verdict."
        ),
        "count": make_field_schema("statement", INTEGER, "In how many records neighbours differ."),
        "relation": make_field_schema(
            "statement", TEXT, "The relation of neighbours; printed with the verdict."
        ),
    }
)


def _make_proof_schema() -> dict[str, Any]:
    reference = make_field_schema(
        "label", MAYBE_TEXT, "Where the function was; the reader names one."
    )
    code = make_field_schema(
        "label", BITS, "Of its module; --mechanism compares programs, not text."
    )
    node = {
        "operation": make_field_schema(
            "statement", TEXT, f"On one number, or on one of each record. {_COMPARED}"
        ),
        "operands": make_field_schema(
            "statement", make_list_schema(INTEGER), f"Earlier nodes. {_COMPARED}"
        ),
        "parameters": make_field_schema(
            "statement", {"type": "object"}, f"Public ones. {_COMPARED}"
        ),
        "place": make_field_schema("label", TEXT, "The line of the source."),
    }
    path = {
        "nodes": make_list_schema(make_object_schema(node)),
        "outputs": make_field_schema(
            "statement", make_list_schema(INTEGER), f"What is returned. {_COMPARED}"
        ),
        "hints": make_field_schema(
            "choice", ANYTHING, "Where searches are cut: a choice of the writer."
        ),
        "skeleton": make_field_schema("label", ANYTHING, "The nesting of what is returned."),
    }
    instance = {
        "mechanism": make_object_schema({"reference": reference, "sha256": code}),
        "universe": _UNIVERSE,
        "alike": make_field_schema(
            "statement", {"type": "boolean"}, f"One record for all. {_COMPARED}"
        ),
        "draws": make_field_schema(
            "statement", make_list_schema({"type": "object"}), f"Laws of noise. {_COMPARED}"
        ),
        "paths": make_list_schema(make_object_schema(path)),
        "claim": make_field_schema(
            "fact", {"type": "object"}, "Epsilon and delta, mu, or rho: derived again."
        ),
        "versions": make_object_schema(
            {}, others=make_field_schema("label", TEXT, "What it was written with.")
        ),
    }
    return _make_certificate_schema(
        "proof",
        make_field_schema("fact", {"const": "proof"}, "No installed claim's name."),
        _THEIRS,
        make_field_schema("label", TEXT, "Its name at the doors; the universe decides."),
        parameters=make_object_schema({}),
        quantities=make_object_schema({}),
        instance=make_object_schema(instance),
    )


_AT_CONFIDENCE = {
    **dict.fromkeys(
        ("epsilon", "delta"), make_field_schema("statement", NUMBER, "What is claimed.")
    ),
    "alpha": make_field_schema("choice", NUMBER, "1 less --confidence, or 0.05."),
}


def _make_canaries_schema() -> dict[str, Any]:
    counted = "As the scores have it; without --scores a reservation says so."
    return _make_certificate_schema(
        "canaries",
        make_field_schema("fact", {"const": "canaries"}, "No installed claim's name."),
        _THEIRS,
        make_field_schema("fact", TEXT, "That of the design."),
        parameters=make_object_schema(
            {
                "design": make_field_schema(
                    "choice", TEXT, "--design, or a reservation if not the usual."
                ),
                "canaries": make_field_schema("fact", INTEGER, counted),
                "included": make_field_schema("fact", INTEGER, counted),
                "coins": make_field_schema("fact", INTEGER, counted),
                **_AT_CONFIDENCE,
            }
        ),
        quantities=make_object_schema(
            {
                "p_value": make_field_schema("fact", NUMBER, "Of the claim."),
                "ratio": make_field_schema("fact", NUMBER, "The file's own alpha over it."),
            }
        ),
        instance=make_object_schema(
            {
                "guesses": make_field_schema(
                    "choice",
                    make_list_schema(INTEGER),
                    "--guesses, or a reservation if not the usual.",
                ),
                "shares": make_field_schema(
                    "choice", make_list_schema(NUMBER), "Those of the guesses."
                ),
                "correct": make_field_schema("fact", make_list_schema(INTEGER), counted),
                "sha256": make_field_schema(
                    "fact", BITS, "Of the scores; without --scores not seen."
                ),
            }
        ),
    )


def _of_counts(kind: str, instance: Mapping[str, Any]) -> dict[str, Any]:
    return _make_certificate_schema(
        kind,
        make_field_schema("fact", {"const": kind}, "No installed claim's name."),
        _THEIRS,
        make_field_schema("label", TEXT, "What the two sides are."),
        parameters=make_object_schema(_AT_CONFIDENCE),
        quantities=make_object_schema(
            {"ratio": make_field_schema("fact", NUMBER, "At the file's own alpha.")}
        ),
        instance=make_object_schema(instance),
    )


_ROWS_COUNTED = make_field_schema(
    "fact",
    make_list_schema(make_list_schema(INTEGER)),
    "Hits and runs of one side, and of the other.",
)
_OF_FILES = "As the files have it, with --outputs."
_UNUSUAL = "A reservation, if unusual."
_OUTPUTS = {
    "rows": _ROWS_COUNTED,
    "sha256": make_field_schema("fact", make_list_schema(TEXT), _OF_FILES),
}
_OUTPUTS["outputs"] = make_field_schema("fact", make_list_schema(INTEGER), _OF_FILES)
_OUTPUTS["ignore"] = make_field_schema("choice", make_list_schema(TEXT), _UNUSUAL)
_OUTPUTS |= {name: make_field_schema("choice", NUMBER, _UNUSUAL) for name in ("seed", "confidence")}
