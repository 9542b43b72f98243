"""The source of a reproduction: a few lines that need the package alone and count an event.

It is made of the subject's own function as its plain module has it, the parameters as defaults of
its arguments, the two datasets, and an event of what it returns
(`dpaudit.scan.certification.events`). What the function uses of its module (imports, constants,
other functions) comes before it. Lines have at most 100 columns; how many there are is for the
caller to judge.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpaudit.errors import InvalidArgument
from dpaudit.scan.certification.events import ONLY_IF_RETURNED, RAISED
from dpaudit.scan.reproduction.literals import format_short_literal
from dpaudit.scan.reproduction.parsing import parse_expression, parse_source

COLUMNS = 100
LINES = 10
_INDENT = "    "
_SUBMODULE = re.compile(r"import \w+(\.\w+)+")


@dataclass(frozen=True, kw_only=True)
class ReproductionContent:
    """All that a reproduction shows.

    Parameters
    ----------
    source
        The text of the plain module.
    function
        The name of the subject's function there.
    parameters
        The setting.
    datasets
        The dataset and its neighbour.
    event
        An expression of ``out``.
    runs
        Outputs on each dataset.
    claimed
        The claim in words.
    """

    source: str
    function: str
    parameters: Mapping[str, Any]
    datasets: tuple[Any, Any]
    event: str
    runs: int
    claimed: str


def render_reproduction_script(shown: ReproductionContent) -> str:
    r"""Return the script, which prints how often its event happened on either dataset.

    Raises
    ------
    InvalidArgument
        The module has no such function.

    Examples
    --------
    >>> source = "def noisy(data, epsilon):\n    return sum(data)"
    >>> shown = ReproductionContent(
    ...     source=source, function="noisy", parameters={"epsilon": 1.0}, datasets=([0.0], [1.0]),
    ...     event="out > 0.5", runs=100, claimed="mu = 1",
    ... )
    >>> print(render_reproduction_script(shown))
    def noisy(data):
        return sum(data)
    <BLANKLINE>
    pair, n = ([0.0], [1.0]), 100
    a, b = (sum(out > 0.5 for out in [noisy(data) for _ in range(n)]) for data in pair)
    print(f"seen in {a} of {n} outputs on the first, {b} of {n} on the second; claimed: mu = 1")
    <BLANKLINE>
    """
    module = _PlainModule(shown.source)
    body = [*_render_subject_function(module, shown), "", *_render_counting_lines(module, shown)]
    head = module.before(shown.function, "\n".join(body))
    return "\n".join([*head, *([""] if head else []), *body]) + "\n"


def lines_of(text: str) -> int:
    """Return how many lines of a script hold anything."""
    return sum(bool(line.strip()) for line in text.splitlines())


def counts_of(printed: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return hits and outputs that a script printed, of both datasets; None if it did not.

    Examples
    --------
    >>> counts_of("seen in 20 of 20 outputs on the first, 0 of 20 on the second; claimed: mu = 1")
    ((20, 0), (20, 20))
    >>> counts_of("seen in 20 of 20 and 0 of 20 outputs; claimed: epsilon = 1")
    ((20, 0), (20, 20))
    """
    counted = r"(\d+) of (\d+) (?:(?:outputs )?on the (?:first|second)|and|outputs)"
    found = re.findall(counted, printed)
    if len(found) != 2:
        return None
    (a, n), (b, m) = found
    return (int(a), int(b)), (int(n), int(m))


class _PlainModule:
    """A plain module, by its statements."""

    def __init__(self, source: str) -> None:
        self.source, self.tree = source, parse_source(source)
        self.functions = {
            one.name: one for one in self.tree.body if isinstance(one, ast.FunctionDef)
        }

    def text(self, node: ast.AST) -> str:
        """Return the source of a statement, without comments and blank lines."""
        lines = (ast.get_source_segment(self.source, node, padded=True) or "").splitlines()
        kept = [line for line in lines if line.strip() and not line.strip().startswith("#")]
        written, short = textwrap.dedent("\n".join(kept)), ast.unparse(node)
        fits = all(len(line) <= COLUMNS - 2 * len(_INDENT) for line in short.splitlines())
        return short if fits and len(short.splitlines()) < len(kept) else written

    def before(self, name: str, body: str) -> list[str]:
        """Return the lines that a function and the text after it need of the module, in order."""
        used, kept = _find_loaded_names(parse_source(body)), list[str]()
        # Backwards: what a statement uses is known before the statements that define it are
        # reached.
        for node in reversed(self.tree.body):
            if (
                _is_call_statement(node)
                and _find_loaded_names(node) & used
                and name not in _find_loaded_names(node)
            ):
                used |= _find_loaded_names(node)
                kept += reversed(self.text(node).splitlines())
                continue
            defined = _find_defined_names(node) & used
            if not defined or getattr(node, "name", "") == name:
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                kept += _format_used_imports(node, used)
                continue
            used |= _find_loaded_names(node)
            kept += reversed(_without_docstring(self, node))
        kept.reverse()
        kept = _remove_unused_submodules(kept, body)
        if "contextlib" in used and "import contextlib" not in kept:
            kept.insert(0, "import contextlib")
        if "np" in used and not any(line.endswith("numpy as np") for line in kept):
            kept.insert(0, "import numpy as np")
        return kept


def _remove_unused_submodules(lines: list[str], body: str) -> list[str]:
    """Return lines without imports of submodules that nothing mentions, where others are there."""
    text = "\n".join([*(line for line in lines if not line.startswith("import ")), body])
    dotted = {line: line.removeprefix("import ") for line in lines if _SUBMODULE.fullmatch(line)}
    unused = {line for line, name in dotted.items() if not re.search(rf"\b{name}\b", text)}
    roots = {name.partition(".")[0] for line, name in dotted.items() if line not in unused}
    return [
        line for line in lines if line not in unused or dotted[line].partition(".")[0] not in roots
    ]


def _find_loaded_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _is_call_statement(node: ast.stmt) -> bool:
    """Return whether a statement of a module is a call, such as one that sets an option."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _find_defined_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {one.asname or one.name.partition(".")[0] for one in node.names}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return set().union(*(_find_loaded_names(one) for one in targets if one is not None))


def _format_used_imports(node: ast.Import | ast.ImportFrom, used: set[str]) -> list[str]:
    """Return an import of the used names, one line."""
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return []
    names = [one for one in node.names if (one.asname or one.name.partition(".")[0]) in used]
    if isinstance(node, ast.Import):
        return [ast.unparse(ast.Import(names=[one])) for one in reversed(names)]
    kept = ast.ImportFrom(module=node.module, names=names, level=node.level)
    return [ast.unparse(kept)] if names else []


def _without_docstring(module: _PlainModule, node: ast.AST) -> list[str]:
    """Return the lines of a definition, or of another statement, without its docstring."""
    if not isinstance(node, ast.FunctionDef) or ast.get_docstring(node) is None:
        return module.text(node).splitlines()
    head = module.text(node).splitlines()
    first = next(one for one, line in enumerate(head) if line.lstrip().startswith(('"""', "'''")))
    return [*head[:first], *_body_lines(module, node)]


def _body_lines(module: _PlainModule, node: ast.FunctionDef, indent: str = _INDENT) -> list[str]:
    """Return the lines of a function's statements, without its docstring."""
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    lines = [line for one in statements for line in module.text(one).splitlines()]
    return [indent + line for line in lines]


def _render_subject_function(module: _PlainModule, shown: ReproductionContent) -> list[str]:
    """Return the subject's function, with the setting as defaults of its arguments."""
    node = module.functions.get(shown.function)
    if node is None:
        raise InvalidArgument("function", shown.function, "a function of the plain module")
    fixed = _SettingWriter.of(node, shown)
    body = fixed.body if fixed.changed else _body_lines(module, node, "")
    used = _find_loaded_names(
        parse_source("\n".join(["def f():", *(_INDENT + line for line in body)]))
    )
    data, *arguments = _list_argument_names(node)
    given = [_format_argument_default(name, shown.parameters) for name in arguments if name in used]
    lines = _wrap_statement(f"def {node.name}({', '.join([data, *given])}):")
    if (name := _only_raises(shown.event)) is not None:
        inner = [2 * _INDENT + line for line in body]
        return [*lines, f"{_INDENT}with contextlib.suppress({name}):", *inner]
    if not _is_about_exceptions(shown.event):
        return [*lines, *(_INDENT + line for line in body)]
    inner = [2 * _INDENT + line for line in body]
    caught = [f"{_INDENT}except Exception as error:", f"{2 * _INDENT}return error"]
    return [*lines, f"{_INDENT}try:", *inner, *caught]


def _list_argument_names(node: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]


class _SettingWriter(ast.NodeTransformer):
    """Writes a setting into a function: its ``**parameters``, and names of attributes.

    Of a dict that is returned, the parts stay that the event asks for.
    """

    def __init__(self, node: ast.FunctionDef, shown: ReproductionContent) -> None:
        named = _list_argument_names(node)
        self.keywords = None if node.args.kwarg is None else node.args.kwarg.arg
        self.rest = {name: one for name, one in shown.parameters.items() if name not in named}
        self.texts = {name: one for name, one in shown.parameters.items() if isinstance(one, str)}
        self.event, self.changed = shown.event, False
        self.body: list[str] = []

    @classmethod
    def of(cls, node: ast.FunctionDef, shown: ReproductionContent) -> _SettingWriter:
        """Return the rewriting of a function, done."""
        made = cls(node, shown)
        statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
        # The transformer edits nodes in place, and the module's own tree is read again for
        # other parts.
        copies = [parse_source(ast.unparse(one)).body[0] for one in statements]
        for one in copies:
            rewritten = ast.fix_missing_locations(made.visit(one))
            made.body += [
                line
                for text in ast.unparse(rewritten).splitlines()
                for line in _wrap_inner_line(text)
            ]
        return made

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Write keywords for ``**parameters``, and an attribute for ``getattr`` of a text."""
        self.generic_visit(node)
        found = list[ast.keyword]()
        for one in node.keywords:
            if one.arg is None and self._is_keywords(one.value):
                self.changed = True
                found += [
                    ast.keyword(name, _parse_literal_node(value))
                    for name, value in self.rest.items()
                ]
            else:
                found.append(one)
        node.keywords = found
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Name(id=name)]):
                if str(self.texts.get(name, "")).isidentifier():
                    self.changed = True
                    return ast.Attribute(value, self.texts[name], ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Write the dict of keywords where it is used as one."""
        if node.id == self.keywords and isinstance(node.ctx, ast.Load):
            self.changed = True
            return _parse_literal_node(self.rest)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Leave out parts of a returned dict that the event does not ask for."""
        if isinstance(node.value, ast.Dict) and (asked := _keys_of(self.event)):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            kept = [
                (key, value)
                for key, value in pairs
                if isinstance(key, ast.Constant) and key.value in asked
            ]
            if len(kept) == len(asked) < len(node.value.keys):
                self.changed = True
                node.value = ast.Dict([key for key, _ in kept], [value for _, value in kept])
        self.generic_visit(node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Leave ``**parameters`` to the call that has it."""
        if node.arg is None and self._is_keywords(node.value):
            return node
        self.generic_visit(node)
        return node

    def _is_keywords(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.keywords


def _parse_literal_node(value: Any) -> ast.expr:
    return parse_expression(format_short_literal(value))


def _keys_of(event: str) -> set[str]:
    """Return the keys of ``out`` that an event asks for, none if it asks for more than keys."""
    keys = re.findall(r"\bout\['([^']+)'\]", event)
    return set(keys) if len(keys) == len(re.findall(r"\bout\b", event)) else set()


def _wrap_inner_line(line: str) -> list[str]:
    """Return a line of unparsed code on lines that are short enough within a function."""
    return _wrap_statement(line, COLUMNS - 2 * len(_INDENT))


def _only_raises(event: str) -> str | None:
    """Return the exception of Python's own that an event is about, if that is all it is about."""
    name = event.removeprefix(f"{RAISED} == ").removeprefix(f"{RAISED} != ").strip("'")
    kind = getattr(builtins, name, None)
    return name if isinstance(kind, type) and issubclass(kind, Exception) else None


def _format_argument_default(name: str, parameters: Mapping[str, Any]) -> str:
    if name == "rng":
        return "rng=np.random.default_rng()"
    if name == "trials":
        return "trials=1"
    return (
        f"{name}={format_short_literal(parameters[name])}" if name in parameters else f"{name}=None"
    )


def _is_about_exceptions(event: str) -> bool:
    """Return whether an event is about exceptions too."""
    return RAISED in event or ONLY_IF_RETURNED in event or "str(out)" in event


def _render_counting_lines(module: _PlainModule, shown: ReproductionContent) -> list[str]:
    """Return the lines that draw outputs, count the event and print."""
    node = module.functions[shown.function]
    by_trials = "trials" in _list_argument_names(node)
    name, draws = shown.function, f"[{shown.function}(data) for _ in range(n)]"
    if by_trials:
        draws = f"{name}(data, trials=n)"
        if _is_about_exceptions(shown.event):
            draws = f"[{name}(data) for _ in range(n)]"
    event = shown.event
    if _only_raises(event) is not None:  # then the function returns nothing
        event = "out is None" if "==" in event else "out is not None"
    counted = [f"a, b = (sum({event} for out in {draws}) for data in pair)"]
    if len(counted[0]) > COLUMNS:
        counted = [
            *_wrap_statement(f"outs = [{draws} for data in pair]"),
            *_wrap_statement(f"a, b = (sum({event} for out in side) for side in outs)"),
        ]
    return [
        *_render_pair_lines(shown.datasets, shown.runs),
        *counted,
        *_render_print_lines(shown.claimed),
    ]


def _render_print_lines(claimed: str) -> list[str]:
    """Return the lines that print the counts, and the claim."""
    counted = "{a} of {n} outputs on the first, {b} of {n} on the second"
    for shorter in (counted, "{a} of {n} and {b} of {n} outputs"):
        together = f'print(f"seen in {shorter}; claimed: {claimed}")'
        if len(together) <= COLUMNS:
            return [together]
    return [f'print(f"seen in {counted}")', *_wrap_statement(f'print("claimed: {claimed}")')]


def _render_pair_lines(datasets: tuple[Any, Any], runs: int) -> list[str]:
    """Return the lines that state the two datasets and the number of outputs."""
    first, second = map(format_short_literal, datasets)
    together = f"pair, n = ({first}, {second}), {runs}"
    if len(together) <= COLUMNS:
        return [together]
    shorter = _format_neighbour_edit(*datasets)
    lines = [*_wrap_statement(f"a = {first}"), f"pair, n = (a, {shorter or second}), {runs}"]
    return [*lines[:-1], *_wrap_statement(lines[-1])]


def _format_neighbour_edit(dataset: Any, neighbour: Any) -> str | None:
    """Return the neighbour as an edit of the dataset ``a``, where that is short."""
    if not (isinstance(dataset, list) and isinstance(neighbour, list)):
        return None
    a, b = format_short_literal(dataset), format_short_literal(neighbour)
    if len(neighbour) == len(dataset) + 1 and format_short_literal(neighbour[:-1]) == a:
        return f"a + [{format_short_literal(neighbour[-1])}]"
    if len(neighbour) == len(dataset) - 1 and format_short_literal(dataset[:-1]) == b:
        return "a[:-1]"
    if len(neighbour) == len(dataset) and format_short_literal(
        neighbour[:-1]
    ) == format_short_literal(dataset[:-1]):
        return f"a[:-1] + [{format_short_literal(neighbour[-1])}]"
    return None


def _wrap_statement(line: str, columns: int = COLUMNS) -> list[str]:
    """Return a statement with brackets on lines that are short enough, if it can be parted."""
    if len(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    parted = textwrap.wrap(
        line,
        columns,
        subsequent_indent=indent + 2 * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    # A wrapper of text knows no strings: a line that is broken within one would be another
    # program.
    return parted if _says_the_same("\n".join(parted), line) else [line]


def _says_the_same(one: str, other: str) -> bool:
    """Return whether two texts are the same code; a text may end in a colon."""
    try:
        trees = [
            ast.dump(parse_source(text.strip() + (" pass" if text.endswith(":") else "")))
            for text in (one, other)
        ]
    except SyntaxError:
        return False
    return trees[0] == trees[1]
