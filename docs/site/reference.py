"""Reference pages that the code writes: docstrings, the command line, the schemas."""

from __future__ import annotations

import html
import inspect
import json
import re
from importlib import import_module
from typing import Any

import typer
from typer.cli import get_docs_for_click

from dpaudit.cli.main import app
from dpaudit.report.counts import ReportPart
from dpaudit.report.ledger_schema import LedgerDocument
from dpaudit.report.schema import Report, json_schema
from dpaudit.scan.finding import ScanResult
from dpaudit.scan.publication.published_scan import PublishedScan
from dpaudit.spending.document import SpendDocument

NAMES = re.compile(r"^(?:`dpaudit[\w.]*`[, ]*)+$", re.MULTILINE)  # a line of nothing else
SCHEMAS: dict[str, type[ReportPart]] = {
    "report": Report,
    "scan": ScanResult,
    "published-scan": PublishedScan,
    "ledger": LedgerDocument,
    "spend": SpendDocument,
}


def filled(page: str, text: str) -> str:
    """Return a page with its marks, and api's lines of names, replaced by what they stand for."""
    if page == "api":
        names = re.compile(r"`(.+?)`")
        text = NAMES.sub(lambda line: "\n".join(map(documented, names.findall(line[0]))), text)
    text = re.sub(r"^<!-- generated: command line -->$", lambda _: command_line(), text, flags=re.M)
    return re.sub(r"^<!-- generated: schema (\S+) -->$", lambda m: schema(m[1]), text, flags=re.M)


def documented(name: str) -> str:
    """Return the directive that shows the docstring of a public name."""
    home, _, attribute = name.rpartition(".")
    kind = "module" if _is_module(name) else _kind(getattr(import_module(home), attribute))
    hidden = ":exclude-members: model_config, model_post_init"
    options = [":members:", hidden] if kind == "class" else []
    lines = [f".. auto{kind}:: {name}", *(f"   {option}" for option in options)]
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def _is_module(name: str) -> bool:
    try:
        return bool(import_module(name))
    except ModuleNotFoundError:
        return False


def _kind(thing: Any) -> str:
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, Exception) else "class"
    return "function" if callable(thing) else "data"


def command_line() -> str:
    """Return what every command takes, as typer writes it of the application."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="dpaudit", indent=0)
    _, _, commands = text.partition("**Commands**")
    text = commands[commands.index("\n## ") :] if "\n## " in commands else commands
    return html.unescape(text)


def schema(kind: str) -> str:
    """Return the parts of a file as tables: key, type, what it says."""
    document = json_schema(SCHEMAS[kind])
    parts = {document["title"]: document, **document.get("$defs", {})}
    return "\n".join(_table(name, part) for name, part in parts.items())


def _table(name: str, part: dict[str, Any]) -> str:
    about = inspect.cleandoc(part.get("description", "")).partition("\n\n")[0].replace("\n", " ")
    rows = [
        f"| `{key}` | {_type(one)} | {'yes' if key in part.get('required', []) else ''} |"
        for key, one in part.get("properties", {}).items()
    ]
    head = ["", "| key | type | required |", "|---|---|---|"] if rows else []
    return "\n".join([f"### {name}", "", _literal(about), *head, *rows, ""])


def _literal(text: str) -> str:
    return re.sub(r"`{1,2}([^`]+)`{1,2}", r"`\1`", text).replace("<", "&lt;")


def _type(one: dict[str, Any]) -> str:
    if "$ref" in one:
        return one["$ref"].rpartition("/")[2]
    if "anyOf" in one:
        return " or ".join(_type(each) for each in one["anyOf"])
    if "const" in one or "enum" in one:
        values = one.get("enum", [one.get("const")])
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    kind = str(one.get("type", "anything"))
    if kind == "array":
        items = one.get("items") or {}
        return f"array of {_type(items)}" if items else "array"
    if kind == "object" and isinstance(one.get("additionalProperties"), dict):
        return f"object of {_type(one['additionalProperties'])}"
    return kind
