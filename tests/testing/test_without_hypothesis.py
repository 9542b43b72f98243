"""Without the extra, one line says what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["dpaudit.testing", "dpaudit.algorithms.testing"])
def test_a_missing_hypothesis_is_named(module):
    code = f"import sys; sys.modules['hypothesis'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "dpaudit.errors.DpauditError: hypothesis: got no installed library, expected version 6.100 "
        "or newer: pip install 'dpaudit[testing]'"
    )
    assert "During handling" not in done.stderr
