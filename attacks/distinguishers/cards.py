"""Attacks: facts that an observer can find out, one module each, and their cards."""

from dpaudit.extension.distinguisher import Distinguisher

__all__ = ["COLUMN_SPACE", "LIKELIHOOD_RATIO", "LINEAR_CLASSIFIER"]

LIKELIHOOD_RATIO = Distinguisher(
    name="likelihood-ratio",
    statement="scores an output by its exact privacy loss: the most powerful test there is",
    threat_model=(
        "knows the algorithm, its law and both datasets; sees one output; wants to know which "
        "dataset produced it"
    ),
    needs_law=True,
    fit="dpaudit.attacks.distinguishers.likelihood_ratio:fit",
)

LINEAR_CLASSIFIER = Distinguisher(
    name="linear-classifier",
    statement="logistic regression on the output's entries and, when few, their squares",
    threat_model=(
        "can run the mechanism on both datasets but knows nothing about it; sees one output; "
        "wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.linear_classifier:fit",
)

COLUMN_SPACE = Distinguisher(
    name="column-space",
    statement="scores messages of ADMM sharing by the column space they lie in: D's or D''s",
    threat_model=(
        "knows both designs and whose columns are whose, not the noise; sees the messages of the "
        "party whose column differs; wants to know which dataset produced them"
    ),
    needs_law=False,
    fit="dpaudit.attacks.distinguishers.column_space:fit",
    default=False,
)
