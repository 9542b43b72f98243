"""The README's first command, as its target of make has it, on two workers.

In a file of its own: of every file the fast suite runs one test, whatever it takes.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "first" / "average.py"


def test_it_refutes_the_function_of_the_readme_and_proves_its_repair(tmp_path):
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    words = shlex.split(re.search(r"^AUDIT_ARGS[ ?:]*=(.*)$", text, re.MULTILINE)[1])
    words[words.index("--out") + 1] = str(tmp_path / "report")
    command = [sys.executable, "-m", "dpaudit", "audit", *words, "--workers", "2", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "error" not in done.stderr
    first, second = json.loads((tmp_path / "report" / "report.json").read_text())["results"]
    assert (first["verdict"], first["fault"]) == ("refuted", "DPA001")
    assert first["lines"][0]["text"].startswith("return ages.mean() + rng.laplace(")
    assert second["verdict"] == "proved"
    assert (tmp_path / "report" / "report.html").exists()


def test_what_it_audits_first_is_the_function_of_the_readme():
    function = re.search(r"^def average_age.*?\n\n\n", EXAMPLE.read_text(), re.M | re.S)[0]
    assert function in (ROOT / "README.md").read_text(encoding="utf-8")
