"""What other people's packages and modules do wrong costs a warning or a line, never a verdict."""

import json
import re
import sys

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.auditing.distinguishers.learned_scores import fit_distinguishers, fit_scores_in_order
from dpaudit.auditing.samples.given_samples import audit_outputs
from dpaudit.errors import InvalidArgument, MechanismError, UnknownName
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.extension.registry import CLAIMS, DISTINGUISHERS, BrokenEntryPoint
from dpaudit.verification.judge import verifier_of, verify_file

CARD = """
from dpaudit.extension.distinguisher import Distinguisher
CARD = Distinguisher(
    name="theirs", statement="s", threat_model="t", needs_law=False, fit="their_code:{fit}"
)
"""
CODE = """
import sys
def raises(*given):
    raise KeyError("lost")
def leaves(*given):
    sys.exit(0)
def nothing(*given):
    return None
def late(*given):
    return raises
def unknown(*given):
    return lambda outputs: [float("nan")] * len(outputs)
"""
LEFT = r"ended the program with sys\.exit\(0\) in .*\.py, line \d"
NOISY = """
import numpy as np
class Sum:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale={scale}, size=trials)
"""
SPECIFICATION = """
[audit]
mechanism = "noisy:Sum"
dataset = [0]
neighbour = [1]
epsilon = 1.0
delta = 0.0
trials = 400
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return what installs a package for one test: files by name, entry points by group."""
    place = tmp_path / "installed"
    ours = set(sys.modules)

    def install(files, **groups):
        info = place / "theirs-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        lines = [f"[dpaudit.{group}]\n{entry}\n" for group, entry in groups.items()]
        (info / "entry_points.txt").write_text("".join(lines))
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        monkeypatch.syspath_prepend(str(place))

    yield install
    for name in set(sys.modules) - ours:
        if name.partition(".")[0].startswith("their"):
            del sys.modules[name]


@pytest.fixture
def specification(tmp_path, monkeypatch):
    """Return the name of a specification beside its module, of noise of a scale."""

    def write(scale, more=""):
        (tmp_path / "noisy.py").write_text(NOISY.format(scale=scale))
        path = tmp_path / "audit.toml"
        path.write_text(SPECIFICATION + more)
        return str(path)

    monkeypatch.delitem(sys.modules, "noisy", raising=False)
    yield write
    sys.modules.pop("noisy", None)


# Distinguishers


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("fit", ["nowhere", "raises", "leaves", "nothing", "late", "unknown"])
def test_a_broken_distinguisher_that_nobody_asked_for_is_left_out(
    dpaudit, installed, specification, fit
):
    sound = dpaudit("audit", specification(0.2), "--json")
    installed(
        {"their_cards.py": CARD.format(fit=fit), "their_code.py": CODE},
        distinguishers="theirs = their_cards:CARD",
    )
    ran = dpaudit("audit", specification(0.2), "--json")
    assert re.search("^warning: distinguisher theirs: .*; it is left out$", ran.err, re.M)
    assert ran.status == sound.status == 1
    ours, theirs = (json.loads(one.out)["results"][0]["measured"] for one in (sound, ran))
    assert ours == theirs


@pytest.mark.parametrize(
    ("fit", "failure"), [("raises", "KeyError: .*in .*their_code.py, line 4"), ("leaves", LEFT)]
)
def test_a_broken_distinguisher_that_was_asked_for_is_one_line(
    dpaudit, installed, specification, fit, failure
):
    installed(
        {"their_cards.py": CARD.format(fit=fit), "their_code.py": CODE},
        distinguishers="theirs = their_cards:CARD",
    )
    ran = dpaudit("audit", specification(0.2), "--distinguisher", "theirs")
    assert (ran.status, ran.out) == (2, "")
    assert re.search(f"distinguisher theirs: {failure}", ran.err)


@pytest.mark.filterwarnings("always")
def test_a_broken_distinguisher_bets_nothing(dpaudit, installed, specification):
    installed(
        {"their_cards.py": CARD.format(fit="raises"), "their_code.py": CODE},
        distinguishers="theirs = their_cards:CARD",
    )
    ran = dpaudit("audit", specification(0.05), "--until-refuted", "--trials", "2000")
    assert ran.status == 1
    assert "distinguisher theirs: KeyError" in ran.err


BROKEN = Distinguisher(
    name="a", statement="s", threat_model="t", needs_law=False, fit="os:no_such_name"
)


@pytest.mark.filterwarnings("always")
def test_a_broken_distinguisher_never_takes_the_place_of_one_that_works():
    """Where nothing stands out, the first of equal promises is taken: not that of a failure."""
    working = DISTINGUISHERS.get("linear-classifier")
    rng = np.random.default_rng(0)
    on_p, on_q = rng.normal(0.75, 1, (120, 2)), rng.normal(0, 1, (120, 2))
    ((one, score),) = fit_distinguishers([BROKEN, working], None, None, on_p, on_q, rng)
    assert one is working
    nothing, same = fit_scores_in_order(
        [BROKEN, working], None, None, on_p, on_q, np.random.default_rng(0)
    )
    assert set(nothing(on_p)) == {0.0}
    assert len(set(same(on_p))) > 100
    assert score(on_p).shape == (120,)


def test_where_none_learns_nothing_is_audited():
    given = [None, None, np.zeros((9, 2)), np.ones((9, 2)), np.random.default_rng(0)]
    for learn in (fit_distinguishers, fit_scores_in_order):
        with pytest.raises((MechanismError, InvalidArgument), match="distinguisher a"):
            learn([BROKEN, BROKEN], *given)


# Cards


def test_a_card_that_leaves_the_process_is_left_out(installed):
    installed({"their_cards.py": "raise SystemExit(0)"}, claims="theirs = their_cards:CLAIM")
    with pytest.warns(BrokenEntryPoint, match=LEFT):
        assert "theirs" not in CLAIMS.all()


def test_a_card_of_another_name_is_left_out(installed):
    installed({"their_cards.py": CARD.format(fit="f")}, distinguishers="other = their_cards:CARD")
    with pytest.warns(BrokenEntryPoint, match="a card called 'theirs', expected one of the same"):
        assert "other" not in DISTINGUISHERS.all()


# Modules of one's own


@pytest.mark.parametrize(
    "where", ["sys.exit(0)", "class Sum:\n    def __init__(self): sys.exit(0)"]
)
def test_a_module_that_leaves_the_process_has_audited_nothing(
    dpaudit, tmp_path, specification, where
):
    path = specification(0.2)
    (tmp_path / "noisy.py").write_text(f"import sys\n{where}\n")
    ran = dpaudit("audit", path)
    assert ran.status == 2
    assert re.search(LEFT, ran.err)


def test_a_distinguisher_under_both_names_is_refused(dpaudit, specification):
    more = 'attack = "histogram"\ndistinguisher = "histogram"\n'
    ran = dpaudit("audit", specification(0.2, more))
    assert ran.status == 2
    assert "attack is its older name" in ran.err


# Verifiers


CLAIM = "other2027-theorem1 = their_claims.claims.theorem1:CLAIM"


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("raise ValueError('boom')", r"ValueError: \(.*\) in .*__init__\.py, line 1"),
        ("import sys; sys.exit(0)", LEFT),
        ("raise GeneratorExit", r"GeneratorExit: '' in .*__init__\.py, line 1"),
    ],
)
def test_a_package_that_fails_does_not_touch_other_claims(installed, tmp_path, deed, said):
    files = ("their_claims/__init__.py", "their_claims/verify/__init__.py")
    installed({files[0]: "", files[1]: deed}, claims=CLAIM)
    path = tmp_path / "certificate.json"
    common = {"format": "dpaudit-certificate", "version": 1, "kind": "property"}
    common |= {"source": "", "relation": ""}
    common |= {"parameters": {}, "quantities": {}, "instance": {}, "assumptions": []}
    path.write_text(json.dumps(common | {"claim": "hu2020-lemma9"}))
    with pytest.raises(UnknownName, match="hu2020-lemma1"):
        verify_file(path)
    path.write_text(json.dumps(common | {"claim": "other2027-theorem1"}))
    with pytest.raises(InvalidArgument, match=f"their_claims.*{said}"):
        verify_file(path)


def test_a_package_called_claims_has_its_verifiers_beside_it():
    assert verifier_of("claims.theorem1") == "verify.theorem1"
    assert verifier_of("my_claims.theorem1") == "my_claims.theorem1"


@pytest.mark.parametrize("given", [None, {}, 3])
def test_what_is_no_file_is_refused(given):
    with pytest.raises(InvalidArgument, match=r"^path: got .*, expected the name of a file"):
        verify_file(given)


# Scores that point the other way


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_may_be_higher_on_either_side(sign):
    rng = np.random.default_rng(0)
    on_dataset, on_neighbour = (sign * rng.normal(mean, 0.2, 2000) for mean in (0, 1))
    result = audit_outputs(on_dataset, on_neighbour, epsilon=1.0)
    assert result.verdict == "refuted"
    assert result.measured.lower > 4


@pytest.mark.parametrize("seeds", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_equal_scores_are_not_accused_whichever_way_they_point(seeds):
    refuted = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        result = audit_outputs(rng.normal(size=200), rng.normal(size=200), epsilon=0.01, seed=seed)
        refuted += result.verdict == "refuted"
    assert refuted <= binom.isf(1e-6, seeds, 0.05)


def test_an_unknown_kind_of_relation_is_refused():
    from dpaudit.auditing.api import audit

    with pytest.raises(InvalidArgument, match=r"^relation: got 3, expected a relation"):
        audit(lambda data, trials, rng: data, [0], [1], epsilon=1.0, relation=3)


def test_a_side_that_is_no_number_is_no_verdict():
    from dpaudit.refutation import Condition, Inequality

    lost = Inequality(
        name="lost",
        source="an example",
        sides=lambda one: (float("nan"), 1.0),
        conditions=lambda one: (Condition(name="any", value=0.0, limit=1.0),),
    )
    with pytest.raises(MechanismError, match="expected two numbers"):
        lost.ratio(0.0)
