"""Helpers in other languages: they speak the protocol, and their mechanisms keep their claims."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.errors import InvalidArgument, MechanismError, UnknownName
from dpaudit.programs import Program
from dpaudit.programs.drafting import LANGUAGES, helper_files, write_helper

NEEDS = {"javascript": "node", "java": "javac", "rust": "rustc"}
BUILD = {"javascript": [], "java": ["javac", "Noiser.java"], "rust": ["rustc", "noiser.rs"]}
COMMAND = {"javascript": "node noiser.js", "java": "java Noiser", "rust": "./noiser"}
BOTH = np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0])


@pytest.fixture
def built(language, tmp_path, request):
    """The command of the mechanism that comes with a helper."""
    if shutil.which(NEEDS[language]) is None:
        pytest.skip(f"{NEEDS[language]} is not installed")
    write_helper(language, tmp_path)
    if BUILD[language]:
        subprocess.run(BUILD[language], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_helper_has_sixty_lines_at_most(language):
    helper = next(iter(helper_files(language).values()))
    assert len(helper.splitlines()) <= 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_outputs_follow_from_seeds_and_have_the_law(built, language):
    program = Program(COMMAND[language], folder=built).settled(None)
    assert program.form == "f(data, trials, rng)"
    draws = [program(data, 4000, np.random.default_rng(seed)) for data, seed in zip_seeds()]
    assert np.array_equal(draws[0], draws[1])
    assert np.allclose(draws[0] - draws[2], 1.0)
    assert not np.array_equal(draws[0], draws[3])
    noise = draws[0] - 3
    assert len(np.unique(noise)) == len(noise)
    assert abs(np.abs(noise).mean() - 1) < 0.1  # six standard deviations
    assert abs((noise > 0).mean() - 0.5) < 0.05


def zip_seeds():
    return [(BOTH[0], 5), (BOTH[0], 5), (BOTH[1], 5), (BOTH[0], 6)]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_half_of_the_noise_is_refuted_and_the_whole_is_not(built, language):
    right, broken = (Program(f"{COMMAND[language]} {scale}", folder=built) for scale in (1, 0.5))
    assert dpaudit.audit(right, *BOTH, epsilon=1).verdict == "not refuted"
    found = dpaudit.audit(broken, *BOTH, epsilon=1)
    assert found.verdict == "refuted"
    assert 1.5 < found.measured.lower <= 2
    assert dpaudit.audit(broken, *BOTH, epsilon=2.2).verdict == "not refuted"


NAMED = [{"x1": 3.5, "who": 'a \\" 7 \\\\'}, {"x1": -2e-07, "who": None}]
SUM = {
    "java": (
        "Noiser.java",
        "public class Noiser { public static void main(String[] a) throws Exception {"
        " Dpaudit.serve(true, (records, random) -> java.util.Arrays.toString("
        "Dpaudit.numbers(records))); } }",
    ),
    "rust": (
        "noiser.rs",
        "mod dpaudit; fn main() { dpaudit::serve(true, |records, _| "
        'format!("{:?}", dpaudit::numbers(records))); }',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(SUM))
def test_numbers_of_records_are_none_inside_names_or_texts(language, tmp_path):
    if shutil.which(NEEDS[language]) is None:
        pytest.skip(f"{NEEDS[language]} is not installed")
    write_helper(language, tmp_path)
    name, text = SUM[language]
    (tmp_path / name).write_text(text)
    subprocess.run(BUILD[language], cwd=tmp_path, check=True, capture_output=True)
    asked = [
        {"dataset": "d", "records": NAMED},
        {"draw": 1, "dataset": "d", "request": 1, "seed": 5},
    ]
    ran = subprocess.run(
        COMMAND[language].split(),
        cwd=tmp_path,
        input="".join(json.dumps(one) + "\n" for one in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout.splitlines()[0]) == [3.5, -2e-07]


@pytest.mark.parametrize("language", ["javascript"])
def test_an_error_of_a_mechanism_is_said(built, language):
    helper = 'const { serve } = require("./dpaudit.js"); '
    (built / "fails.js").write_text(helper + 'serve(() => { throw new Error("no column age"); });')
    with pytest.raises(MechanismError, match="answered an error: Error: no column age"):
        Program("node fails.js", folder=built)(BOTH[0], 10)


def test_files_are_written_and_never_over_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["new", "program", "--language", "javascript"])
    assert not ended.value.code
    assert capsys.readouterr().out.split() == ["dpaudit.js", "noiser.js"]
    with pytest.raises(InvalidArgument, match=r"a folder without dpaudit\.js"):
        write_helper("javascript", tmp_path)
    with pytest.raises(UnknownName, match="javascript"):
        helper_files("cobol")
