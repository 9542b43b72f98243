"""A sheet as a page that prints on one side of A4, and as Markdown: both say the same."""

from __future__ import annotations

import re

from dpaudit.escaping import make_printable
from dpaudit.report.render import make_template_environment
from dpaudit.sheet.answers import Sheet


def render_page(sheet: Sheet) -> str:
    """Return a sheet as one HTML page that needs nothing else: no network, no script.

    Every text of a report is escaped, whoever wrote it.
    """
    return make_printable(
        make_template_environment(html=True).get_template("sheet.html.j2").render(sheet=sheet)
    )


def render_text(sheet: Sheet) -> str:
    """Return a sheet as Markdown; its first line is the most important one."""
    text = make_template_environment(html=False).get_template("sheet.md.j2").render(sheet=sheet)
    return re.sub(r"\n{3,}", "\n\n", make_printable(text)).strip("\n") + "\n"
