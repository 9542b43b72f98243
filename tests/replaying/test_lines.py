"""Which line a replay names: the user's own, whatever installed package drew the noise."""

import sys

import numpy as np

INSTALLED = """
def noisy(value, rng):
    return value + rng.laplace(scale=1.0)
"""
OWN = """
import drawing_package

def release(data, rng):
    total = data.sum()
    return drawing_package.noisy(total, rng)
"""


def test_no_line_of_an_installed_package_is_named(tmp_path, monkeypatch, replay_here):
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "drawing_package.py").write_text(INSTALLED)
    (tmp_path / "own_release.py").write_text(OWN)
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(tmp_path)
    import own_release

    pair = np.array([0.0, 8.0]), np.array([0.0, 0.0])
    found = replay_here(own_release.release, *pair, epsilon=1.0)
    assert found.verdict == "refuted"
    named = [one.place for one in (*found.calls, *found.findings) if one.place]
    assert named
    assert {place.split(":")[0] for place in named} == {"own_release.py"}
    assert named[0] == "own_release.py:6 in release"
    alone = replay_here(sys.modules["drawing_package"].noisy, 8.0, 0.0, epsilon=1.0, **DECLARED)
    assert alone.calls[0].place.startswith("drawing_package.py:3")  # there is no other code


DECLARED = {"relation": "declared: one number"}
