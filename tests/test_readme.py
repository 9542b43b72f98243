"""What the README shows is what runs, its picture is the report's, and it stays short."""

import html
import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpaudit.cli.main import main
from dpaudit.execution import importable
from dpaudit.extension.claim import Claim

ROOT = Path(__file__).parents[1]
with importable(ROOT / "tests" / "docs"):
    from blocks import blocks, inside

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
PICTURE = re.compile(r'<svg[^>]*aria-label="([^"]*)"', re.S)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the function of the README as its reader would, as a program."""
    folder = tmp_path_factory.mktemp("readme")
    (block,) = (one for one in blocks(README) if one.file == "average.py")
    (folder / block.file).write_text(block.text)
    done = subprocess.run(
        [sys.executable, block.file], cwd=folder, capture_output=True, text=True, check=True
    )
    return folder, done.stdout


def test_it_is_of_a_readable_length():
    assert len(TEXT.splitlines()) <= 145
    (block,) = (one for one in blocks(README) if one.file == "average.py")
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 12


def test_the_program_prints_what_is_shown(ran):
    (shown,) = (one.text for one in blocks(README) if one.language == "console")
    _, *lines = shown.splitlines()
    said = ran[1].splitlines()
    assert [one for one in lines if one != "..." and one not in said] == []


def test_the_picture_is_that_of_the_report(ran):
    written = (ran[0] / "report" / "report.html").read_text(encoding="utf-8")
    label = PICTURE.search(written)[1]
    picture = (ROOT / "docs" / "pictures" / "average.svg").read_text(encoding="utf-8")
    assert PICTURE.search(picture)[1] == label
    lower = float(re.search(r"at least ([\d.]+)", html.unescape(label))[1])
    assert lower > 1
    assert f"measured at least {int(lower * 10) / 10}: refuted" in TEXT


def test_the_command_on_files_claims_the_same_and_refutes_it(ran, monkeypatch, capsys):
    (words,) = re.findall(r"^    dpaudit (audit average\.py.*)$", TEXT, flags=re.M)
    monkeypatch.chdir(ran[0])
    for name, last in (("ages", 95), ("others", 30)):
        Path(f"{name}.csv").write_text(f"age\n31\n44\n47\n52\n{last}\n")
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(words), "--trials", "500", "--json", "--quiet"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert ended.value.code == 1
    assert (result["claimed"]["epsilon"], result["claimed"]["delta"]) == (1, 0)
    with pytest.raises(SystemExit, match="2"):
        main(shlex.split(words.replace("--neighbour others.csv ", "")))
    assert "or a relation, for a search for the worst neighbour" in capsys.readouterr().err


def test_the_proof_stops_at_the_line_that_is_shown_until_it_is_repaired(
    tmp_path, monkeypatch, capsys
):
    (block,) = (one for one in blocks(README) if one.file == "average.py")
    monkeypatch.chdir(tmp_path)
    (words,) = re.findall(r"^    dpaudit (prove average\.py.*)$", TEXT, flags=re.M)
    (stop,) = re.findall(r"^Before the repair, .* stops at `(.+?)`:$", TEXT, flags=re.M)
    repaired = block.text.replace("ages.mean()", "np.clip(ages, 0, 100).mean()")
    repaired = repaired.replace("scale=widest / len(ages)", "scale=100 / len(ages)")
    for code, status, shown in (
        (block.text, "2", stop),
        (repaired, "0", "proved: the function is (1, 0)-DP"),
    ):
        (tmp_path / block.file).write_text(code)
        with pytest.raises(SystemExit, match=status):
            main(shlex.split(words))
        assert shown in " ".join(capsys.readouterr().out.split())


def test_the_recursion_has_the_numbers_that_are_shown(tmp_path, capsys):
    (block,) = (one for one in blocks(README) if one.file == "gossip.py")
    (tmp_path / block.file).write_text(block.text)
    (words,) = re.findall(r"^    dpaudit (views gossip\.py.*)$", TEXT, flags=re.M)
    with inside(tmp_path), pytest.raises(SystemExit, match="0"):
        main([*shlex.split(words), "--in-process"])
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    found = {row[2].strip(): [cell.strip() for cell in row[3:5]] for row in rows}
    assert f"mu is {found['node 0'][0]} for node 0 and {found['the wire'][0]} on the wire" in TEXT
    assert f"where epsilon is\n{found['the wire'][1]} at delta = 1e-05" in TEXT


def test_its_test_fails_before_the_repair_and_passes_after_it(ran):
    folder, _ = ran
    (test,) = (one for one in blocks(README) if "def test_" in one.text)
    (folder / "test_average.py").write_text(test.text)
    code = (folder / "average.py").read_text()
    failed = _pytest(folder)
    assert failed.returncode == 1
    assert "refuted" in failed.stdout
    clipped, scale = re.findall(r"`(np\.clip.+?)` and `(scale=.+?)`", TEXT)[0]
    repaired = code.replace("ages.mean()", f"{clipped}.mean()")
    repaired = re.sub(r"scale=widest / len\(ages\)", scale, repaired)
    assert repaired.count(scale) == repaired.count(clipped) == 1
    (folder / "average.py").write_text(repaired)
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    assert _pytest(folder).returncode == 0


def _pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_average.py"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_every_command_named_exists():
    pages = [TEXT, *(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))]
    named = set(re.findall(r"^(?:    |\$ )dpaudit (\w+)", "\n".join(pages), flags=re.M))
    assert len(named) > 5
    for command in named:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0


def test_the_home_that_is_shown_is_a_claim():
    page = ROOT / "docs" / "add-a-claim.md"
    (home,) = (one.text for one in blocks(page) if "CLAIM =" in one.text)
    names: dict[str, object] = {"__name__": "my_audit.claims.lemma1"}
    exec(compile(home, "add-a-claim.md", "exec"), names)
    claim = names["CLAIM"]
    assert isinstance(claim, Claim)
    assert claim.parameters().model_dump() == {"records": 10, "factor": 1.0}


def test_the_page_on_python_names_what_is_exported():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for module in ("dpaudit", "dpaudit.testing"):
        names = importlib.import_module(module).__all__
        assert [name for name in names if f"`{module}.{name}`" not in page] == []


def test_what_the_page_on_architecture_names_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:algorithms|attacks|dpaudit|tests)/[\w/.]+)`", page)
    assert len(paths) >= 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
    rooms = {path.name for path in (ROOT / "dpaudit").iterdir() if path.is_dir()}
    assert {room for room in rooms - {"__pycache__"} if room not in page} == set()
