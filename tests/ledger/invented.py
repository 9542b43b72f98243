"""A paper that nobody wrote, with a row for each kind of evidence, and its checks."""

from fractions import Fraction

from dpaudit.extension.ledger import (
    AuditEvidence,
    Cause,
    Consequence,
    Convention,
    CounterexampleEvidence,
    Finding,
    LedgerRow,
    OpenQuestion,
    Paper,
    ProofEvidence,
)
from dpaudit.ledger.audits import PublishedAudit

HERE = "tests.ledger.invented"
CALLS = []


def squares_are_not_negative():
    """Prove that x^2 >= 0: a product of two numbers of one sign is none below 0."""
    CALLS.append("squares")
    return Finding(left=0, relation="<=", right=Fraction(1, 4), instance="x = -1/2")


def a_third_is_no_bound():
    """Give one party with rho = 3."""
    return Finding(left=Fraction(1, 3), relation="<=", right=Fraction(1, 27), instance="one party")


def proof_with_a_hole():
    """Prove what does not hold on its second instance."""
    return (
        Finding(left=1, relation="=", right=1, instance="t = 1"),
        Finding(left=1, relation="<", right=1, instance="t = 2"),
    )


def undocumented_proof():
    return Finding(left=1, relation="=", right=1)


def failing_check():
    """Fail."""
    raise ArithmeticError("on purpose")


def empty_check():
    """Find nothing."""
    return ()


def check_with_a_word():
    """Return what is no finding."""
    return "fine"


def row(name, evidence, **fields):
    """Return a row; a refuted one has to be given its cause, defence and answer."""
    shared = {"place": f"eq. ({name})", "statement": f"{name} holds", "standing": "proof step"}
    return LedgerRow(name=name, evidence=evidence, **{**shared, **fields})


def fallen(name, evidence, cause="sign", **fields):
    """Return a row that is refuted."""
    said = {"defence": "It was meant otherwise.", "answer": "It is printed so.", "cause": cause}
    return row(name, evidence, **{**said, **fields})


def audit(claim, verdict, standing="claim", variant=None):
    """Return a published audit."""
    return PublishedAudit(
        claim=claim,
        label=claim if variant is None else f"{claim} ({variant})",
        verdict=verdict,
        standing=standing,
        claimed=1.0,
        proved=None,
        lower=2.0,
        unit="steps",
        report=f"{claim}/report.html",
        variant=variant,
    )


AUDITS = {
    "audited": [audit("audited", "refuted"), audit("audited", "proved", variant="small")],
    "tried": [audit("tried", "proved"), audit("tried", "not refuted", variant="large")],
    "standing": [
        audit("standing", "proved"),
        audit("standing", "refuted", standing="variant", variant="stricter"),
    ],
    "asked": [audit("asked", "proved", standing="question")],
}
SIGN = Cause(name="sign", text="A sign is wrong in Lemma 3.", nature="fault")
NOISE = Cause(name="noise", text="The noise is too small.", nature="fault", privacy=True)
INDEX = Cause(name="index", text="m is printed for t.", nature="misprint")
CAUSES = (SIGN, NOISE, INDEX)
ROWS = (
    row("definition", Convention("It defines sensitivity."), standing="definition"),
    row("square", ProofEvidence(f"{HERE}:squares_are_not_negative"), privacy=True),
    row("corollary", Consequence("square", "Take x = 2.")),
    fallen("third", CounterexampleEvidence(f"{HERE}:a_third_is_no_bound")),
    fallen(
        "printed",
        CounterexampleEvidence(f"{HERE}:a_third_is_no_bound"),
        cause="index",
        repair="1/3",
    ),
    row("derived", Consequence("third", "Sum it over t.")),
    row("stronger", Consequence("third", "At t = 1 it is eq. (third).", link="implies")),
    row("abstract", Consequence("third", "The abstract says so.", link="restates")),
    fallen("audited", AuditEvidence("audited"), cause="noise", privacy=True, standing="theorem"),
    row("tried", AuditEvidence("tried"), standing="theorem"),
    row("standing", AuditEvidence("standing"), standing="theorem", privacy=True),
    row("open", OpenQuestion("Nobody found out; a closed form would."), standing="gloss"),
)


def paper(*rows, name="smith2031", causes=CAUSES):
    """Return the paper with these rows, or with one of every kind."""
    return Paper(
        name=name,
        title="An invented method",
        citation="Smith, 2031",
        causes=causes,
        rows=rows or ROWS,
    )
