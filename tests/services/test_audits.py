"""Verdicts on real servers: private and broken, with caches, limits, budgets and moods."""

import numpy as np
import pytest

import dpaudit
from dpaudit import Service
from dpaudit.cli.main import main
from dpaudit.errors import MechanismError
from tests.services.servers import (
    Balanced,
    Cached,
    Growing,
    Laplace,
    Limited,
    Spent,
    Sticky,
    serving,
)

pytestmark = pytest.mark.slow
RIGHT, BROKEN = 1.0, 0.35
NAMED = "/count?of={dataset}"


def audited(rule, *, path=NAMED, data=("with", "without"), fresh=None, trials=400, **given):
    """Return the result of an audit of 1-DP, and the server."""
    with serving(rule) as server:
        service = Service(f"{server.url}{path}", **given)
        found = dpaudit.audit(service, *data, epsilon=1.0, trials=trials, fresh=fresh)
    return found, server


def failed(result):
    """Return the names of the checks that failed."""
    return [one.name for one in result.contract if not one.passed]


@pytest.mark.parametrize(("scale", "verdict"), [(RIGHT, "not refuted"), (BROKEN, "refuted")])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"path": "/count?rows={data}", "data": (np.array([1.0, 0]), np.array([1.0, 1]))},
        {"path": "/count", "data": ([1, 0], [1, 1]), "body": {"rows": "{data}"}},
    ],
    ids=["names", "address", "body"],
)
def test_a_service_has_the_verdict_of_its_noise(given, scale, verdict):
    result, _ = audited(Laplace(scale), **given)
    assert result.verdict == verdict
    assert any("counts/1.0" in note for note in result.notes)


@pytest.mark.parametrize(
    ("cached", "check", "scale"),
    [
        ({}, "answers do not come back", BROKEN),
        ({"share": 0.5}, "answers do not come back", RIGHT),
        ({"share": 0.5}, "answers do not come back", BROKEN),
        ({"share": 0.05}, "answers do not come back", RIGHT),
        ({"share": 0.01, "says": True}, "no answer says that it is a cache's", RIGHT),
        ({"seconds": 0.2}, None, RIGHT),
        ({"most": 1}, None, BROKEN),
    ],
    ids=["always", "half", "half, broken", "rarely", "says", "for a while", "the last one"],
)
def test_a_cache_is_withheld_with_its_cure(cached, check, scale):
    result, _ = audited(Cached(Laplace(scale), **cached))
    assert result.verdict == "withheld"
    assert check is None or check in failed(result)
    assert "--fresh query:" in result.reason


def test_a_cache_of_whole_numbers_is_seen_by_nonces():
    result, _ = audited(Cached(Laplace(RIGHT, whole=True), share=0.6))
    assert result.verdict == "withheld"
    assert failed(result) == ["answers to requests with nonces"]


def test_caches_of_several_servers_are_withheld():
    one, other = Cached(Laplace(RIGHT)), Cached(Laplace(RIGHT, seed=1))
    assert audited(Balanced(one, other, seed=1))[0].verdict == "withheld"


@pytest.mark.parametrize(("scale", "verdict"), [(RIGHT, "not refuted"), (BROKEN, "refuted")])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_nonce_is_the_cure_of_a_cache(share, scale, verdict):
    rule = Cached(Laplace(scale), share=share)
    assert audited(rule, fresh="query:nonce")[0].verdict == verdict


def test_a_nonce_that_a_cache_does_not_see_is_said():
    result, server = audited(Cached(Laplace(RIGHT)), fresh="header:X-Nonce")
    assert result.verdict == "withheld"
    assert "does not reach" in result.reason
    assert len(server.asked) < 1000  # nothing more is asked then


STICKY = "/count?of={dataset}&q=SELECT%20count"


@pytest.mark.parametrize(("scale", "verdict"), [(RIGHT, "not refuted"), (BROKEN, "refuted")])
def test_sticky_noise_is_withheld_and_right_where_its_query_varies(scale, verdict):
    read = {"read": "/rows/0/0"}
    withheld, _ = audited(Sticky(scale), path=STICKY, **read)
    assert withheld.verdict == "withheld"
    varied, _ = audited(Sticky(scale), path=f"{STICKY}%20--%20{{fresh}}", **read)
    assert varied.verdict == verdict


@pytest.mark.parametrize(("scale", "verdict"), [(RIGHT, "not refuted"), (BROKEN, "refuted")])
@pytest.mark.parametrize("status", [429, 503])
def test_a_limited_service_is_waited_for(status, scale, verdict):
    rule = Limited(Laplace(scale), status=status)
    result, _ = audited(rule)
    assert result.verdict == verdict
    assert rule.refused > 0


def test_a_budget_that_is_spent_is_withheld():
    result, server = audited(Spent(Laplace(BROKEN), 700))
    assert result.verdict == "withheld"
    assert "after 700 answers" in result.reason
    assert len(server.asked) <= 702


def test_a_member_that_no_answer_has_is_an_error_and_no_silence():
    with pytest.raises(MechanismError, match="the answer has nothing at total: there is n"):
        audited(Laplace(BROKEN), read="total")


def test_a_server_of_two_that_is_broken_is_found_or_withheld():
    by_chance, _ = audited(Balanced(Laplace(RIGHT), Laplace(0.1), seed=1))
    in_turn, _ = audited(Balanced(Laplace(RIGHT), Laplace(0.1)))
    assert (by_chance.verdict, in_turn.verdict) == ("refuted", "withheld")


def test_answers_that_follow_the_time_are_withheld():
    assert audited(Growing(Laplace(RIGHT), 20.0))[0].verdict == "withheld"


def test_a_counter_beside_the_value_is_named_with_what_leaves_it_out():
    rule = Laplace(BROKEN)

    def numbered(asked):
        said = f"request {len(server.asked)}: {rule.noisy(asked.count):.3f}"
        return 200, {"Content-Type": "text/plain"}, said.encode()

    with serving(numbered) as server:
        service = Service(f"{server.url}{NAMED}")
        given = {"epsilon": 1.0, "trials": 200}
        whole = dpaudit.audit(service, "with", "without", **given)
        rest = dpaudit.audit(service, "with", "without", ignore=["output.number(0)"], **given)
    assert whole.verdict == "refuted" or "--ignore output.number(0)" in whole.reason
    assert rest.verdict == "refuted"


def test_the_command_line_goes_on_where_it_was_interrupted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNT_TOKEN", "tok-12345")
    (tmp_path / "a.csv").write_text("1\n0\n1\n")
    (tmp_path / "b.csv").write_text("1\n1\n1\n")
    rule = Spent(Laplace(BROKEN), 900)
    with serving(rule) as server:
        url = f"{server.url}/count?rows={{data}}"
        asked = ["audit", "--url", url, "--dataset", "a.csv", "--neighbour", "b.csv"]
        asked += ["--epsilon", "1", "--trials", "400", "--out", "report"]
        asked += ["--header", "Authorization: env:COUNT_TOKEN"]
        assert status(asked) == 2
        rule.left, before = 10**6, len(server.asked)
        assert status(["resume", "report"]) == 2  # nobody else says whom to ask
        assert len(server.asked) == before
        assert status(["resume", "report", url]) == 1
    assert "tok-12345" not in capsys.readouterr().out
    kept = [one.read_bytes() for one in (tmp_path / "report").rglob("*") if one.is_file()]
    assert not any(b"tok-12345" in one for one in kept)


def status(words):
    """Return the exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code or 0
