"""Which audit answers what is asked about the claims on joined tables."""

from __future__ import annotations

import dpaudit._validate as check
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.tables.claims.labels import label_case
from dpaudit.algorithms.tables.claims.model import model_case
from dpaudit.algorithms.tables.claims.parameters import FeatureParameters, LabelParameters
from dpaudit.algorithms.tables.claims.server import server_case
from dpaudit.extension.case import PrivacyCase, SearchCase
from dpaudit.extension.settings import Settings


def theorem1(settings: Settings, parameters: LabelParameters) -> SearchCase:
    """Return the audit of Theorem 1: a search over labels and outputs.

    Raises
    ------
    InvalidArgument
        Data are asked for, or epsilon is 0.

    Examples
    --------
    >>> case = theorem1(Settings(epsilon=2.0), LabelParameters())
    >>> case.bound, case.at_delta
    (2.0, 0.0)
    """
    refuse_data(settings, "the audit makes its own")
    check.positive("epsilon", settings.epsilon)
    return label_case(settings, parameters)


def theorem2(settings: Settings, parameters: FeatureParameters) -> PrivacyCase | SearchCase:
    """Return the audit of Theorem 2 in the view that the parameters name.

    Raises
    ------
    InvalidArgument
        Data are asked for, or an argument does not fit the view.

    Examples
    --------
    >>> theorem2(Settings(), FeatureParameters()).bound
    1.0
    >>> case = theorem2(Settings(), FeatureParameters(view="model", joined=40))
    >>> round(case.proved.guarantee.epsilon(1e-5), 3)
    25.798
    """
    refuse_data(settings, "the audit makes its own")
    check.positive("epsilon", settings.epsilon)
    check.probability("delta", settings.delta)
    return (server_case if parameters.view == "server" else model_case)(settings, parameters)
