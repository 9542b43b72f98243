"""The page of the recursions, which ``python -m tests.examples.recursions`` writes from modules."""

import ast
import inspect
from types import FunctionType, ModuleType

from tests.examples.pages import ROOT, parts
from tests.own_examples import load_example

MODULES = ROOT / "examples" / "recursions"
PAGE = ROOT / "docs" / "recursions.md"
# From averaging over decentralised learning and ADMM to streams.
ORDER = (
    "gossip",
    "gossip_time_varying",
    "push_sum",
    "dsgd",
    "gradient_tracking",
    "extra",
    "consensus_admm",
    "admm_sharing",
    "multistep_admm",
    "pdmm",
    "federated_averaging",
    "secure_sums",
    "noisy_momentum",
    "dp_ftrl",
    "band_mf",
    "sliding_windows",
)
STATED = {"SOURCE", "PRIVATE", "CHANGES", "MU"}
OPENING = """\
# Sixteen published recursions: who learns how much, exactly

Functions of private numbers and a generator, in plain numpy, as one writes down a published
algorithm: linear in the private numbers and in Gaussian noise. Each returns what every observer
sees, by the observer's name, and `dpaudit.views` [reads it as it is](#read-by-dpauditviews).

What an observer learns is one number, mu, at every epsilon; "infinite" is an observer from whom
noise hides nothing. Every mu here is checked three ways: against dense linear algebra on impulses,
against a closed form where the text of a recursion gives one, and against a million runs.

| recursion | lines | source | what changes | mu by observer |
|---|---|---|---|---|
"""
CLOSING = """\
## Read by dpaudit.views

With `gossip` from above; `about` is whose number changes, by at most 1:

```python
>>> import dpaudit
>>> found = dpaudit.views(gossip, private=np.zeros(5), about={"leaf 1": 1})
>>> round(found.mu("centre").upper, 9), round(found.mu("leaf 2").upper, 9)
(1.666555894, 0.368880374)
>>> round(found.view("leaf 2").epsilon(1e-5).upper, 6)  # at delta = 1e-5
1.421612

```
"""


def functions(name: str) -> tuple[ModuleType, list[FunctionType]]:
    """Return the functions of a recursion, helpers last, as they stand in its module."""
    module = load_example(f"recursions/{name}")
    return module, [getattr(module, one) for one in module.MU]


def helpers(module: ModuleType) -> list[FunctionType]:
    """Return the private functions of a module."""
    found = inspect.getmembers(module, inspect.isfunction)
    return [one for name, one in found if name.startswith("_")]


def lines(module: ModuleType, function: FunctionType) -> int:
    """Return how many lines a recursion has, those of its helper with it."""
    return sum(len(inspect.getsource(one).splitlines()) for one in [function, *helpers(module)])


def number(mu: float) -> str:
    """Return a mu as the page shows it."""
    return "infinite" if mu == float("inf") else f"{mu:.9f}"


def rows(name: str) -> str:
    """Return the rows of a module: one a recursion and change."""
    module, public = functions(name)
    return "".join(
        f"| `{name}.py:{one.__name__}` | {lines(module, one)} | {module.SOURCE} | {change} | "
        + ", ".join(f"{observer} {number(mu)}" for observer, mu in by_observer.items())
        + " |\n"
        for one in public
        for change, by_observer in module.MU[one.__name__].items()
    )


def section(name: str) -> str:
    """Return what the page says of a module."""
    module, public = functions(name)
    title, text, _ = parts((MODULES / f"{name}.py").read_text(encoding="utf-8"))
    code = "\n\n".join(inspect.getsource(one) for one in [*public, *helpers(module)])
    return f"## {title}\n\n{text}\n\n```python\n{preamble(module)}\n\n{code}```\n"


def preamble(module: ModuleType) -> str:
    """Return the imports of a module, and the public constants that its functions use."""
    source = inspect.getsource(module)
    imports, constants = "", ""
    for one in ast.parse(source).body:
        line = f"{ast.get_source_segment(source, one)}\n"
        if isinstance(one, ast.Import | ast.ImportFrom):
            imports += "\n" * (bool(imports)) + line
        elif {target.id for target in getattr(one, "targets", ())} - STATED:
            constants += line
    return imports + "\n" * bool(constants) + constants


def page() -> str:
    """Return the page of all recursions."""
    sections = [*map(section, ORDER), CLOSING]
    return OPENING + "".join(map(rows, ORDER)) + "\n" + "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
