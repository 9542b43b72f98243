"""Accountants that are installed beside dpaudit; `make packages` has the others."""

import pytest

from dpaudit.scan.accountants.cards import ACCOUNTANTS, get_accountant_card
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part
from dpaudit.scan.accountants.page import render_accountant_markdown
from dpaudit.scan.accountants.scan import scan_accountant

MODULES = {
    "dp-accounting": "dp_accounting",
    "prv-accountant": "prv_accountant",
    "autodp": "autodp",
    "riskcal": "riskcal",
}
QUESTIONS = (
    AccountantQuestion((make_release_part("gaussian", 2.0, count=4),)),
    AccountantQuestion((make_release_part("laplace", 4.0, count=3),)),
    AccountantQuestion((make_release_part("sampled", 0.1, 1.0),), "renyi", 8.0),
)
# (accountant, question, method): answers that this project has long quoted as wrong.
WRONG = (
    (
        "dp-accounting",
        AccountantQuestion((make_release_part("response", 0.1, count=100),)),
        "PLDAccountant",
    ),
    (
        "prv-accountant",
        AccountantQuestion((make_release_part("pure", 1.0, count=100),)),
        "PRVAccountant",
    ),
)


def installed(name):
    reason = f"{name} is not among the pins: make packages scans it in its own environment"
    pytest.importorskip(MODULES[name], reason=reason)
    return get_accountant_card(name)


@pytest.mark.parametrize("name", MODULES)
def test_an_installed_accountant_answers(name):
    found = scan_accountant(installed(name), questions=QUESTIONS)
    assert found.answers >= 1
    assert not found.unconfirmed


@pytest.mark.parametrize(("name", "question", "method"), WRONG, ids=lambda x: str(x)[:40])
def test_a_known_wrong_answer_is_found(name, question, method):
    found = scan_accountant(installed(name), questions=[question])
    groups = [group for group in found.violations if group.method == method]
    assert [group.verdict for group in groups] == ["under"]
    assert groups[0].examples[0].true_delta > 1e-3
    assert groups[0].threads
    assert method in render_accountant_markdown(found)


def test_every_card_has_a_module_and_says_where_an_answer_is_documented():
    for name, card in ACCOUNTANTS.items():
        assert card.name == name
        text = card.module.read_text(encoding="utf-8")
        for method in card.methods:
            assert f'"{method.name}":' in text
            assert len(method.where) > 20
