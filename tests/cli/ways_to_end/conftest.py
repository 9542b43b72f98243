import os
import signal
import sys

import pytest

from dpaudit.report import render

from .runs import Here


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYS_TO_END", str(os.getpid()))
    # Pictures take most of the time of a report, and have tests of their own.
    monkeypatch.setattr(
        render, "_render_cached_figures", lambda document, index: {"numbers": "<svg></svg>"}
    )
    monkeypatch.setattr(render, "_render_overview_figure", lambda report: None)
    monkeypatch.setattr(
        "dpaudit.selftest.write.draw_selftest_picture", lambda result, kind: b"<svg></svg>"
    )
    # What a suite run in the background ignores, it has to hear of here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    place = Here(tmp_path, monkeypatch, capsys)
    yield place
    signal.signal(signal.SIGINT, before)
    for module in place.made:
        sys.modules.pop(module, None)
