"""Files that nobody would write in earnest: refused in one line, and nothing runs."""

import pytest

from dpaudit.deployments.documents import LARGEST, read_entries
from dpaudit.deployments.numerals import read_numeral
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
