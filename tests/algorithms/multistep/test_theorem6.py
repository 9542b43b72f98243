"""The audit of Theorem 6 against its closed form: the issue's own numbers, both kinds of audit."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.theorem6 import Deployment, prepare_theorem6_audit
from dpaudit.algorithms.problems.losses import LOSSES
from dpaudit.auditing import audit_case, audit_claim
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.laws.steps import GaussianSteps
from dpaudit.neighbours import Side

THEOREM_6 = "huang2020-theorem6"
SHORT = {"nodes": 2, "iterations": 2, "inner_steps": 2}  # the worst case's epsilon is the same
DEPLOYED = {"iterations": 2, "inner_steps": 2}


@cache
def audited(epsilon, delta):
    """Return the worst case's audit on a short run; several tests look at one."""
    settings = Settings(epsilon=epsilon, delta=delta, trials=1000, parameters=SHORT)
    return audit_claim(THEOREM_6, settings)


def deployed(**parameters):
    settings = Settings(data="breast-cancer", trials=500, parameters=DEPLOYED | parameters)
    return audit_claim(THEOREM_6, settings)


def broken_audit(change, *, epsilon=1.0, trials=300, parameters=SHORT):
    """Return the audit of a short run whose case was changed."""
    settings = Settings(epsilon=epsilon, trials=trials)
    case = change(prepare_theorem6_audit(settings, Deployment(**parameters)))
    return audit_case(case, settings, statement=CLAIMS.get(THEOREM_6), rerun="rerun")


def with_law(law):
    """Return the change that puts another law in the place of the mechanism's."""
    return lambda case: replace(case, mechanism=law(case.mechanism.process))


def exact(epsilon, delta):
    from dpaudit.guarantees.kinds import GaussianDP

    return GaussianDP(epsilon / math.sqrt(2 * math.log(1.25 / delta))).epsilon(delta)


@pytest.mark.slow
def test_worst_case_at_claimed_one_lies_in_the_required_interval():
    result = audit_claim(THEOREM_6, Settings(epsilon=1.0, delta=1e-5, trials=10_000))
    assert result.verdict == "proved"
    assert 0.735 <= result.measured.lower <= 0.7509769569 <= result.measured.upper <= 0.765
    assert result.proved.epsilon == pytest.approx(0.7509769569, rel=1e-9)


@pytest.mark.slow
def test_worst_case_at_claimed_twenty_is_refuted():
    result = audit_claim(THEOREM_6, Settings(epsilon=20.0, delta=1e-5, trials=10_000))
    assert result.verdict == "refuted"
    assert 25.2 <= result.measured.lower <= 25.4426105667 <= result.measured.upper


CASES = [(epsilon, delta) for delta in (1e-5, 1e-10) for epsilon in (1.0, 8.0, 20.0)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (8.0, 1e-5), (20.0, 1e-10)])
def test_worst_case_interval_is_sound_and_close(epsilon, delta):
    check_sound_and_close(audited(epsilon, delta), exact(epsilon, delta))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_worst_case_interval_is_sound_and_close_at_full_size(epsilon, delta):
    settings = Settings(epsilon=epsilon, delta=delta, trials=2000, seed=3)
    check_sound_and_close(audit_claim(THEOREM_6, settings), exact(epsilon, delta))


def check_sound_and_close(result, truth):
    assert result.measured.lower <= truth <= result.measured.upper
    assert result.proved.epsilon == pytest.approx(truth, rel=1e-9)
    assert result.verdict == ("refuted" if truth > result.claimed.epsilon else "proved")
    assert result.measured.lower >= 0.985 * truth
    assert result.measured.upper <= 1.015 * truth
    assert all(check.passed for check in result.self_checks)
    assert all(check.holds for check in result.assumptions)
    assert sum(entry.alpha for entry in result.budget) == pytest.approx(0.05)


def test_the_note_names_the_epsilon_at_which_the_theorem_turns_false():
    result = audited(1.0, 1e-5)
    assert exact(8.4198, 1e-5) == pytest.approx(8.4198, abs=1e-4)
    assert any("up to epsilon = 8.4198" in note for note in result.notes)


def test_deployment_on_real_records_has_a_lower_end_near_its_estimate_and_no_upper_end():
    measured = deployed().measured
    assert 0.95 * measured.estimate <= measured.lower <= measured.estimate
    assert measured.upper is None
    assert "the shift depends on the iterate" in measured.upper_note
    assert measured.estimate < measured.pair_ceiling <= 0.751


def test_deployment_with_the_linear_loss_has_both_ends_around_the_pair_s_exact_value():
    measured = deployed(loss="linear").measured
    assert measured.lower <= measured.pair_ceiling <= measured.upper
    assert measured.upper - measured.lower < 0.05 * measured.upper


@pytest.mark.slow
def test_event_bound_never_passes_the_exact_loss_interval():
    event = audit_claim(THEOREM_6, Settings(epsilon=8.0, trials=2000, estimator="event"))
    exact_loss = audited(8.0, 1e-5)  # of a shorter run, which has the same epsilon
    assert 0.35 * exact_loss.measured.lower < event.measured.lower < exact_loss.measured.upper
    assert event.measured.upper is None
    assert "likelihood-ratio" in event.measured.estimator


@pytest.mark.slow
def test_one_seed_gives_one_result_for_any_workers_and_chunks():
    settings = Settings(trials=1000, parameters=SHORT)  # four blocks
    apart = audit_claim(THEOREM_6, settings, Executor(workers=2))
    assert apart == audited(1.0, 1e-5)
    other = audit_claim(THEOREM_6, replace(settings, seed=1), Executor())
    assert other.measured != apart.measured


@pytest.mark.slow
def test_one_seed_gives_one_result_for_any_workers_and_chunks_at_full_size():
    settings = Settings(data="breast-cancer", trials=1500, parameters={"iterations": 2})
    results = [
        audit_claim(THEOREM_6, settings, Executor(workers=workers, worth=-1.0))
        for workers, chunk in ((1, 1), (2, 1), (2, 3), (1, 100))
    ]
    assert all(result == results[0] for result in results[1:])
    other = audit_claim(THEOREM_6, replace(settings, seed=1))
    assert other.measured != results[0].measured


@pytest.mark.parametrize("parameters", [{"view": "broadcast"}, {"batch_size": 1}], ids=str)
def test_stochastic_and_broadcast_views_have_no_law_but_an_event_bound(parameters):
    asked = Settings(epsilon=20, trials=300, parameters=SHORT | parameters)
    result = audit_claim(THEOREM_6, asked)
    assert result.measured.estimator.startswith("event bound")
    assert result.self_checks == []


def test_a_view_without_a_law_has_no_exact_loss():
    with pytest.raises(InvalidArgument, match="estimator: got exact-loss"):
        audit_claim(THEOREM_6, Settings(estimator="exact-loss", parameters={"view": "broadcast"}))


class HalvedNoise(GaussianSteps):
    """Draws with half the noise its law states: the code is not what the law describes."""

    def sample(self, dataset, trials, rng):
        quiet = replace(self.process, noise_multiplier=self.process.noise_multiplier / 2)
        return GaussianSteps(quiet).sample(dataset, trials, rng)


@pytest.mark.slow
def test_a_law_that_is_not_the_code_s_withholds_the_number():
    result = broken_audit(with_law(HalvedNoise), epsilon=20.0)
    assert not all(check.passed for check in result.self_checks)
    assert result.verdict == "withheld"
    assert result.measured.lower == 0.0
    assert result.measured.upper is None
    assert "Nothing is certified" in result.reason


class HeavyWeights(GaussianSteps):
    """Overstates its log-moments, and gives no bound that would betray it."""

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, log_mgf=2 * sample.log_mgf)

    def log_mgf_bounds(self, pair, tilt):
        return 0.0, math.inf


@pytest.mark.slow
def test_overstated_weights_cannot_refute():
    result = broken_audit(with_law(HeavyWeights))
    assert any("weights" in c.name for c in result.self_checks if not c.passed)
    assert result.verdict == "withheld"


class Shifted:
    """A process whose stated shift is off by a factor."""

    def __init__(self, process, factor):
        self.process, self.factor = process, factor

    def __getattr__(self, name):
        return getattr(self.process, name)

    def shift(self, state, pair):
        return self.factor * self.process.shift(state, pair)


def rescaled(factor):
    """Return the law whose stated shift is off by a factor."""
    return lambda process: GaussianSteps(Shifted(process, factor))


@pytest.mark.parametrize("factor", [1.05, 2.0])
@pytest.mark.parametrize("epsilon", [1.0, pytest.param(8.0, marks=pytest.mark.slow)])
def test_a_shift_that_is_too_large_passes_its_own_bound(factor, epsilon):
    with pytest.raises(MechanismError, match="log_mgf_bounds"):
        broken_audit(with_law(rescaled(factor)), epsilon=epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "epsilon", "full"),
    [
        (0.95, 1.0, False),
        pytest.param(-1.0, 1.0, False, marks=pytest.mark.slow),
        *(
            pytest.param(factor, epsilon, True, marks=pytest.mark.slow)
            for factor in (0.5, 0.95, -1.0)
            for epsilon in (1.0, 8.0)
        ),
    ],
)
def test_a_wrong_shift_cannot_certify_anything(factor, epsilon, full):
    size = {"trials": 1000, "parameters": {}} if full else {}
    result = broken_audit(with_law(rescaled(factor)), epsilon=epsilon, **size)
    assert any("loss of outputs" in c.name for c in result.self_checks if not c.passed)
    assert result.measured.lower == 0.0


class Overstated(GaussianSteps):
    """Overstates its log-moments by a quarter, and their bounds with them."""

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, log_mgf=1.25 * sample.log_mgf)

    def log_mgf_bounds(self, pair, tilt):
        low, high = super().log_mgf_bounds(pair, tilt)
        return 1.25 * low, 1.25 * high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "size"),
    [
        (8.0, {"trials": 2000}),
        *(
            pytest.param(e, {"trials": 10_000, "parameters": {}}, marks=pytest.mark.slow)
            for e in (1.0, 8.0, 20.0)
        ),
    ],
)
def test_log_moments_a_quarter_too_large_are_noticed(epsilon, size):
    result = broken_audit(with_law(Overstated), epsilon=epsilon, **size)
    assert any("weights" in c.name for c in result.self_checks if not c.passed)


def test_a_lower_end_above_what_is_proved_is_pointed_at():
    half = ApproximateDP(0.5, 1e-5)
    result = broken_audit(lambda case: replace(case, proved=replace(case.proved, guarantee=half)))
    assert "The bound also exceeds the proved 0.5" in result.reason


def test_too_few_trials_say_so():
    settings = Settings(trials=100, confidence=0.999999, parameters=SHORT)
    result = audit_claim(THEOREM_6, settings)
    assert result.measured.upper is None
    assert "too few trials" in result.measured.upper_note


@pytest.mark.parametrize("epsilon", [1e-3, 1e6, pytest.param(1e3, marks=pytest.mark.slow)])
def test_extreme_epsilons_keep_a_useful_lower_end(epsilon):
    result = audited(epsilon, 1e-5)
    assert 0.95 * exact(epsilon, 1e-5) < result.measured.lower <= exact(epsilon, 1e-5) * (1 + 1e-9)


def test_halved_noise_with_its_own_law_is_refuted_as_a_broken_mechanism():
    def halved(process):
        return GaussianSteps(replace(process, noise_multiplier=process.noise_multiplier / 2))

    assert broken_audit(with_law(halved)).verdict == "refuted"


def test_half_the_true_epsilon_as_a_claim_is_refuted():
    half = ApproximateDP(0.375, 1e-5)
    assert broken_audit(lambda case: replace(case, claimed=half)).verdict == "refuted"


def test_outputs_are_never_held_beyond_a_block():
    settings = Settings(trials=100_000)
    case = prepare_theorem6_audit(settings, Deployment(iterations=1, inner_steps=1))
    held = []

    class Watching(GaussianSteps):
        def sample_tilted(self, pair, tilt, trials, rng):
            held.append(trials)
            return super().sample_tilted(pair, tilt, trials, rng)

    watching = Watching(case.mechanism.process)
    drawer = make_drawer(watching, case.pair, Executor(), seed=0)
    losses = drawer.tilted(Side.DATASET, 1.0, 10_000, "certifying")
    assert len(losses.privacy_loss) == sum(held) == 10_000
    assert max(held) <= 256


def test_the_pair_of_a_deployment_is_real_and_differs_in_one_record():
    (instance,) = Deployment(split="uneven").instances(Settings(data="breast-cancer"))
    pair = instance.pair
    assert len(pair.dataset.labels) == 568
    changed = (pair.dataset.features != pair.neighbour.features).any(axis=1)
    changed |= pair.dataset.labels != pair.neighbour.labels
    assert changed.sum() == 1
    assert isinstance(instance.algorithm, MultiStepADMM)
    assert np.linalg.norm(pair.neighbour.features, axis=1).max() <= 1 + 1e-12


@pytest.mark.slow
def test_data_on_adult(adult_path):
    settings = Settings(
        data="adult",
        data_path=adult_path,
        trials=100,
        parameters=DEPLOYED | {"records": 2000},
    )
    result = audit_claim(THEOREM_6, settings)
    assert result.verdict == "proved"
    assert 0 < result.measured.lower < result.measured.estimate < 0.751


@pytest.mark.slow
def test_adult_in_full_reaches_its_estimate(adult_path):
    settings = Settings(data="adult", data_path=adult_path, trials=2000)
    measured = audit_claim(THEOREM_6, settings, Executor(workers=2)).measured
    assert measured.lower >= 0.95 * measured.estimate
    assert measured.upper is None


def test_the_parameters_name_every_loss():
    described = Deployment.model_fields["loss"].description
    assert described == "; ".join(LOSSES) + " (by default the claim's)"
