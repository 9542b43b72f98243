"""Fields that several kinds of certificates have, as pieces of their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
MAYBE_INTEGER = {"type": ["integer", "null"]}
ANYTHING: dict[str, Any] = {}
BITS = {"type": "string", "pattern": "^[0-9a-f]*$"}


def make_field_schema(role: str, kind: Mapping[str, Any], words: str) -> dict[str, Any]:
    """Return the schema of a field, with its role and its description."""
    return {**kind, "x-role": role, "description": words}


def make_object_schema(
    fields: Mapping[str, Any], *, others: Mapping[str, Any] | bool = False, required: bool = True
) -> dict[str, Any]:
    """Return the schema of an object; its other properties are described, or it has none."""
    found = {"type": "object", "properties": dict(fields), "additionalProperties": others}
    return found | ({"required": list(fields)} if required else {})


def make_list_schema(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


ASSUMPTIONS = make_list_schema(
    make_object_schema(
        {
            "name": make_field_schema(
                "fact", TEXT, "An assumption of the claim, each of which is there."
            ),
            "value": make_field_schema("fact", NUMBER, "Its number on this instance."),
            "limit": make_field_schema(
                "fact", NUMBER, "What that may be at most, as the verifier has it."
            ),
        }
    )
)
SEARCH = make_object_schema({}, others=make_field_schema("label", INTEGER, "How it was found."))
SETTINGS = make_object_schema(
    {
        "epsilon": make_field_schema("statement", NUMBER, "Of the guarantee that is claimed."),
        "delta": make_field_schema("statement", NUMBER, "Of the guarantee that is claimed."),
        "data": make_field_schema("statement", TEXT, "An installed dataset, or the worst case."),
        "data_options": make_field_schema("statement", {"type": "object"}, "Of that dataset's "
                                                                            "loader."),
        "data_path": make_field_schema("choice", MAYBE_TEXT, "Where its files are: --data-path."),
        "parameters": make_field_schema(
            "statement", {"type": "object"}, "Public ones; where one decides what counts, a "
            "reservation names it.",
        ),
        "confidence": make_field_schema("choice", NUMBER, "--confidence, or 0.999999."),
        "seed": make_field_schema("choice", INTEGER, "Of fresh draws: --seed, or the system's "
                                                       "entropy."),
        "trials": make_field_schema("pointer", MAYBE_INTEGER, "How many are drawn."),
        "unit": make_field_schema("pointer", MAYBE_INTEGER, "How many in one call."),
        "estimator": make_field_schema("pointer", TEXT, "What certifies."),
        "attack": make_field_schema("pointer", MAYBE_TEXT, "The only distinguisher, if there "
                                                             "is one."),
        "doubles": make_field_schema("pointer", TEXT, "Whether lowest bits may refute."),
        "until_refuted": make_field_schema("pointer", {"type": "boolean"}, "Whether bets are "
                                                                            "placed."),
        "candidate_pairs": make_field_schema("pointer", MAYBE_INTEGER, "Among which the worst "
                                                                         "is sought."),
        "looks": make_field_schema("pointer", {"type": "array"}, "Trials and share of each look."),
        "time": make_field_schema("pointer", {"type": "null"}, "None: looks stand in its place."),
    },
    required=False,
)  # fmt: skip
CLAIMED = make_object_schema(
    {
        name: make_field_schema("statement", kind, "What is claimed; printed with the verdict.")
        for name, kind in {
            "epsilon": NUMBER, "delta": NUMBER, "mu": NUMBER, "rho": NUMBER,
            "renyi": make_list_schema(NUMBER), "curve": {"type": "array"},
        }.items()
    },
    required=False,
)  # fmt: skip
READING = make_object_schema(
    {
        name: make_field_schema("choice", kind, f"Has to be what the reader says: --{name}.")
        for name, kind in {
            "form": MAYBE_TEXT,
            "read": {"type": ["array", "null"]},
            "observe": make_list_schema(TEXT),
            "ignore": make_list_schema(TEXT),
            "fresh": MAYBE_TEXT,
        }.items()
    }
) | {"required": ["form", "read", "observe"]}  # fmt: skip
MECHANISM = make_object_schema(
    {
        "reference": make_field_schema("label", MAYBE_TEXT, "Where it was; the reader names one."),
        "sha256": make_field_schema("fact", BITS, "Of its code."),
    },
    others=make_field_schema("label", ANYTHING, "Of its file."),
)
MADE = make_object_schema(
    {
        "domain": make_field_schema(
            "statement", {"type": "object"}, "What datasets may be, of two that a search made; "
            "printed with the verdict, and either has to be one of it.",
        ),
        "dataset": make_field_schema("fact", {"type": "array"}, "The units of one, as its hash "
                                                                 "has it."),
        "neighbour": make_field_schema("fact", {"type": "array"}, "The units of the other."),
        "user": make_field_schema("fact", MAYBE_TEXT, "The column of users, of a domain that "
                                                        "has some."),
    }
)  # fmt: skip
PAIR = {
    **make_object_schema(
        {
            "salt": make_field_schema("fact", BITS, "The random bits that both hashes begin with."),
            "dataset": make_field_schema("fact", BITS, "The hash of one."),
            "neighbour": make_field_schema("fact", BITS, "The hash of the other."),
            "declared": make_field_schema(
                "choice", MAYBE_TEXT, "The relation of the pair, where none can be checked: "
                "that of --relation, or a reservation with the number of records that differ.",
            ),
            "data": make_field_schema(
                "fact", {"type": "array"}, "The two, where records are shown or nobody's."
            ),
            "made": MADE,
        },
        required=False,
    ),
    "required": ["salt", "dataset", "neighbour"],
}  # fmt: skip
EVENT = make_object_schema(
    {
        "kind": make_field_schema("pointer", {"enum": ["all of", "sum", "equal"]}, "Of event."),
        "favours": make_field_schema(
            "pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."
        ),
        "conditions": make_list_schema(
            make_object_schema(
                {
                    "place": make_field_schema("pointer", INTEGER, "Which number of the output."),
                    "above": make_field_schema(
                        "pointer", {"type": "boolean"}, "On which side of it."
                    ),
                    "steps": make_field_schema(
                        "pointer", NUMBER, "Of the threshold, in units of noise."
                    ),
                    "draws": make_field_schema(
                        "pointer", {"type": "array"}, "Of either side's noise."
                    ),
                    "posts": make_field_schema(
                        "pointer", make_list_schema(TEXT), "How it was rounded."
                    ),
                }
            )
        ),
    }
)
COUNTED = make_object_schema(
    {
        "what": make_field_schema(
            "pointer", {"enum": ["structure", "text", "number"]}, "What is compared."
        ),
        "favours": make_field_schema(
            "pointer", {"enum": ["dataset", "neighbour"]}, "Where it is likelier."
        ),
        "place": make_field_schema("pointer", INTEGER, "Which of the output's."),
    }
)
DECLARED = make_object_schema(
    {"draw": make_field_schema("pointer", TEXT, "Of the call that declares.")}
)
EVIDENCE = make_object_schema(
    {"event": EVENT, "counted": COUNTED, "declared": DECLARED}, required=False
) | {"minProperties": 1, "maxProperties": 1}
COUNTS = make_object_schema(
    {
        "bound": make_field_schema("fact", NUMBER, "What is claimed, in the claim's own unit."),
        "value": make_field_schema(
            "label", NUMBER, "What its own seed gave; --reproduce compares it."
        ),
        "ratio": make_field_schema(
            "label", NUMBER, "What its own seed gave; --reproduce compares it."
        ),
    },
    others=make_field_schema("label", NUMBER, "A count of its own seed; --reproduce compares it."),
    required=False,
) | {"required": ["bound"]}
CONFIDENCE = make_object_schema(
    {"confidence": make_field_schema("choice", NUMBER, "--confidence, or 0.999999.")}
)
