"""Drafts of issues: exact, complete, and for their owner's eyes."""

import stat

from dpaudit.scan.publication.disclosure import render_issue_draft, write_drafts
from dpaudit.scan.publication.known_findings import PackageNotes, Thread

from .samples import finding, scan

THREAD = Thread(
    subject="tools.*", event="NaN", title="missing values", url=["https://example.org/80"]
)


def test_a_draft_says_what_maintainers_need():
    one = finding("tools.alpha")
    text = render_issue_draft(one, scan(one), [THREAD])
    for word in (
        "version 1.0",
        "1-DP",
        "docstring of it, first paragraph",
        "no statement of which datasets are neighbours",
        "0 of 4321 outputs on the first and in 4321 of 4321 on the second",
        "[0.0, float('nan')]",
        "epsilon is at least 5.43 ",
        "import toy",
        "seen in 0 of 20 outputs",
        "Python 3.11.2",
        "https://example.org/80",
    ):
        assert word in " ".join(text.split()), word
    assert text.startswith("# tools.alpha: epsilon is at least 5.43 on one pair")


def test_a_bound_is_never_rounded_up():
    one = finding("tools.alpha", lower=5.4399)
    assert "5.44" not in render_issue_draft(one, scan(one))


def test_drafts_are_numbered_and_private(tmp_path):
    findings = (finding("tools.alpha"), finding("models.gamma", reproduction=None))
    paths = write_drafts(scan(*findings), tmp_path / "disclosure", PackageNotes(thread=[THREAD]))
    assert [one.name for one in paths] == ["toy-1.0-1.md", "toy-1.0-2.md"]
    assert (tmp_path / "disclosure" / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in paths)
    first, second = (one.read_text(encoding="utf-8") for one in paths)
    assert "https://example.org/80" in first
    assert "https://example.org/80" not in second
    assert "To reproduce" not in second


def test_nothing_is_written_where_nothing_was_found(tmp_path):
    assert write_drafts(scan(), tmp_path / "disclosure") == []
    assert not (tmp_path / "disclosure").exists()


def test_hostile_words_stay_words():
    one = finding("tools.alpha", "a\x1b[2J\n# heading", reproduction="```\nprint(1)\n")
    text = render_issue_draft(one, scan(one))
    assert "\x1b" not in text
    assert "\n# heading" not in text
    assert "````python" in text


def test_a_confidence_is_never_rounded_up():
    one = finding("tools.alpha").model_copy(update={"confidence": 0.99999999999})
    assert " 0.9999999999 confidence" in " ".join(render_issue_draft(one, scan(one)).split())
