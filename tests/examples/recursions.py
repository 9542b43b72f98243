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

You have an algorithm in which participants exchange noisy numbers round after round: gossip,
ADMM, federated averaging, DP-FTRL. You want to know what each observer learns about each
participant. One guarantee for everybody says too little: the neighbour who hears every message
learns more than the node at the far end.

This page has sixteen such algorithms as their papers publish them, written as functions in plain
numpy. Each takes private numbers and a generator, is linear in the numbers and in Gaussian noise,
and returns what each observer sees under the observer's name. `dpaudit.views` [reads such a
function as it is](views.md) and proves one number for each observer, mu, that describes the view
at every epsilon.

## The three numbers of one recursion

In the gossip algorithm below, each node of a star averages its number with its neighbours' for
twenty rounds and adds noise to every message. Suppose that its author claims the mu of a single
message, mu = 1, for everybody:

| observer of leaf 1 | claimed | proved | measured, at 95% | verdict |
|---|---|---|---|---|
| the centre | mu = 1 | mu = 1.6666 | mu ≥ 1.43 | **refuted** |
| leaf 2 | mu = 1 | mu = 0.3689 | mu ≥ 0.27 | not refuted |

The centre hears leaf 1 twenty times, so the claim is false there. Leaf 2 hears only what the
centre passes on, and the proof says how much less that is. [The end of this
page](#claimed-proved-measured) has the code of the table.

## All sixteen

`views` proves each mu below, and "infinite" means that noise hides nothing from the observer. The
tests compute every mu again with dense linear algebra, compare it with the closed form of its
section if there is one, and check it against a million outputs.

| recursion | lines | source | what changes | mu by observer |
|---|---|---|---|---|
"""
CLOSING = """\
## Claimed, proved, measured

`views` proves an upper bound for each number of `gossip`. `about` names the participant whose
number changes, by at most 1:

<!-- run: slow -->
```python
>>> import dpaudit
>>> found = dpaudit.views(gossip, private=np.zeros(5), about={"leaf 1": 1})
>>> round(found.mu("centre").upper, 9), round(found.mu("leaf 2").upper, 9)
(1.666555894, 0.368880374)
>>> round(found.view("leaf 2").epsilon(1e-5).upper, 6)  # at delta = 1e-5
1.421612

```

An audit measures what an observer sees: it runs the function 3,000 times on each of two datasets,
which differ in the number of leaf 1.

<!-- run: slow -->
```python
>>> leaf_1 = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
>>> def seen_by(observer):
...     return lambda private, rng: gossip(private, rng)[observer]
>>> claim = dpaudit.GaussianDP(1.0)
>>> results = [
...     dpaudit.audit(seen_by(observer), np.zeros(5), leaf_1, claim=claim, trials=3000)
...     for observer in ("centre", "leaf 2")
... ]
>>> [(result.verdict, int(10 * result.lower) / 10) for result in results]  # rounded down
[('refuted', 1.4), ('not refuted', 0.2)]

```

The proof is about this code and all pairs of numbers at most 1 apart; the measured bound is about
one pair. If a function is not linear, `views` [refuses it](views.md#on-the-command-line),
and only the audit has a number.
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
