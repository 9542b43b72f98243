"""The page of a kind of fault: as Markdown for the documentation, and its essentials as text."""

from __future__ import annotations

from collections.abc import Iterable

from dpaudit.faults.catalogue import Fault

_INTRODUCTION = """\
If the evidence for a finding decides its kind, the finding carries one of these codes: at the
terminal, in reports and replays (`fault`), SARIF (`ruleId`), JUnit, annotations and the failures of
pytest. The meaning of a code never changes. `dpaudit explain DPA001` shows the essentials at the
terminal; with `DPAUDIT_DOCS=https://...` findings link to the pages of a site that you host."""


def page_of(fault: Fault, printed: str | None = None) -> str:
    """Return the page of a kind of fault as Markdown.

    Parameters
    ----------
    fault
        The kind.
    printed
        What the command prints on the broken function; left out if None.
    """
    shown = f"$ {fault.command}\n{printed}" if printed else f"$ {fault.command}\n"
    mark = (
        [] if fault.needs is None else [f"<!-- run: elsewhere, because it needs {fault.needs} -->"]
    )
    parts = [
        f"# {fault.code}: {fault.title}",
        fault.why,
        "## Broken",
        *_render_fault_files(fault, mark),
        "## How it is found",
        fault.finding,
        "<!-- run: elsewhere, because the tests of kinds of fault run it -->",
        _render_code_block("console", shown),
        "## Repaired",
        fault.cure,
        *mark,
        _render_code_block("python", fault.repaired),
        *_format_other_faults(fault),
        "All kinds: [the list](index.md).",
    ]
    return "\n\n".join(parts) + "\n"


def format_fault_essentials(fault: Fault) -> str:
    """Return the essentials of a kind of fault as plain text.

    Examples
    --------
    >>> from dpaudit.faults.catalogue import fault_of
    >>> print(format_fault_essentials(fault_of("DPA001")).splitlines()[0])
    DPA001: noise scaled by the data
    """
    parts = [
        f"{fault.code}: {fault.title}",
        fault.why,
        "Broken:",
        _format_indented(fault.broken),
        f"Found: {fault.finding}",
        _format_indented(fault.command),
        f"What to do: {fault.cure}",
        _format_indented(fault.repaired),
        *_format_other_faults(fault),
        *([] if fault.address is None else [fault.address]),
    ]
    return "\n\n".join(parts)


def index_of(faults: Iterable[Fault]) -> str:
    """Return the page that lists all kinds of fault, and the other names of each."""
    rows = [
        f"| [{one.code}]({one.code}.md) | {one.title} | {'; '.join(one.also)} | {one.cure} |"
        for one in faults
    ]
    return (
        "\n".join(
            [
                "# Kinds of fault",
                "",
                _INTRODUCTION,
                "",
                "| code | what is wrong | also | what to do |",
                "|---|---|---|---|",
                *rows,
            ]
        )
        + "\n"
    )


def _format_other_faults(fault: Fault) -> list[str]:
    return [f"Also under this code: {'; '.join(fault.also)}."] if fault.also else []


def _render_fault_files(fault: Fault, mark: list[str]) -> list[str]:
    """Return the broken function and the files of its command, after the modules it imports."""
    files = {"release.py": fault.broken, **fault.files}
    modules = [name for name in fault.files if name.endswith(".py")]
    parts = list[str]()
    # Modules that the broken function imports come first, so that a reader who saves the blocks
    # in order can run it.
    for name in dict.fromkeys([*modules, *files]):
        parts.append(f"{'and' if parts else 'Save'} this as `{name}`:")
        parts += mark if name == "release.py" else []
        parts.append(_render_code_block(_language_of(name), files[name]))
    return parts


def _language_of(name: str) -> str:
    suffix = name.rpartition(".")[2]
    return "python" if suffix == "py" else suffix


def _render_code_block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _format_indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().splitlines())
