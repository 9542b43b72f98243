"""How Sphinx makes the site: MyST's Markdown, docstrings in numpy's convention, Furo's pages."""

import re
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "dpaudit"
author = "The dpaudit developers"
version = release = installed("dpaudit")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}

# Links to headings are spelled as GitHub spells them, where the same pages are read, too.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

smartquotes = False  # would turn the two hyphens of an option into a dash

# Docstrings refer to plain names; types stand in signatures.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False
toc_object_entries = False

# Nothing comes from another host, and a search needs no server: a summary of what is found would
# be fetched, which browsers refuse on pages opened from a disk.
html_theme = "furo"
html_title = "dpaudit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_search_summary = False
html_show_sourcelink = False
html_show_copyright = False  # LICENSE says it
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


EMPTY_CELL = re.compile(r'<th class="head[^"]*"><p></p></th>')
EMPTY_HEAD = re.compile(rf"<thead>\s*<tr[^>]*>(?:{EMPTY_CELL.pattern}\s*)+</tr>\s*</thead>")


def reachable(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Let a keyboard reach what scrolls, and say how deep the headings of the navigation are."""
    for part in ("body", "furo_navigation_tree"):
        text = str(context.get(part) or "")
        text = text.replace("<pre>", '<pre tabindex="0">')
        text = text.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
        text = EMPTY_CELL.sub('<td class="head"></td>', EMPTY_HEAD.sub("", text))
        context[part] = text.replace('role="heading"', 'role="heading" aria-level="2"')


SEARCH = '<article role="main" id="furo-main-content">'


def named(app: Sphinx, failure: Exception | None) -> None:
    """Name what a reader of landmarks and headings looks for: both sidebars, and the search."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if page.name == "search.html":
            text = text.replace(SEARCH, f"{SEARCH}<h1>Search</h1>")
        for kind, name in (("sidebar-drawer", "All pages"), ("toc-drawer", "This page")):
            sidebar = f'class="{kind}'
            text = text.replace(f"<aside {sidebar}", f'<aside aria-label="{name}" {sidebar}')
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Take part in the making of each page, after the theme."""
    app.add_lexer("csv", TextLexer)  # pygments has none of its own
    app.connect("html-page-context", reachable, priority=900)
    app.connect("build-finished", named)
