"""Quick blocks of all pages show what runs; they stand for the rest where time is short."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .blocks import WITH_CODE, inside, run
from .quick import quick_blocks


def follow_quick(page: Path) -> Iterator[tuple[str, str | None]]:
    """Run the quick blocks of a page; yield each, and what it shows that does not run."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in quick_blocks(page):
        try:
            run(block, names)
        except (Exception, SystemExit) as error:
            yield block.shown, f"{block.shown}: {type(error).__name__}: {error}"
        else:
            yield block.shown, None


def test_quick_blocks_of_all_pages_show_what_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    found = []
    for number, page in enumerate(WITH_CODE):
        (tmp_path / str(number)).mkdir()
        with inside(tmp_path / str(number)):
            found += follow_quick(page)
    assert [wrong for _, wrong in found if wrong] == []
    assert len(found) > 150, "the rule of what is quick leaves most pages something"


def test_a_quick_block_that_shows_something_else_would_be_seen(tmp_path):
    page = tmp_path / "page.md"
    texts = ("```python\n>>> 1 + 1\n3\n\n```", "```console\n$ dpaudit explain DPA001\nnine\n```")
    page.write_text("\n\n".join(texts) + "\n")
    assert [shown for shown, wrong in follow_quick(page) if wrong] == ["page.md:1", "page.md:7"]


def test_what_draws_is_not_quick_nor_what_needs_it(tmp_path):
    page = tmp_path / "page.md"
    texts = (
        ">>> import dpaudit\n>>> bound = 1.0\n\n",
        ">>> result = dpaudit.audit(print, [1], [2], epsilon=bound)\n\n",
        ">>> result.verdict\n'refuted'\n\n",
        ">>> dpaudit.account('gaussian', noise_scale=bound)\n\n",
    )
    python = "".join(f"```python\n{text}```\n\n" for text in texts)
    shell = "```console\n$ dpaudit list\n$ dpaudit verify report\n```\n"
    page.write_text(f"{python}{shell}<!-- run: slow -->\n{shell}")
    assert [block.text for block in quick_blocks(page)] == [texts[0], texts[3]]
