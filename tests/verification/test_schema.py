"""Every field of every kind of certificate has a role, and what is a choice is the reader's."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.refutation.inequality import Kind
from dpaudit.verification import judge, read
from dpaudit.verification.schema import ROLES, certificate_schema

REPORTS = Path(__file__).parents[2] / "reports"
SCHEMA = certificate_schema()
BY_KIND = {one["title"]: one for one in SCHEMA["oneOf"]}


def leaves(schema, path=()):
    """Yield every place that a value may stand in, with its schema."""
    if "x-role" in schema:
        yield path, schema
        return
    inside = {**schema.get("properties", {})}
    inside |= {"items": schema["items"]} if "items" in schema else {}
    if isinstance(schema.get("additionalProperties"), dict):
        inside["any"] = schema["additionalProperties"]
    assert inside or schema.get("properties") == {}, path
    for name, one in inside.items():
        yield from leaves(one, (*path, name))


def test_every_kind_that_is_written_has_a_schema_and_every_field_a_role():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(BY_KIND) == set(Kind.__args__)
    for kind, schema in BY_KIND.items():
        for path, field in leaves(schema):
            assert field["x-role"] in ROLES, (kind, path)
            assert field["description"].endswith("."), (kind, path)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", sorted(path.parent.name for path in REPORTS.glob("*/cert*.json")))
def test_every_published_certificate_is_of_it(name):
    content = json.loads((REPORTS / name / "certificate.json").read_text())
    for document in content if isinstance(content, list) else [content]:
        jsonschema.validate(document, BY_KIND[document["kind"]])
        jsonschema.validate(document, SCHEMA)


def leaky(data, rng):
    return {"sum": sum(data) + rng.laplace(scale=0.1), "at": 7}


@pytest.mark.parametrize("ignore", [(), ("at",)])
def test_the_certificate_of_a_mechanism_is_of_it(ignore):
    """As an audit writes it today, whatever it leaves out."""
    found = dpaudit.audit(
        leaky, [1.0, 0.0], [0.0, 0.0], epsilon=1.0, trials=600, relation="replace-record",
        ignore=ignore, isolation=Isolation(in_process=True),
    )  # fmt: skip
    written = found.certificate.document()
    assert written["instance"]["reading"]["ignore"] == list(ignore)
    jsonschema.validate(written, BY_KIND["mechanism"])
    written["instance"]["reading"]["alpha"] = 0.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written, BY_KIND["mechanism"])


def test_what_a_reader_chooses_is_named_a_choice():
    choices = {
        (kind, path[-1])
        for kind, schema in BY_KIND.items()
        for path, field in leaves(schema)
        if field["x-role"] == "choice"
    }
    named = {kind: {name for one, name in choices if one == kind} for kind in BY_KIND}
    assert named["canaries"] == {"alpha", "design", "guesses", "shares"}
    own = {"confidence", "seed", "relation", "declared", "form", "ignore", "fresh"}
    assert own <= named["mechanism"]
    assert {"relation", "declared", "form", "read", "observe"} <= named["replay"]
    assert {"confidence", "seed", "data_path"} == named["statistical"]


def test_the_command_prints_it(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["schema", "certificate"])
    assert json.loads(capsys.readouterr().out) == SCHEMA


@pytest.mark.parametrize("tolerance", [1e-6, 1e-30])
def test_a_tolerance_that_the_file_chose_is_a_reservation(tolerance):
    (document, *_) = read(REPORTS / "zhang2018-theorem31" / "certificate.json")
    assert judge._other_choices(document.claim, document.parameters) == ()
    changed = replace(document, parameters={**document.parameters, "tolerance": tolerance})
    (told,) = judge._other_choices(changed.claim, changed.parameters)
    assert told == f"tolerance = {tolerance} is the file's choice, and 0.01 is usual"
    assert told in judge.verify(changed).reservations


@pytest.mark.parametrize(("name", "value"), [("cosine", 0.99), ("participates", False)])
def test_what_counts_as_found_is_no_file_s_choice(name, value):
    (document, *_) = read(REPORTS / "zhang2018-appendixE" / "certificate.json")
    given = document.instance["settings"]["parameters"]
    assert judge._other_choices(document.claim, given) == ()
    (told,) = judge._other_choices(document.claim, given | {name: value})
    assert told.startswith(f"{name} = {value!r} is the file's choice")
