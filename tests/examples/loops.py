"""The page of the loops: ``python -m tests.examples.loops`` writes it from their modules."""

import ast

from tests.examples.pages import ROOT, parts

MODULES = ROOT / "examples" / "loops"
PAGE = ROOT / "docs" / "loops.md"
ORDER = (
    "mean_by_corrections",
    "gradient_descent",
    "stochastic_gradient_descent",
    "consensus_admm",
    "gossip",
    "follow_the_leader",
    "power_iteration",
    "teachers",
    "binary_mechanism",
    "k_means",
)
OPENING = """\
# Ten loops, each with its number

Each loop is a function of data and a generator, in plain numpy, as a researcher writes it. Its text
states the guarantee, the source of the number, a pair of datasets that attains it, and a false
claim. An audit takes any of them as it is:

```python
import dpaudit
from examples.loops.gossip import DATASET, DELTA, FALSE_EPSILON, NEIGHBOUR, gossip

result = dpaudit.audit(gossip, DATASET, NEIGHBOUR, epsilon=FALSE_EPSILON, delta=DELTA)
```

| loop | epsilon | at delta | a false claim |
|---|---|---|---|
"""


def constants(name: str) -> dict[str, float]:
    """Return the numbers that a module states."""
    tree = ast.parse((MODULES / f"{name}.py").read_text(encoding="utf-8"))
    return {
        one.targets[0].id: one.value.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.Constant)
        and isinstance(one.value.value, float)
    }


def section(name: str) -> str:
    """Return what the page says of a loop."""
    title, text, code = parts((MODULES / f"{name}.py").read_text(encoding="utf-8"))
    return f"## {title}\n\n{text}\n\n```python\n{code}\n```\n"


def row(name: str) -> str:
    """Return the row of a loop."""
    said = constants(name)
    epsilon, delta, false = said["EPSILON"], said["DELTA"], said["FALSE_EPSILON"]
    return f"| `examples/loops/{name}.py` | {epsilon:g} | {delta:g} | {false:g} |\n"


def page() -> str:
    """Return the page of all loops."""
    return OPENING + "".join(map(row, ORDER)) + "\n" + "\n".join(map(section, ORDER))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
