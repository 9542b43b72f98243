"""Strange input ends as docs/exit-statuses.md says: on one line, and with no unwritten verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STANDING = ("hu2019-lemma2", "zhang2018-section62", "huang2020-theorem4", "tables-theorem2")


@pytest.mark.parametrize(
    ("count", "seed", "which"),
    [
        (25, 1, "quick"),
        pytest.param(75, 1, "quick", marks=pytest.mark.slow),
        pytest.param(10_000, 2, "all", marks=pytest.mark.slow),
        pytest.param(40, 3, "apart", marks=pytest.mark.slow),
    ],
)
def test_strange_input_ends_as_the_page_says(tmp_path, count, seed, which):
    certificates = [str(ROOT / "reports" / name / "certificate.json") for name in STANDING]
    command = [sys.executable, "-m", "tests.cli.fuzz.run", tmp_path, which, str(count), str(seed)]
    environment = os.environ | {
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [*command, *certificates],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
    found = json.loads(done.stdout)
    assert [one for one in found["plain"] if one["status"] != one["expected"] or one["wrong"]] == []
    assert found["wrong"] == []
    assert sum(found["statuses"].values()) == count
    assert len(found["statuses"]) > 10  # of a command, and how it ended
