"""Invented records: what is wrong is found with the right number, what is right is not accused."""

import math
from decimal import Decimal

import mpmath as mp
import pytest

from dpaudit.deployments.judgement import make_judgement
from dpaudit.deployments.reading import read_facts
from tests.deployments.invented import OPEN, PLANTED, SOUND, write_record


def judged(folder, content, suffix=".yaml"):
    return make_judgement(read_facts(write_record(folder, content, suffix)))


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_is_found_with_its_number(name, tmp_path):
    code, computed, content = PLANTED[name]
    judgement = judged(tmp_path, content)
    assert judgement.verdict == "does not"
    assert {one.code for one in judgement.discrepancies} == {code}
    if computed is not None:
        (found,) = {one.computed for one in judgement.discrepancies}
        assert found == pytest.approx(computed, rel=1e-4)


@pytest.mark.parametrize("name", SOUND)
def test_what_is_right_is_not_accused(name, tmp_path):
    judgement = judged(tmp_path, SOUND[name])
    assert [one.words for one in judgement.discrepancies + judgement.reasons] == []
    assert judgement.verdict == "agrees"


@pytest.mark.parametrize("name", OPEN)
def test_what_is_open_says_why(name, tmp_path):
    code, content = OPEN[name]
    judgement = judged(tmp_path, content)
    assert judgement.verdict == "cannot be said"
    assert code in {one.code for one in judgement.reasons}


@pytest.mark.parametrize("name", [*PLANTED, *SOUND])
def test_every_number_has_its_line(name, tmp_path):
    content = PLANTED[name][2] if name in PLANTED else SOUND[name]
    lines = content.split("\n")
    facts = read_facts(write_record(tmp_path, content))
    for one in facts.numbers():
        digits = one.written.lstrip("-").split("e")[0].split(" ")[0].replace("^", "")
        assert digits[:2] in lines[one.line - 1].replace("^", "")


# The accountants' numbers, by other means


def gaussian_delta(epsilon, mu):
    low, high = -epsilon / mu - mu / 2, -epsilon / mu + mu / 2
    return mp.ncdf(high) - mp.exp(epsilon) * mp.ncdf(low)


def concentrated_epsilon(rho, delta):
    """Minimise the bound of an order over orders, on a grid."""
    orders = [1 + 10 ** (k / 400) for k in range(-1200, 1600)]
    values = (
        rho * a + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders
    )
    return min(values)


def test_numbers_of_conversions_by_hand(tmp_path):
    record = "variant: zCDP\nrho: {}\nepsilon: {}\ndelta: {}\n"
    for rho, delta in ((0.5, 1e-6), (2.56, 1e-10), (0.0728, 1e-5)):
        (found,) = judged(tmp_path, record.format(rho, 0.01, delta)).discrepancies
        assert found.computed == pytest.approx(concentrated_epsilon(rho, delta), rel=1e-4)
    mu = "variant: GDP\nmu: {}\nepsilon: 0.01\ndelta: {}\n"
    for value, delta in ((1.0, 1e-6), (0.376, 1e-5)):
        (found,) = judged(tmp_path, mu.format(value, delta)).discrepancies
        assert float(gaussian_delta(found.computed, value)) == pytest.approx(delta, rel=1e-5)


def ends(tmp_path, record, places=(0.97, 0.999, 1.001, 1.2)):
    """Return the verdicts of a record whose epsilon is these shares of the true one."""
    return [judged(tmp_path, record(f"{share:.6f}")).verdict for share in places]


@pytest.mark.parametrize(
    "record",
    [
        lambda share: f"mechanism: Laplace\nsensitivity: 3\nscale: 3\nepsilon: {share}\n",
        lambda share: (
            f"variant: pure\nepsilon: {share}\nparts:\n- epsilon: 0.25\n- epsilon: 0.75\n"
        ),
        lambda share: (
            f"mechanism: randomised response\ntruth_probability: 0.7310585786\nepsilon: {share}\n"
        ),
        lambda share: f"mechanism: Gaussian\nsensitivity: 2\nsigma: 2\nrho: {Decimal(share) / 2}\n",
    ],
    ids=["Laplace", "parts", "response", "rho"],
)
def test_less_than_the_arithmetic_does_not_agree_and_more_does(record, tmp_path):
    assert ends(tmp_path, record) == ["does not", "agrees", "agrees", "agrees"]


@pytest.mark.parametrize(
    ("epsilon", "outcomes"),
    [
        ("0.4 per day", ["does not"]),
        ("0.6 per day", ["cannot be said"]),
        ("0.4 per query", ["does not"]),
        ("0.6 per query", ["agrees"]),
    ],
)
def test_noise_is_held_against_the_epsilon_of_a_release_or_a_period(epsilon, outcomes, tmp_path):
    """A day has a release or more: what one of them spends is the least of a day."""
    noise = "mechanism: Laplace\nsensitivity: 1\nscale: 2\n"
    found = judged(tmp_path, f'{noise}epsilon: "{epsilon}"\n')
    assert [one.outcome for one in found.checks if one.code == "laplace"] == outcomes


def test_a_looser_number_is_noted_and_holds(tmp_path):
    judgement = judged(tmp_path, SOUND["looser than Laplace noise"])
    (found,) = [one for one in judgement.checks if one.code == "laplace"]
    assert (found.outcome, found.computed, found.stated) == ("agrees", 0.5, 1.0)


def test_more_people_than_delta_allows_are_a_note_and_no_accusation(tmp_path):
    record = "mechanism: Gaussian\nepsilon: 1\ndelta: 1e-3\npeople: {}\n"
    for people, outcome in ((10_000, "caution"), (100, "agrees")):
        judgement = judged(tmp_path, record.format(people))
        (found,) = [one for one in judgement.checks if one.code == "delta-people"]
        assert (found.outcome, judgement.verdict) == (outcome, "agrees")


def test_json_and_toml_say_the_same_as_yaml(tmp_path):
    same = {
        ".json": '{"variant": "pure",\n\t"epsilon": 1,\n\t"delta": 1e-6}',
        ".toml": 'variant = "pure"\nepsilon = 1\ndelta = 1e-6\n',
        ".yaml": "variant: pure\nepsilon: 1\ndelta: 1e-6\n",
    }
    for suffix, content in same.items():
        judgement = judged(tmp_path, content, suffix)
        assert [one.code for one in judgement.discrepancies] == ["pure-delta"]
        assert [one.line for one in judgement.facts.fields] == [2, 3]


@pytest.mark.parametrize(
    "named", ["flavor: pure DP", "dp_flavor:\n  name: Pure DP", "privacy_definition: pure"]
)
def test_a_pure_variant_is_read_under_each_of_its_names(tmp_path, named):
    judgement = judged(tmp_path, f"{named}\nepsilon: 1\ndelta: 1e-6\n")
    assert [one.code for one in judgement.discrepancies] == ["pure-delta"]
