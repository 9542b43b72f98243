"""What is made anew for every output, and what is left out, at every door."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings, as_mechanism
from dpaudit.mechanisms.foreign.fresh_inputs import Fresh, draw_similar_value
from dpaudit.mechanisms.foreign.isolation import Isolation

pytest_plugins = "pytester"
PAIR = [0.0, 2.0], [0.0, 1.0]
HERE = str(Path(__file__).parent)
ALL_THE_SAME = "every output was the same"


@pytest.fixture(autouse=True)
def a_salt(monkeypatch):
    monkeypatch.setenv("SAMENESS_SALT", "6b1f00d5e8a94c27")
    monkeypatch.syspath_prepend(HERE)


@pytest.fixture
def keyed():
    import keyed

    return keyed


def audited(mechanism, trials=1500, epsilon=1.0, **given):
    return dpaudit.audit(mechanism, *PAIR, epsilon=epsilon, trials=trials, **given)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "fresh"),
    [
        ("by_global", "KEY"),
        ("by_global", "keyed:KEY"),
        ("by_global", "keyed:reset"),
        ("by_argument", "nonce"),
        ("by_environment", "env:SAMENESS_SALT"),
        ("cached", "CACHE"),
    ],
)
def test_what_is_made_anew_gives_the_law_over_it(keyed, name, fresh):
    found = audited(getattr(keyed, name), fresh=fresh)
    assert found.verdict == "not refuted", found.reason
    assert 0.6 < found.measured.lower <= 1.0  # exactly 1, and not what no output shows


@pytest.mark.slow
def test_a_function_makes_it_anew_and_half_the_noise_is_still_refuted(keyed):
    found = audited(keyed.half_by_global, fresh=keyed.reset)
    assert found.verdict == "refuted"
    assert 1.0 < found.measured.lower <= 2.0


def test_without_it_nothing_is_said_and_the_cure_is_named(keyed):
    found = audited(keyed.by_environment)
    assert found.verdict == "withheld"
    assert ALL_THE_SAME in found.reason
    assert "environment variable 'SAMENESS_SALT'" in found.reason
    assert "fresh=" in found.reason


@pytest.mark.slow
def test_one_output_a_process_is_one_draw_per_deployment():
    from dpaudit.auditing.api import own_case
    from dpaudit.auditing.run import audit_case
    from dpaudit.extension.settings import Settings
    from dpaudit.guarantees.kinds import ApproximateDP
    from dpaudit.mechanisms.foreign.isolation import isolate_reference
    from dpaudit.neighbours.found_relations import find_pair_relation

    verdicts = []
    for epsilon in (1.0, 0.1):
        mechanism = isolate_reference(
            "keyed:made", Isolation(), ObservationSettings(fresh="process")
        )
        pair = find_pair_relation(*PAIR, None)[0]
        case, statement = own_case(mechanism, pair, claimed=ApproximateDP(epsilon, 0.0))
        settings = Settings(trials=300, delta=0.0)
        verdicts.append(audit_case(case, settings, statement=statement).verdict)
    assert verdicts == ["not refuted", "refuted"]


@pytest.mark.slow
def test_a_part_that_is_no_noise_is_left_out(keyed):
    found = audited(keyed.stamped, ignore="pid")
    assert found.verdict == "refuted"
    assert "pid" not in found.reason


def test_names_that_no_part_has_are_refused(keyed):
    with pytest.raises(InvalidArgument, match=r"ignore: got 'id', expected names of parts.*value"):
        audited(keyed.stamped, ignore=("id",))


@pytest.mark.parametrize("fresh", ["NOTHING", "keyed:nothing", 3, "env:"])
def test_names_that_nothing_has_are_refused(keyed, fresh):
    with pytest.raises(InvalidArgument, match=r"fresh|keyed:nothing"):
        audited(keyed.by_global, fresh=fresh)


def test_one_process_makes_no_others(keyed):
    with pytest.raises(InvalidArgument, match="fresh: got 'process'"):
        audited(keyed.by_global, fresh="process", isolation=Isolation(in_process=True))


@pytest.mark.parametrize(
    "like", [b"0123456789", "a-salt-of-letters", 7, np.random.default_rng(0), bytearray(5)]
)
def test_another_value_is_another_one_of_the_same_kind(like):
    rng = np.random.default_rng(1)
    one, other = draw_similar_value(like, "it", rng), draw_similar_value(like, "it", rng)
    assert type(one) is type(like)
    if isinstance(like, np.random.Generator):
        assert one.random() != other.random()
    else:
        assert one != other
        assert not hasattr(like, "__len__") or len(one) == len(like)


def test_what_is_vectorised_is_called_for_every_output():
    key = [0]

    def kept(data, trials, rng):
        return np.full(trials, float(key[0]))

    def count():
        key[0] += 1

    mechanism = as_mechanism(kept, ObservationSettings(fresh=count))
    assert mechanism.sample([0.0], 3, np.random.default_rng(0)) == [1.0, 2.0, 3.0]


def test_arguments_of_a_partial_and_attributes_of_an_object_are_found(keyed):
    rng = np.random.default_rng(0)
    assert Fresh("nonce").is_argument(partial(keyed.by_argument))
    instance = keyed.ByInstance()
    before = instance.key
    Fresh("key").make(instance, rng)
    assert instance.key != before


def test_the_command_line_and_files_take_both(dpaudit_command, tmp_path):
    for name, rows in zip(("x.csv", "y.csv"), PAIR, strict=True):
        (tmp_path / name).write_text("\n".join(map(str, rows)) + "\n")
    pair = ["--dataset", str(tmp_path / "x.csv"), "--neighbour", str(tmp_path / "y.csv")]
    shared = ["--epsilon", "1", "--trials", "600", "--no-store", "--quiet"]
    stale = dpaudit_command("audit", "keyed:by_environment", *pair, *shared)
    fresh = dpaudit_command(
        "audit", "keyed:by_environment", *pair, *shared, "--fresh", "env:SAMENESS_SALT"
    )
    ignoring = dpaudit_command("audit", "keyed:stamped", *pair, *shared, "--ignore", "pid")
    assert (stale, fresh, ignoring) == (2, 0, 1)


@pytest.fixture
def dpaudit_command(tmp_path, monkeypatch):
    from dpaudit.cli.main import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return ended.value.code

    return run


@pytest.mark.slow
def test_a_table_takes_both(tmp_path, dpaudit_command):
    (tmp_path / "own.toml").write_text(
        "[[audit]]\n"
        'mechanism = "keyed:by_argument"\nfresh = "nonce"\n'
        f"dataset = {PAIR[0]}\nneighbour = {PAIR[1]}\nepsilon = 1.0\ntrials = 600\n"
        "[[audit]]\n"
        'mechanism = "keyed:stamped"\nignore = ["pid"]\n'
        f"dataset = {PAIR[0]}\nneighbour = {PAIR[1]}\nepsilon = 9.0\ntrials = 600\n"
    )
    assert dpaudit_command("audit", "own.toml", "--no-store", "--quiet") == 0


@pytest.mark.slow
def test_a_marker_takes_both(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", HERE)
    pytester.makepyfile(
        """
        import keyed, pytest

        @pytest.mark.dp(epsilon=1.0, trials=600, fresh="nonce")
        def test_private(dp_audit):
            dp_audit(keyed.by_argument, [0.0, 2.0], [0.0, 1.0])

        @pytest.mark.dp(epsilon=9.0, trials=600, ignore=("pid",))
        def test_stamped(dp_audit):
            dp_audit(keyed.stamped, [0.0, 2.0], [0.0, 1.0])
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n0").assert_outcomes(passed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"), [("half_by_global", {"fresh": "KEY"}), ("stamped", {"ignore": ("pid",)})]
)
def test_a_certificate_says_both(keyed, name, given):
    stated = audited(getattr(keyed, name), **given).certificate.instance["reading"]
    assert (stated["fresh"], stated["ignore"]) == (
        given.get("fresh"),
        list(given.get("ignore", [])),
    )


def test_a_reader_has_to_say_the_same():
    from types import SimpleNamespace

    from dpaudit.verification.mechanism import _other_reading
    from dpaudit.verification.redrawn_counts import Reader

    reading = {"form": None, "read": None, "observe": [], "ignore": ["pid"], "fresh": "KEY"}
    document = SimpleNamespace(instance={"reading": reading})
    assert not _other_reading(document, Reader(ignore=("pid",), fresh="KEY"))
    assert len(_other_reading(document, Reader(fresh="KEY"))) == 1
    assert len(_other_reading(document, Reader(ignore=("pid",), fresh="env:KEY"))) == 1
    del reading["ignore"], reading["fresh"]  # as a file of 0.2.0
    assert not _other_reading(document, Reader())


class Budget:
    """Answers twice, and no more."""

    def __init__(self):
        self.left = 2

    def __call__(self, data, rng):
        if not self.left:
            raise RuntimeError("the budget is spent")
        self.left -= 1
        return float(np.sum(data)) + rng.laplace()


def always_fails(data):
    raise RuntimeError("no budget at all")


def test_a_budget_that_is_spent_says_to_pass_the_class():
    with pytest.raises(MechanismError, match="pass the class"):
        audited(Budget())
    assert audited(Budget).verdict == "not refuted"


def test_what_never_returned_says_nothing_of_a_budget():
    with pytest.raises(MechanismError) as raised:
        audited(always_fails)
    assert "pass the class" not in str(raised.value)


@pytest.mark.slow
def test_a_secret_in_the_code_is_judged_as_code_and_the_report_says_so(keyed):
    found = audited(keyed.by_global)
    assert found.verdict == "refuted"
    assert ALL_THE_SAME in found.reason
    assert "fresh=" in found.reason
