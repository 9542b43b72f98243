"""Files that nobody would write in earnest: refused in one line, and nothing runs."""

import json
import math

import pytest
from ruamel.yaml import YAML

from dpaudit.deployments.documents import LARGEST, read_entries
from dpaudit.deployments.facts import RecordFacts
from dpaudit.deployments.judgement import make_judgement
from dpaudit.deployments.numerals import read_numeral
from dpaudit.deployments.publishing import write_accounts
from dpaudit.deployments.reading import read_facts
from dpaudit.errors import DataError

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
)
REFUSED = {
    "aliases that unfold": (".yaml", BOMB, "unfold|more than"),
    "an alias of itself": (".yaml", "a: &a\n  b: *a\n", "deep|unfold|damaged"),
    "more bytes than a record has": (".yaml", "a: " + "x" * LARGEST, "bytes"),
    "too deep in brackets": (".yaml", "a: " + "[" * 5000, "deep|valid|damaged"),
    "much too deep": (".yaml", "a: " + "[" * (LARGEST - 10), "deep"),
    "many values": (".yaml", "a:\n" + "- x\n" * 40000, "more than"),
    "too deep in keys": (
        ".yaml",
        "".join(f"{' ' * n}a:\n" for n in range(60)) + " " * 60 + "b",
        "deep",
    ),
    "too deep in JSON": (".json", '{"a":' * 5000 + "1" + "}" * 5000, "deep|valid"),
    "a key twice": (".yaml", "epsilon: 1\nepsilon: 2\n", "line 2.*repeated"),
    "a key twice in JSON": (".json", '{"epsilon": 1, "epsilon": 2}', "repeated"),
    "a key twice in TOML": (".toml", "epsilon = 1\nepsilon = 2\n", "valid TOML"),
    "a tab": (".yaml", "epsilon:\n\tvalue: 1\n", "line 2"),
    "no text": (".yaml", b"\xff\xfe\x00", "UTF-8"),
    "nothing": (".yaml", "", "empty"),
    "a list": (".yaml", "- 1\n- 2\n", "no keys"),
    "no statement": (".yaml", "name: a cake\nflour: 200\n", "no statement of privacy"),
    "half of it": (".json", '{"epsilon": ', "line 1"),
    "two documents": (".yaml", "epsilon: 1\n---\nepsilon: 2\n", "valid"),
    "a key that is a list": (".yaml", "? [a, b]\n: 1\n", "key"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_file_is_refused_in_one_line(name, tmp_path):
    suffix, content, said = REFUSED[name]
    path = tmp_path / f"record{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=said) as refused:
        read_facts(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(("wide", "refused"), [(20, False), (30, True)])
def test_aliases_are_counted_before_anything_is_unfolded(wide, refused, tmp_path, monkeypatch):
    """Nothing is built of a bomb, so that no time limit has to end it."""
    path = tmp_path / "record.yaml"
    listed = f"a: &a [{', '.join(['x'] * wide)}]\n"
    for name, before in zip("bcd", "abc", strict=True):
        times = 1 if name == "d" else wide
        listed += f"{name}: &{name} [{', '.join(['*' + before] * times)}]\n"
    path.write_text(listed)
    if not refused:
        with pytest.raises(DataError, match="holds more than"):
            read_entries(path)
        return
    monkeypatch.setattr(YAML, "compose", lambda *given: pytest.fail("it was built"))
    with pytest.raises(DataError, match="its aliases unfold too far"):
        read_entries(path)


def test_an_alias_of_a_record_is_read(tmp_path):
    path = tmp_path / "record.yaml"
    path.write_text("a: &a {epsilon: 1}\nb: *a\n")
    assert [one.path for one in read_entries(path)] == ["a.epsilon", "b.epsilon"]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_facts(tmp_path / "none.yaml")


def test_no_tag_builds_anything(tmp_path):
    path = tmp_path / "record.yaml"
    path.write_text("epsilon: !!python/object/apply:os.system ['touch here']\nrho: !!int '0.5'\n")
    assert [(one.path, one.text) for one in read_entries(path)] == [
        ("epsilon.0", "touch here"),
        ("rho", "0.5"),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-5", 1e-5),
        ("1E-5", 1e-5),
        ("10^{-5}", 1e-5),
        ("10^-5", 1e-5),
        ("10⁻⁵", 1e-5),
        ("2 × 10^-5", 2e-5),
        ("2x10^{-5}", 2e-5),
        ("2 \\cdot 10^{-5}", 2e-5),
        ("ln 3", 1.0986122886681098),
        ("ln(3)", 1.0986122886681098),
        ("2 ln 3", 2.1972245773362196),
        ("1/3", 1 / 3),
        ("1,000.5", 1000.5),
        ("25%", 0.25),
        (".5", 0.5),
        ("-1", -1.0),
        ("1_000", None),
        ("1:30", None),
        ("2026-01-01", None),
        ("one", None),
        ("n^{-2}", None),
        ("1e-99999", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_they_are_written(written, value):
    found = read_numeral(written)
    assert (None if found is None else found.value) == (
        value if value is None else pytest.approx(value, rel=1e-12)
    )


@pytest.mark.parametrize("written", ["inf", ".inf", "∞", "Infinity", "infinite"])
def test_infinity_has_many_spellings(written):
    assert read_numeral(written).value == float("inf")


def test_a_range_keeps_both_ends():
    found = read_numeral("2-4")
    assert (found.least, found.value) == (2.0, 4.0)


def test_strange_keys_and_values_end_in_a_verdict_or_one_line(tmp_path):
    values = [
        "",
        "yes",
        "2026-01-01",
        "0x10",
        "1e400",
        "-0",
        "nan",
        "1e-400",
        "ε",
        "[]",
        "{}",
        "9" * 300,
    ]
    for value in values:
        path = tmp_path / "record.yaml"
        path.write_text(f"variant: pure\nepsilon: {value}\nmechanism: Laplace\nscale: {value}\n")
        facts = read_facts(path)
        assert facts.variants == ["pure"]


def write_statement(folder, text):
    path = folder / "record.yaml"
    path.write_text(f"variant: pure\nepsilon: 1\nstatement: '{text}'\n")
    return path


def test_a_text_full_of_numbers_is_refused_at_once(tmp_path):
    with pytest.raises(DataError, match="states 15000 numbers"):
        read_facts(write_statement(tmp_path, "epsilon = 1, " * 15000))


def test_a_sum_without_end_is_read_at_once(tmp_path):
    assert read_facts(write_statement(tmp_path, "1 + " * 5000)).variants == ["pure"]


def judge(folder, content, suffix=".yaml"):
    path = folder / f"record{suffix}"
    path.write_text(content)
    return make_judgement(read_facts(path))


_NINES = "9" * 5000
_NOISE = "mechanism: Gaussian noise\n"
_RESPONSE = "mechanism: randomised response\n"
OUT_OF_RANGE = {
    "a power of a billion digits": (
        "composition: total epsilon 1 + 1e999999999 = 5.\n",
        "equation",
    ),
    "a sum beyond doubles": ("composition: total epsilon 1 + 1 = 1e500.\n", "equation"),
    "a product beyond doubles": ("composition: total epsilon 1e300 * 1e300 = 5.\n", "equation"),
    "a division by 0": ("composition: total epsilon 1 / 0 = 5.\n", "equation"),
    "an exponent of 5000 digits": (f"delta: 1e{_NINES}\n", "formula"),
    "a power of 5000 digits": (f"delta: 10^{_NINES}\n", "formula"),
    "no sensitivity": (_NOISE + "delta: 1e-5\nsensitivity: 0\nsigma: 2\n", "noise-range"),
    "a large shift": (_NOISE + "rho: 1\nsensitivity: 1e200\nsigma: 1e-3\n", "gaussian-rho"),
    "endless categories": (_RESPONSE + "flip_probability: .3\ncategories: inf\n", "response"),
    "days beyond doubles": (
        "composition: epsilon of 0.1 per day for 1e400 days.\n",
        "total-epsilon",
    ),
    "a large epsilon beside rho": ("variant: pure\nrho: 1\n", "rho-without-delta"),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_numbers_out_of_range_cannot_be_said(name, tmp_path):
    content, code = OUT_OF_RANGE[name]
    epsilon = "1e200" if "large epsilon" in name else "1"
    judgement = judge(tmp_path, f"epsilon: {epsilon}\n{content}")
    assert judgement.verdict == "cannot be said"
    assert code in [one.code for one in judgement.reasons], judgement.checks


def test_a_large_mu_is_judged(tmp_path):
    judgement = judge(tmp_path, "mu: 1e200\nepsilon: 1\ndelta: 1e-5\nrho: 3\n")
    assert judgement.verdict == "does not"


@pytest.mark.parametrize("name", ["../evil", "..\\evil", "/evil", "C:evil", "a\0b"])
def test_an_account_is_written_into_its_folder_alone(name, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    judgement = make_judgement(RecordFacts(record=name))
    with pytest.raises(DataError, match=r"facts\.record"):
        write_accounts([judgement], inner)
    assert [*tmp_path.iterdir()] == [inner]
    write_accounts([make_judgement(RecordFacts(record="mine.v2"))], inner)
    assert [one.name for one in inner.iterdir()] == ["mine.v2.json"]


def test_parts_are_composed_with_their_deltas(tmp_path):
    """40 parts have 5.894 at delta 5e-3 if they are pure, and 6.824 with a delta of 1e-4 each."""
    parts = "parts:\n" + "".join(
        f"- name: t{n}\n  epsilon: 0.3\n  delta: 1e-4\n" for n in range(40)
    )
    verdicts = [
        judge(tmp_path, f"epsilon: {total}\ndelta: 0.005\n{each}").verdict
        for total, each in ((6.3, parts), (6.83, parts), (6.3, parts.replace("1e-4", "0")))
    ]
    assert verdicts == ["does not", "agrees", "agrees"]


def test_the_command_of_a_rho_has_every_copy(tmp_path):
    judgement = judge(tmp_path, "rho: 6\ncomposition: rho of 0.1 per day for 60 days.\n")
    (total,) = [one for one in judgement.checks if one.code == "total-rho"]
    (group,) = json.loads(total.command.split("group=")[1].rstrip("'"))
    (release,) = group["release"]
    assert release == {"kind": "zero-concentrated", "rho": 0.1, "count": 60}


def test_a_likely_lie_has_the_arithmetic_of_its_epsilon(tmp_path):
    judgement = judge(tmp_path, _RESPONSE + "epsilon: 0.85\nflip_probability: 0.7\n")
    (found,) = [one for one in judgement.checks if one.code == "response"]
    assert "ln(0.7 / (0.3 x 1)) = 0.847298" in found.words
    assert found.computed == pytest.approx(math.log(0.7 / 0.3))


def test_a_number_of_toml_is_not_quoted(tmp_path):
    path = tmp_path / "record.toml"
    path.write_text('epsilon = 1.50\ndelta = "1e-5"\n')
    assert [(one.text, one.quoted) for one in read_entries(path)] == [
        ("1.50", False),
        ("1e-5", True),
    ]
