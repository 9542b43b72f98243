"""What a notebook shows of results and of progress: marked up for all readers, and harmless."""

import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit
from dpaudit import notebook
from dpaudit.execution.executor import Executor, Silent


def noisy_sum(values, trials, rng):
    return values.sum() + rng.laplace(scale=0.5, size=trials)


def other_sum(values, rng):
    return values.sum() + rng.laplace(scale=0.5)


ZEROS, ONE = np.array([0.0, 0.0]), np.array([1.0, 0.0])
VOID = {"br", "img", "use", "path", "rect", "line", "circle", "polyline", "input"}


@pytest.fixture(scope="module")
def shown():
    """Return the HTML of every kind of result."""
    audit = dpaudit.audit(noisy_sum, ZEROS, ONE, epsilon=1.0, trials=500)
    replay = dpaudit.replay(other_sum, ZEROS, ONE, epsilon=1.0)
    account = dpaudit.account("gaussian", noise_scale=5.0, count=25)
    return {
        "audit": audit._repr_html_(),
        "replay": replay._repr_html_(),
        "account": account._repr_html_(),
    }


class Reader(HTMLParser):
    """Reads a piece, and holds it to what stands in a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("kind", ["audit", "replay", "account"])
def test_a_piece_is_whole_named_and_without_script(shown, kind):
    read = Reader(shown[kind])
    tags = [tag for tag, _ in read.tags]
    assert "script" not in tags
    assert tags.count("table") == tags.count("caption") > 0
    heads = [given for tag, given in read.tags if tag == "th"]
    assert {given.get("scope") for given in heads} == {"col", "row"}
    assert all(given.get("aria-label") for tag, given in read.tags if tag == "svg")
    assert not any(name.startswith("on") for _, given in read.tags for name in given)
    assert len(shown[kind]) < 30_000


def test_pieces_say_what_was_found(shown):
    assert "noisy_sum: refuted" in shown["audit"]
    assert "at least 1." in shown["audit"]
    assert "other_sum: refuted" in shown["replay"]
    assert "rng.laplace" in shown["replay"] or "laplace" in shown["replay"]
    assert ">4.37718<" in shown["account"]
    assert ">4.37717<" in shown["account"]  # the bracket's lower end, rounded down


def test_what_names_a_mechanism_is_no_markup():
    hostile = "<img src=x onerror=alert(1)>\u202e"
    noisy_sum_of_theirs = type(noisy_sum)(noisy_sum.__code__, globals(), hostile)
    found = dpaudit.audit(noisy_sum_of_theirs, ZEROS, ONE, epsilon=1.0, trials=200)
    assert "<img" not in found._repr_html_()
    assert "\u202e" not in found._repr_html_()
    assert "<b>" not in notebook.render_notebook_table("<b>", ["<b>"], [["<b>", "<b>"]])


# Progress


class Display:
    """Takes down what is displayed."""

    def __init__(self):
        self.said = []

    def __call__(self, shown, raw, display_id):
        self.said.append(shown["text/html"])
        return SimpleNamespace(update=lambda shown, raw: self.said.append(shown["text/html"]))


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test turns."""
    hand = SimpleNamespace(now=0.0)
    monkeypatch.setattr(notebook, "monotonic", lambda: hand.now)
    return hand


def test_a_bar_is_shown_after_a_second_and_goes_away(clock):
    display = Display()
    bar = notebook.NotebookBar(display)
    bar.start("certifying", 1000)
    bar.advance(100)
    assert display.said == []
    clock.now = 2.0
    bar.advance(300)
    (said,) = display.said
    assert "certifying: 400 of 1,000, about 3 s left" in said
    assert '<progress max="1000" value="400">' in said
    clock.now = 2.1
    bar.advance(100)  # too soon
    assert len(display.said) == 1
    bar.advance(500)
    assert display.said[1:] == [""]


def test_a_short_stage_shows_nothing(clock):
    display = Display()
    bar = notebook.NotebookBar(display)
    bar.start("selecting", 10)
    bar.advance(10)
    assert display.said == []


def test_only_a_kernel_has_a_bar(monkeypatch):
    assert isinstance(Executor().progress, Silent)
    for kernel, kind in ((None, Silent), (object(), notebook.NotebookBar)):
        shell = SimpleNamespace(kernel=kernel)
        library = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        library.display = SimpleNamespace(display=Display())
        monkeypatch.setitem(sys.modules, "IPython", library)
        assert isinstance(Executor().progress, kind)
