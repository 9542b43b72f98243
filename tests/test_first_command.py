"""The README's first command, as its target of make has it, on two workers.

In a file of its own: of every file the fast suite runs one test, whatever it takes.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_it_audits_two_published_claims_on_real_records(tmp_path):
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    words = shlex.split(re.search(r"^AUDIT_ARGS[ ?:]*=(.*)$", text, re.MULTILINE)[1])
    words[words.index("--out") + 1] = str(tmp_path / "report")
    command = [sys.executable, "-m", "dpaudit", "audit", *words, "--workers", "2", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr
    assert done.stdout.count("proved") == 2
    assert (tmp_path / "report" / "report.html").exists()
