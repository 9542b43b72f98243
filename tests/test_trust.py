"""The page on what is trusted: links lead somewhere, and what is said to run no code runs none.

What is said of records is in ``tests/cli/test_records.py``, of text in ``test_hostile_text.py``.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FORGED = {"format": "dpaudit-certificate", "version": 1, "source": "", "relation": ""}
PLACES = {"data": "csv", "data_path": "bait", "data_options": {"label_column": "x", "path": "bait"}}
CERTIFICATES = {
    "a-claim-that-is-code": FORGED | {"claim": "bait:run", "kind": "sensitivity", "instance": {}},
    "a-claim-of-a-module": FORGED | {"claim": "bait", "kind": "pure-dp", "instance": {}},
    "a-file-of-data": FORGED
    | {"claim": "huang2020-lemma5", "kind": "statistical", "instance": {"settings": PLACES}},
}
WATCHED = """
import sys
touched = []
def heard(event, given):
    if event in ("os.system", "os.exec", "subprocess.Popen", "socket.connect"):
        touched.append(event)
    if event in ("open", "import") and "bait" in str(given[0]):
        touched.append(f"{event} {given[0]}")
sys.addaudithook(heard)
from dpaudit.cli.main import main
try:
    main(["verify", "c.json"])
except SystemExit as ended:
    print(ended.code, touched)
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [one for one in targets if not (page.parent / one).exists()] == []


@pytest.mark.parametrize("given", CERTIFICATES.values(), ids=CERTIFICATES)
def test_a_certificate_runs_no_code_and_opens_no_file(given, tmp_path):
    (tmp_path / "bait.py").write_text("raise SystemExit('ran')\n")
    (tmp_path / "bait").write_text("x\n1\n")
    whole = {"parameters": {}, "quantities": {"bound": 1.0}, "assumptions": []} | given
    (tmp_path / "c.json").write_text(json.dumps(whole))
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "2 []\n"


def test_the_watch_over_certificates_notices_what_is_opened(tmp_path):
    (tmp_path / "bait").write_text("{}")
    script = WATCHED.replace("c.json", "bait")
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "2 ['open bait']\n"
