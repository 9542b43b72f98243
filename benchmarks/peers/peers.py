"""The other packages: how they are asked, and what their environments are made from."""

from dataclasses import dataclass
from pathlib import Path

from dpaudit.scan import accountants

ASKED = Path(__file__).parent / "asked"
PLAIN = Path(accountants.__file__).parent / "plain"


@dataclass(frozen=True)
class Peer:
    """A package and a file that knows it; of its methods those named are asked."""

    name: str
    requirements: tuple[str, ...]
    file: Path
    methods: tuple[str, ...]
    python: str = ""


ACCOUNTANTS = (
    Peer("dpaudit", (), ASKED / "own_accounting.py", ("proved bracket",)),
    Peer(
        "dp-accounting",
        ("dp-accounting==0.6.0",),
        PLAIN / "dp_accounting.py",
        ("PLDAccountant", "RdpAccountant"),
    ),
    Peer(
        "prv-accountant",
        ("prv-accountant==0.2.0", "setuptools<81"),
        PLAIN / "prv_accountant.py",
        ("PRVAccountant",),
    ),
    Peer(
        "jax-privacy",
        ("jax-privacy==2.0.0",),
        PLAIN / "jax_privacy.py",
        ("PldAccountantConfig",),
    ),
)
_JAX = ("jax-privacy", ("jax-privacy==2.0.0",), ASKED / "jax_auditing.py")
# From scores of independent runs of either kind.
AUDITORS = (
    Peer("dpaudit", (), ASKED / "own_auditing.py", ("audit_outputs",)),
    Peer(*_JAX, ("Clopper-Pearson, split", "Clopper-Pearson, Bonferroni")),
    Peer(
        "privacy-estimates",
        ("privacy-estimates==0.1.0.post1", "pandas"),
        ASKED / "estimates_auditing.py",
        ("Clopper-Pearson", "joint beta"),
    ),
)
# From canaries of one run.
CANARIES = (
    Peer("dpaudit", (), ASKED / "own_auditing.py", ("audit_scores", "audit_scores, f-DP")),
    Peer(*_JAX, ("one run, split", "one run, f-DP, split")),
)
