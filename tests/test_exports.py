"""The public names of ``dpaudit``: each is used, whatever else has been imported before."""

import importlib
import pkgutil
import sys
import tempfile
from types import ModuleType

import numpy as np
import pytest

import dpaudit


def modules():
    found = pkgutil.walk_packages(dpaudit.__path__, "dpaudit.")
    names = {module.name for module in found} | {"dpaudit.algorithms", "dpaudit.attacks"}
    for package in ("dpaudit.algorithms", "dpaudit.attacks"):
        inside = importlib.import_module(package).__path__
        names |= {module.name for module in pkgutil.walk_packages(inside, f"{package}.")}
    elsewhere = {name for name in names if name.rpartition(".")[2].startswith("subjects")}
    elsewhere |= {name for name in names if ".accountants.plain." in name}
    return sorted(names - elsewhere - {"dpaudit.__main__"})  # which import packages of others


@pytest.fixture(scope="module", autouse=True)
def everything():
    """Import every submodule first: none may take the place of a public name."""
    for name in modules():
        importlib.import_module(name)


def half_of_a_budget():
    with tempfile.TemporaryDirectory() as folder:
        budget = dpaudit.Budget.create(f"{folder}/budget.jsonl", epsilon=1.0)
        return budget.charge("laplace", noise_scale=2).spent


class Shifted:
    """A process of one release with Gaussian noise."""

    steps = 1

    def check(self, dataset):
        pass

    def start(self, dataset, trials):
        return trials

    def step(self, state, dataset):
        return dpaudit.Step(np.broadcast_to(dataset, (state, len(dataset))), np.array(1.0))

    def shift(self, state, pair):
        return np.broadcast_to(pair.neighbour - pair.dataset, (state, len(pair.dataset)))

    def advance(self, state, output):
        return state

    def squared_shift_bounds(self, pair):
        square = float(np.sum((pair.neighbour - pair.dataset) ** 2))
        return square, square


def pair():
    return dpaudit.Pair(np.zeros(1), np.ones(1), dpaudit.relation("replace-record"))


def mechanism():
    return dpaudit.GaussianSteps(Shifted())


def case():
    return dpaudit.PrivacyCase(
        mechanism=mechanism(),
        pair=pair(),
        claimed=dpaudit.ApproximateDP(8.0, 1e-5),
        at_delta=1e-5,
        view="the release",
        data="two numbers",
        default_trials=200,
        parameters={},
    )


def search_case():
    return dpaudit.SearchCase(
        bound=1.0,
        attain=lambda budget, rng: None,
        view="a state",
        data="a number",
        relation="replace-record",
        pair="any",
        default_trials=1,
        parameters={},
    )


def statement():
    words = {"name": "c", "title": "t", "statement": "s", "source": "p"}
    return dpaudit.Statement(kind="privacy", relation="replace-record", assumptions={}, **words)


def claim():
    parts = {name: getattr(statement(), name) for name in dpaudit.Statement.__dataclass_fields__}
    return dpaudit.Claim(prepare=lambda settings, parameters: case(), parameters=dict, **parts)


def attack():
    words = dict.fromkeys(("title", "source", "sees", "knows", "wants"), "w")
    return dpaudit.Attack(name="a", **words, run="os:name", parameters="os:sep")


def distinguisher():
    return dpaudit.Distinguisher(
        name="d", statement="s", threat_model="t", needs_law=False, fit="os:name"
    )


def noisy(release):
    return release(sensitivity=1.0, noise_scale=2.0)


def noisy_at(scale):
    return dpaudit.GaussianRelease(sensitivity=1.0, noise_scale=scale)


def norm_noise(release):
    return release(sensitivity=1.0, noise_rate=2.0, dimension=3)


def subsampled():
    return dpaudit.PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.0)


def sequence():
    parts = (noisy(dpaudit.LaplaceRelease), noisy(dpaudit.GaussianRelease))
    return dpaudit.Sequence(events=parts)


def laplace(dataset, trials, rng):
    return dataset.sum() + rng.laplace(size=trials)


def gaussian_sum(dataset, rng):
    return dataset.sum() + rng.normal()


def noisy_sum(dataset, rng):
    return dataset.sum() + rng.laplace()


def scores():
    return np.random.default_rng(0).normal(size=(2, 60))


def canaries():
    rng = np.random.default_rng(0)
    included = rng.random(200) < 0.5
    return rng.normal(size=200) + 5 * included, included


USES = {
    "AdaptiveInputs": lambda: dpaudit.AdaptiveInputs(steps=2, patterns=[[1, 0]]).most == 2,
    "AllocatedGaussian": lambda: (
        dpaudit.AllocatedGaussian(batches=2, noise_multiplier=1.0).count == 1
    ),
    "ApproximateDP": lambda: dpaudit.ApproximateDP(1.0, 1e-5).epsilon(1e-5) == 1.0,
    "ApproximateRelease": lambda: dpaudit.ApproximateRelease(epsilon=1.0).delta == 0,
    "AssumptionOutcome": lambda: dpaudit.AssumptionOutcome(name="a", holds=True, evidence="").holds,
    "Attack": lambda: attack().load() == importlib.import_module("os").name,
    "BatchedGaussian": lambda: (
        dpaudit.BatchedGaussian(records=4, batch_size=1, noise_multiplier=1.0).ratio == 0.25
    ),
    "Budget": lambda: half_of_a_budget() == 0.5,
    "Claim": lambda: claim().prepare(dpaudit.Settings(), {}).default_trials == 200,
    "Dataset": lambda: dpaudit.Dataset([[1.0]], [1.0]).nodes == 1,
    "Distinguisher": lambda: distinguisher().load() == importlib.import_module("os").name,
    "Domain": lambda: dpaudit.Domain(bounds=(0, 1), records=3).sizes == (3, 3),
    "DpauditError": lambda: issubclass(dpaudit.DpauditError, Exception),
    "Executor": lambda: dpaudit.Executor().workers == 1,
    "ExponentialNormRelease": lambda: norm_noise(dpaudit.ExponentialNormRelease).count == 1,
    "GaussianDP": lambda: dpaudit.GaussianDP(1.0).epsilon(1e-5) > 3,
    "GaussianProcess": lambda: hasattr(dpaudit.GaussianProcess, "squared_shift_bounds"),
    "GaussianRelease": lambda: noisy(dpaudit.GaussianRelease).noise_scale == 2,
    "GaussianSteps": lambda: mechanism().log_mgf_bounds(pair(), 1.0) == (1.0, 1.0),
    "Guarantee": lambda: isinstance(dpaudit.GaussianDP(1.0), dpaudit.Guarantee),
    "HasLaw": lambda: isinstance(mechanism(), dpaudit.HasLaw),
    "LaplaceRelease": lambda: noisy(dpaudit.LaplaceRelease).noise_scale == 2,
    "Mechanism": lambda: isinstance(mechanism(), dpaudit.Mechanism),
    "ObjectivePerturbation": lambda: norm_noise(dpaudit.ObjectivePerturbation).dimension == 3,
    "Pair": lambda: pair().index == 0,
    "PoissonSubsampledGaussian": lambda: subsampled().count == 1,
    "PrivacyCase": lambda: case().at_delta == 1e-5,
    "PrivacyProfile": lambda: dpaudit.PrivacyProfile(lambda e: 0.1).epsilon(0.2) == 0,
    "DiscreteGaussianRelease": lambda: (
        dpaudit.DiscreteGaussianRelease(sensitivity=1, noise_scale=2.0).count == 1
    ),
    "DiscreteLaplaceRelease": lambda: (
        dpaudit.DiscreteLaplaceRelease(sensitivity=1, noise_scale=2.0).count == 1
    ),
    "GaussianMixtureRelease": lambda: (
        dpaudit.GaussianMixtureRelease(
            sensitivities=(0.0, 1.0), probabilities=(0.5, 0.5), noise_scale=1.0
        ).count
        == 1
    ),
    "Parallel": lambda: dpaudit.Parallel((subsampled(), subsampled())).count == 1,
    "PoissonSubsampledLaplace": lambda: (
        dpaudit.PoissonSubsampledLaplace(sampling_ratio=0.1).noise_scale == 1
    ),
    "RandomizedResponse": lambda: dpaudit.RandomizedResponse(truth=0.75).categories == 2,
    "one_budget": lambda: (
        dpaudit.one_budget("l1", 1.0, [noisy(dpaudit.LaplaceRelease)]).epsilon == 0.5
    ),
    "one_sample": lambda: dpaudit.one_sample([subsampled()], 3).count == 3,
    "PrivateSelection": lambda: (
        dpaudit.PrivateSelection(base=noisy(dpaudit.GaussianRelease), runs=2.0).law == "geometric"
    ),
    "Proof": lambda: dpaudit.Proof(guarantee=dpaudit.GaussianDP(1.0), source="p").source == "p",
    "PureDP": lambda: dpaudit.PureDP(1.0).epsilon(0.0) == 1,
    "RenyiDP": lambda: dpaudit.RenyiDP(2.0, 0.0).epsilon(0.0) == 0,
    "Result": lambda: "verdict" in dpaudit.Result.model_fields,
    "SearchCase": lambda: search_case().bound == 1,
    "Sequence": lambda: len(sequence().events) == 2,
    "Service": lambda: dpaudit.Service("http://127.0.0.1/").words == frozenset(),
    "Settings": lambda: dpaudit.Settings(trials=100).trials == 100,
    "ShuffledGaussian": lambda: (
        dpaudit.ShuffledGaussian(batches=2, noise_multiplier=1.0).sensitivity == 1
    ),
    "Side": lambda: [pair().on(side).tolist() for side in dpaudit.Side] == [[0.0], [1.0]],
    "Statement": lambda: statement().kind == "privacy",
    "Step": lambda: dpaudit.Step(np.zeros(1), np.ones(1)).scale == 1,
    "Tiltable": lambda: isinstance(mechanism(), dpaudit.Tiltable),
    "TiltedSample": lambda: dpaudit.TiltedSample(*np.ones((3, 1)), 1.0).log_weight == 0,
    "Verdict": lambda: dpaudit.Verdict(claim="c", failures=(), ratio=2.0, summary="").verified,
    "ZeroConcentratedDP": lambda: dpaudit.ZeroConcentratedDP(0.5).rho == 0.5,
    "ZeroConcentratedRelease": lambda: dpaudit.ZeroConcentratedRelease(rho=0.5).rho == 0.5,
    "Reader": lambda: dpaudit.Reader(confidence=0.9).confidence == 0.9,
    "__version__": lambda: dpaudit.__version__.count(".") == 2,
    "calibrate": lambda: round(dpaudit.calibrate(noisy_at, 1.0, 1e-5).value, 3) == 3.731,
    "account": lambda: dpaudit.account("gaussian", delta=1e-5).proved.upper > 4,
    "audit": lambda: (
        dpaudit.audit(laplace, np.zeros(1), np.ones(1), epsilon=1.0, trials=200).verdict
        == "not refuted"
    ),
    "audit_case": lambda: dpaudit.audit_case(case()).measured.upper < 8,
    "audit_claim": lambda: (
        dpaudit.audit_claim("hu2020-lemma1", dpaudit.Settings(trials=200)).trials == 200
    ),
    "audit_outputs": lambda: dpaudit.audit_outputs(*scores(), epsilon=1.0).verdict == "not refuted",
    "audit_scores": lambda: (
        dpaudit.audit_scores(*canaries(), delta=1e-5, claim=1.0).measured.lower > 1
    ),
    "audit_membership": lambda: (
        dpaudit.audit_membership(*scores(), delta=1e-5).verdict == "not refuted"
    ),
    "audit_table": lambda: (
        dpaudit.audit_table([(471, 500, 23, 500)], delta=1e-5).measured.lower > 2.6
    ),
    "gaussian_guarantee": lambda: (
        dpaudit.gaussian_guarantee(noisy(dpaudit.GaussianRelease)).mu == 0.5
    ),
    "proved_guarantee": lambda: (
        dpaudit.proved_guarantee(noisy(dpaudit.GaussianRelease)).epsilon(1e-5) > 0
    ),
    "prove": lambda: dpaudit.prove(noisy_sum, domain={"bounds": (0, 1), "records": 2}).is_proved,
    "metric": lambda: dpaudit.metric("euclidean").between([0.0, 0.0], [3.0, 4.0]) == 5.0,
    "relation": lambda: dpaudit.relation("replace-label").name == "replace-label",
    "sensitivity": lambda: (
        0.99 < float(dpaudit.sensitivity(sum, {"bounds": (0, 1), "records": 2}, "replace-record"))
    ),
    "Message": lambda: dpaudit.Message(1.0, sender="a", receiver="b").receiver == "b",
    "view_pairs": lambda: (
        dpaudit.view_pairs(gaussian_sum, (np.zeros(1), np.ones(1)))["output"].delta(0.0).upper < 0.4
    ),
    "views": lambda: dpaudit.views(gaussian_sum, private=np.zeros(1)).mu("output", 0).upper == 1.0,
    "replay": lambda: (
        dpaudit.replay(noisy_sum, np.zeros(1), np.ones(1), epsilon=0.5).verdict == "refuted"
    ),
}


def test_every_public_name_is_used_here():
    assert sorted([*USES, "verify"]) == sorted(dpaudit.__all__)
    assert set(dpaudit.__all__) <= set(dir(dpaudit))


@pytest.mark.parametrize("name", USES)
def test_public_name(name):
    assert not isinstance(getattr(dpaudit, name), ModuleType)
    assert USES[name]()


def of_two_things(package):
    """Return the names that a package exports and that one of its modules has, too."""
    inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
    return inside & set(getattr(package, "__all__", ()))


def test_no_module_has_the_name_of_what_its_package_exports():
    packages = [sys.modules[name] for name in modules() if hasattr(sys.modules[name], "__path__")]
    assert "dpaudit.testing" in {package.__name__ for package in packages}
    assert {one.__name__: of_two_things(one) for one in packages if of_two_things(one)} == {}


def test_verify_refuses_what_is_no_certificate(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text("{}")
    with pytest.raises(dpaudit.DpauditError, match="is not a certificate"):
        dpaudit.verify(path)


def test_a_written_certificate_is_verified(tmp_path):
    from dpaudit.auditing.run import run_claim

    found = run_claim("hu2020-lemma1", dpaudit.Settings(trials=400), dpaudit.Executor())
    path = tmp_path / "certificate.json"
    found.certificate.write(path)
    (verdict,) = dpaudit.verify(path)
    assert verdict.verified
    assert verdict.refutes_as_published


def test_there_is_no_other_public_name():
    with pytest.raises(AttributeError, match="no attribute 'audits'"):
        _ = dpaudit.audits
