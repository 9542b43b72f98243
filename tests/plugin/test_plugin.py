"""The plugin for pytest: what fails and how, what is shared, what a run leaves, what it costs."""

import contextlib
import io
import json
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

import pytest

import dpaudit
from dpaudit.plugin.hooks import CONFIDENCE, share_of
from dpaudit.plugin.marker import KNOWN
from dpaudit.report.document import read_report
from dpaudit.verification import read
from tests.ci.schemas import junit_schemas

pytest_plugins = "pytester"

# Mechanisms run in the process of the test: starting others takes longer than all else here.
MECHANISMS = """
    import numpy as np
    import pytest
    from dpaudit import Pair, relation
    from dpaudit.mechanisms.foreign.isolation import Isolation

    HERE = Isolation(in_process=True)
    AGES = np.array([31.0, 44.0, 47.0, 52.0, 75.0])

    def sizes(ages, rng):
        groups, counts = np.unique(ages // 10 * 10, return_counts=True)
        return {f"{group:g}s": count + rng.laplace() for group, count in zip(groups, counts)}

    def count(ages, trials, rng):
        return len(ages) + rng.laplace(size=trials)

    def one_noise(ages, trials, rng):
        return np.full(trials, len(ages) + rng.laplace())
"""
SUITE = (
    MECHANISMS
    + """
    @pytest.mark.dp(epsilon=1)
    def test_leaks(dp_audit):
        # A body of many lines, none of which is what a reader needs.
        dp_audit(sizes, AGES, AGES[:-1], trials=300, isolation=HERE, show_records=True)

    @pytest.mark.dp(epsilon=1, trials=300)
    def test_private(dp_audit):
        pair = Pair(AGES, AGES[:-1], relation("add-remove-record"))
        assert dp_audit(count, pair, isolation=HERE).trials == 300

    @pytest.mark.dp(epsilon=1, audits=2)
    class TestTwo:
        def test_both(self, dp_audit):
            dp_audit(count, AGES, AGES[:-1], trials=1000, isolation=HERE)
            with pytest.raises(AssertionError, match="What leaked"):
                dp_audit(count, AGES, AGES[:-1], epsilon=0.1, trials=1000, isolation=HERE)

        @pytest.mark.dp(epsilon=5)
        def test_three(self, dp_audit):
            for _ in range(3):
                dp_audit(count, AGES, AGES[:-1], trials=300, isolation=HERE)

    def test_withheld(dp_audit):
        dp_audit(one_noise, AGES, AGES[:-1], epsilon=1, trials=1000, isolation=HERE)

    def test_fails_by_itself(dp_audit):
        dp_audit(lambda ages: 1 // 0, AGES, AGES[:-1], epsilon=1, isolation=HERE)

    def test_unused(dp_audit):
        pass

    def test_late(request):
        request.getfixturevalue("dp_audit")(count, AGES, AGES[:-1], epsilon=1)

    @pytest.mark.dp(epsilon=1)
    def test_idle():
        pass

    @pytest.mark.dp(epsilom=1)
    def test_misspelt(dp_audit):
        pass

    @pytest.mark.dp(epsilon=1)
    def test_decided(dp_audit):
        dp_audit(count, AGES, AGES[:-1], seed=3)
"""
)
# A run within this one meets packages that are imported already: pytest cannot rewrite them again.
AGAIN = "ignore::pytest.PytestAssertRewriteWarning"
OPTIONS = ("-p", "no:cacheprovider", "-W", "error", "-W", AGAIN, "--strict-markers")
# test_leaks, test_private, 2 + 2 of the class, and one each of the five that ask for it.
AUDITS = 11


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return one run of the whole suite, and its folder."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text("".join(line[4:] or "\n" for line in lines(SUITE)))
    command = ("--dpaudit-report=report", "--junitxml=junit.xml", "--dpaudit-store=kept.sqlite")
    return run(folder, *command), folder


def lines(text):
    return text.splitlines(keepends=True)


def run(folder, *options):
    """Return the exit status and the output of a run in this process, where all is imported."""
    written, before = io.StringIO(), dict(sys.modules)
    with pytest.MonkeyPatch.context() as here, contextlib.redirect_stdout(written):
        here.chdir(folder)
        here.setenv("CI", "true")  # where pytest shortens no line of its summary
        status = pytest.main([*OPTIONS, "--capture=sys", *options])
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]
    return status, written.getvalue()


def failure_of(output, test):
    """Return the lines that a failure printed: its title, and all up to the next."""
    found = re.search(
        rf"(?m)^_+ (?:\w+ at setup of )?{test} _+\n((?:(?![_=-]{{5}}|dpaudit: ).*\n)*)", output
    )
    assert found is not None, output
    return found[1].splitlines()


def test_outcomes_are_what_they_should_be(ran):
    (status, output), _ = ran
    assert status == 1
    for test in ("test_private", "test_both"):
        assert not re.search(rf"(FAILED|ERROR) .*{test}", output)
    assert re.search(r"7 failed, 2 passed, 2 errors", output)


def test_a_failure_says_first_what_leaked_in_at_most_15_lines(ran):
    output = ran[0][1]
    said = failure_of(output, "test_leaks")
    assert said[0].startswith("What leaked: `output['70s']` is there in 300 of 300 outputs on the")
    assert len(said) + 1 <= 15
    assert any(line.startswith("refuted: epsilon is at least ") for line in said)
    assert "at: test_suite.py:23" in said
    assert said[-1].startswith("again: pytest test_suite.py::test_leaks --dpaudit-confidence=0.99")
    (pasted,) = [line for line in said if line.startswith("import dpaudit; print(dpaudit.replay(")]
    assert all(len(line) <= 96 for line in said[:-1] if line != pasted)
    assert "FAILED test_suite.py::test_leaks - Refuted: What leaked: `output['70s']`" in output


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("TestTwo.test_three", "audits: got 3, expected at most 2; say how many: @pytest.mark"),
        ("test_withheld", "withheld: nothing can be said of the claim epsilon = 1 at delta = 0"),
        ("test_fails_by_itself", "raised ZeroDivisionError"),
        ("test_unused", "asked for dp_audit and never called it: nothing was audited"),
        ("test_late", "dp_audit: got a late request, expected an argument of the test"),
        ("test_idle", "marked dp, and nothing is audited: the test has to ask for dp_audit"),
        ("test_misspelt", "dp(epsilom=...): expected one of: epsilon, "),
        ("test_decided", "seed: got int, expected nothing: it is that of the whole run (--dpaudit"),
    ],
)
def test_a_failure_is_short_and_says_what_to_do(ran, test, said):
    found = failure_of(ran[0][1], test)
    assert said in "\n".join(found)
    assert len(found) + 1 <= 15


def test_the_shares_are_decided_at_collection_and_sum_to_what_is_stated(ran):
    (_, output), folder = ran
    each = share_of(1 - CONFIDENCE, AUDITS)
    said = f"dpaudit: {AUDITS} audits in 9 tests at {each:.12g} confidence each, 0.999 together"
    assert said in output
    results = read_report(folder / "report" / "report.json").results
    assert {result.measured.confidence for result in results} == {each}
    assert re.search(r"dpaudit: 2 refuted, 1 withheld, 4 not refuted; error prob", output)


@pytest.mark.parametrize("error", [1e-9, 1e-3, 0.05, 0.5])
def test_shares_are_sound_and_close(error):
    for audits in range(1, 400):
        spent = audits * (1 - share_of(error, audits))
        assert 0.999 * error <= spent <= error


def test_the_report_holds_every_audit_by_its_test(ran):
    (_, output), folder = ran
    report = read_report(folder / "report" / "report.json")
    names = [result.claim for result in report.results]
    assert names[:4] == [
        "test_suite.py::test_leaks",
        "test_suite.py::test_private",
        "test_suite.py::TestTwo::test_both (1)",
        "test_suite.py::TestTwo::test_both (2)",
    ]
    assert set(report.missing) == {
        f"test_suite.py::test_{name}" for name in ("fails_by_itself", "unused", "late", "decided")
    }
    assert report.confidence >= CONFIDENCE
    assert "dpaudit: report: report/report.html" in output
    assert len(read(folder / "report" / "certificate.json")) == 2


def test_junit_has_what_machines_ask_for(ran):
    cases = ElementTree.parse(ran[1] / "junit.xml").getroot().iter("testcase")
    said = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in cases
    }
    leaks = said["test_leaks"]
    assert leaks["dpaudit.verdict"] == "refuted"
    assert leaks["dpaudit.claimed"] == "epsilon = 1 at delta = 0"
    assert float(leaks["dpaudit.lower"]) > 1
    assert leaks["dpaudit.witness"].startswith("What leaked: ")
    assert said["test_both"]["dpaudit.2.verdict"] == "refuted"
    assert said["test_idle"] == {}


def test_junit_is_valid_but_for_the_properties_that_pytest_writes(ran):
    """Those of a test case are pytest's own addition to the schema; consumers read them."""
    tree = ElementTree.parse(ran[1] / "junit.xml").getroot()
    for case in tree.iter("testcase"):
        for properties in case.findall("properties"):
            case.remove(properties)
    junit_schemas()[0].validate(ElementTree.tostring(tree, "unicode"))


def test_again_repeats_it_and_what_was_kept_is_not_drawn(ran):
    """What a failure names gives the same numbers, from the store where one is named."""
    (_, output), folder = ran
    (again,) = re.findall(r"again: pytest (test_suite\S*test_leaks) (\S+)", output)
    _, once = run(folder, *again, "--dpaudit-store=kept.sqlite")
    assert failure_of(once, "test_leaks") == failure_of(output, "test_leaks")
    assert "1 of 1 drawn before and kept" in once
    assert "1 of 7 drawn before and kept" in output  # those that ask the same once more


CHEAP = '''
    import pytest
    from dpaudit.plugin.hooks import RUN

    @pytest.fixture
    def dp_audit(request):
        """Stand in for the fixture, whose import takes longer than all else here."""
        return request.config.stash[RUN]

    @pytest.fixture
    def confidence(dp_audit):
        return dp_audit.confidence_of_each

    @pytest.mark.parametrize("number", range(3))
    def test_each(confidence, number, request):
        request.node.user_properties.append(("confidence", confidence))

    @pytest.mark.dp(audits=5)
    def test_five(confidence, request):
        request.node.user_properties.append(("confidence", confidence))

    def test_none():
        pass
'''


@pytest.mark.parametrize(
    ("options", "audits", "error"),
    [
        ((), 8, 0.001),
        (("-k", "each"), 3, 0.001),
        (("-k", "five", "--dpaudit-confidence=0.9"), 5, 0.1),
        (("test_cheap.py::test_each[1]",), 1, 0.001),
        (("-n", "2"), 8, 0.001),
        pytest.param(("-n", "2", "--dist", "each"), 16, 0.001, marks=pytest.mark.slow),
    ],
)
def test_what_is_selected_shares_whoever_runs_it(pytester, options, audits, error):
    pytester.makepyfile(test_cheap=CHEAP)
    done = pytester.runpytest_inprocess(*OPTIONS, "--junitxml=junit.xml", *options)
    assert done.ret == 0
    root = ElementTree.parse(pytester.path / "junit.xml").getroot()
    said = {float(one.get("value")) for one in root.iter("property")}
    assert said == {share_of(1 - (1 - error), audits)}


def test_a_test_that_hides_its_own_calls_fails_as_others_do(pytester):
    pytester.makepyfile(
        MECHANISMS
        + """
    @pytest.mark.dp(epsilon=1, trials=300)
    def test_leaks(dp_audit):
        __tracebackhide__ = True
        dp_audit(sizes, AGES, AGES[:-1], isolation=HERE)
    """
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", AGAIN)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["What leaked: *"])


def test_a_function_without_a_return_fails_and_a_constant_warns(pytester):
    pytester.makepyfile(
        MECHANISMS
        + """
    @pytest.mark.dp(epsilon=1, trials=100)
    def test_forgets(dp_audit):
        dp_audit(lambda ages: None, AGES, AGES[:-1], isolation=HERE)

    @pytest.mark.dp(epsilon=1, trials=100)
    def test_says_the_same(dp_audit):
        dp_audit(lambda ages: {"mean": None}, AGES, AGES[:-1], isolation=HERE)
    """
    )
    shown = ("-W", "default::UserWarning", "-W", AGAIN)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", *shown)
    done.assert_outcomes(passed=1, failed=1, warnings=1)
    done.stdout.fnmatch_lines(["*withheld: nothing can be said of the claim*"])
    done.stdout.fnmatch_lines(["*test_a_function*.py:*: *check that the function returns*"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--dpaudit-trials=99", "--dpaudit-trials: got 99, expected an integer, at least 100"),
        ("--dpaudit-confidence=1", "--dpaudit-confidence: got 1.0, expected a number in (0, 1)"),
        ("--dpaudit-time=nan", "--dpaudit-time: got nan, expected a number of seconds above 0"),
        ("--dpaudit-seed=-1", "--dpaudit-seed: got -1, expected an integer, at least 0"),
    ],
)
def test_an_option_out_of_range_is_refused_before_anything_runs(pytester, option, said):
    done = pytester.runpytest_inprocess(*OPTIONS, option)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr.str()


def test_a_run_without_audits_loads_nothing(pytester):
    pytester.makepyfile("""
        import sys

        def test_modules(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("dpaudit")
            ours = {name for name in sys.modules if name.split(".")[0] == "dpaudit"}
            assert ours == {"dpaudit", "dpaudit.plugin", "dpaudit.plugin.hooks"}
            assert not {"numpy", "pydantic", "typer"} & set(sys.modules)
    """)
    done = pytester.runpytest_subprocess(*OPTIONS)
    assert done.ret == 0
    assert "dpaudit:" not in done.stdout.str()


def test_the_marker_says_what_an_audit_takes():
    import inspect

    assert set(KNOWN) <= set(inspect.signature(dpaudit.audit).parameters)


def test_the_report_is_private_where_it_holds_records(ran):
    for file in (ran[1] / "report").iterdir():
        assert file.stat().st_mode & 0o077 == 0
    assert json.loads((ran[1] / "report" / "report.json").read_text())["schema"] == 1


UNITTEST = """
import unittest

class Idle:
    def test_idle(self):
        assert count(AGES, 1, default_rng(0))[0] > -100

@pytest.mark.dp(epsilon=1, trials=100)
class TestMarked(Idle, unittest.TestCase):
    pass

@pytest.mark.dp(epsilon=1, trials=100)
class TestUnused(Idle, unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _audits(self, dp_audit):
        self.audit = dp_audit

@pytest.mark.dp(epsilon=1, trials=100)
class TestAudits(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _audits(self, dp_audit):
        self.audit = dp_audit

    def test_right(self):
        self.audit(count, AGES, AGES[:-1], isolation=HERE)

    def test_skipped(self):
        self.skipTest("not today")

class TestPlain(Idle, unittest.TestCase):
    pass
"""


def test_a_marked_unittest_that_audits_nothing_fails(pytester):
    pytester.makepyfile(
        textwrap.dedent(MECHANISMS) + "\nfrom numpy.random import default_rng\n" + UNITTEST
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    done.stdout.fnmatch_lines(["*marked dp, and nothing is audited*"])
    done.stdout.fnmatch_lines(["*asked for dp_audit and never called it*"])


THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor

def told(ages):
    return len(ages)

@pytest.mark.dp(epsilon=1, trials=200)
class TestThreads:
    def test_thread(self, dp_audit):
        one = threading.Thread(target=dp_audit, args=(told, AGES, AGES[:-1]), kwargs=GIVEN)
        one.start()
        one.join()

    def test_pool(self, dp_audit):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(dp_audit, told, AGES, AGES[:-1], **GIVEN)

    def test_error(self, dp_audit):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(dp_audit, told, AGES, "no neighbour", **GIVEN)

    def test_expected(self, dp_audit):
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(dp_audit, told, AGES, AGES[:-1], **GIVEN)
            with pytest.raises(AssertionError, match="What leaked"):
                found.result()

    def test_expected_there(self, dp_audit):
        def work():
            with pytest.raises(AssertionError, match="What leaked"):
                dp_audit(told, AGES, AGES[:-1], **GIVEN)

        one = threading.Thread(target=work)
        one.start()
        one.join()

    def test_right(self, dp_audit):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(dp_audit, count, AGES, AGES[:-1], **GIVEN)
"""


def test_a_refutation_in_a_thread_fails_the_test(pytester):
    """One that the test is told of, and expects, does not."""
    given = '\nGIVEN = {"observe": ()}\n'  # in processes: what is drawn here alone is withheld
    pytester.makepyfile(textwrap.dedent(MECHANISMS) + given + THREADS)
    quiet = ("-W", "ignore::pytest.PytestUnhandledThreadExceptionWarning")
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", *quiet)
    done.assert_outcomes(passed=3, failed=3)
    failed = [line for line in done.outlines if line.startswith("FAILED")]
    assert sorted(line.split("::")[-1].split()[0] for line in failed) == [
        "test_error",
        "test_pool",
        "test_thread",
    ]


PROOFS = """
    import numpy as np
    import pytest
    from dpaudit.mechanisms.foreign.isolation import Isolation

    GIVEN = dict(epsilon=3, domain=dict(bounds=(0, 10), records=4), relation="replace-record")

    def noisy_sum(data, rng):
        return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)

    def branching(data, rng):
        noise = rng.laplace(scale=1.0)
        return 1.0 + noise if data[0] > 0.5 else noise

    @pytest.mark.dp(proved=True, trials=200, **GIVEN)
    @pytest.mark.parametrize("mechanism", [noisy_sum, branching])
    def test_is_proved(dp_audit, mechanism):
        dp_audit(mechanism, isolation=Isolation(in_process=True))
"""


def test_a_marker_may_require_a_proof(pytester):
    pytester.makepyfile(test_proofs=PROOFS)
    done = pytester.runpytest_inprocess(*OPTIONS)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*not proved: epsilon = 3*", "*branch*"])
