"""Synthetic accountants: plain modules as other packages would have them, correct and broken."""

import pytest

from dpaudit.scan.accountants.asking import ask_in_environment
from dpaudit.scan.accountants.card import AccountantCard, AccountantMethod
from dpaudit.scan.accountants.scan import judge_all

COMMON = """
import math


def cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    return cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


def gaussian_epsilon(mu, delta):
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


def parts(question, *kinds):
    release = question["release"]
    return release if {part["kind"] for part in release} <= set(kinds) else None


def gaussian(question, factor=1.0, counted=True):
    found = parts(question, "gaussian")
    if found is None or question["asks"] not in ("epsilon", "delta", "renyi", "noise"):
        return None
    square = sum((p["count"] if counted else 1) * factor / p["noise"] ** 2 for p in found)
    if question["asks"] == "renyi":
        return question["at"] * square / 2
    if question["asks"] == "delta":
        return gaussian_delta(math.sqrt(square), question["at"])
    if question["asks"] == "epsilon":
        return gaussian_epsilon(math.sqrt(square), question["at"])
    return found[0]["noise"] * math.sqrt(square) / mu_for(question["epsilon"], question["at"])


def mu_for(epsilon, delta):
    low, high = 1e-6, 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_epsilon(middle, delta) < epsilon else (low, middle)
    return low


def sampled(question, removed=True):
    found = parts(question, "sampled")
    if found is None or question["asks"] != "delta" or found[0]["count"] != 1:
        return None
    q, s, e = found[0]["ratio"], found[0]["noise"], math.exp(question["at"])
    if removed:
        edge = s * s * math.log((e - 1 + q) / q) + 0.5
        kept = (1 - q - e) * cdf(-edge / s)
        return kept + q * cdf((1 - edge) / s)
    if 1 / e <= 1 - q:
        return 0.0
    edge = s * s * math.log((1 / e - 1 + q) / q) + 0.5
    return cdf(edge / s) - e * ((1 - q) * cdf(edge / s) + q * cdf((edge - 1) / s))


def basic(question, rate=1.0):
    found = parts(question, "pure", "response", "laplace")
    if found is None or question["asks"] != "epsilon":
        return None
    return rate * sum(p["count"] * p.get("epsilon", 1 / p.get("noise", 1)) for p in found)


def spent(question):
    found = parts(question, "pure", "approximate")
    if found is None or question["asks"] != "spent":
        return None
    epsilon = sum(p["count"] * p["epsilon"] for p in found)
    return epsilon, min(1.0, sum(p["count"] * p.get("delta", 0.0) for p in found))
"""


@pytest.fixture
def judgements(tmp_path):
    """Ask a module of a few lines, and judge it."""

    def judged(code, questions, states="upper bound", relation="add-remove-record", seconds=5.0):
        module = tmp_path / "synthetic.py"
        module.write_text(COMMON + code, encoding="utf-8")
        names: dict = {}
        exec(compile(COMMON + code, str(module), "exec"), names)
        methods = tuple(
            AccountantMethod(name=name, states=states, where="here", relation=relation)
            for name in names["METHODS"]
        )
        card = AccountantCard(
            name="synthetic", distribution="synthetic", versions=("1",), home="", methods=methods
        )
        asked = [(method.name, question) for method in methods for question in questions]
        return judge_all(card, ask_in_environment(module, asked, seconds=seconds))

    return judged
