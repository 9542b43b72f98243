"""Requests of a service and what comes back: against real servers on this machine."""

import gzip
import json
import pickle
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import pytest

from dpaudit import Service
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.services.answers import ServiceAnswer, output_of
from dpaudit.services.limits import Journal
from dpaudit.services.waiting import wait_of
from tests.services.servers import Asked, Laplace, Limited, Spent, reply, serving

RNG = np.random.default_rng


def echo(asked: Asked):
    """Return the request itself as JSON."""
    return reply(
        {
            "method": asked.method,
            "line": asked.line,
            "query": asked.query,
            "headers": asked.headers,
            "body": asked.body.decode(),
        }
    )


def said(service: Service, dataset, seed=0):
    """Return what a server reads of a request."""
    return service(dataset, RNG(seed))


def test_records_travel_in_the_address():
    with serving(echo) as server:
        seen = said(Service(f"{server.url}/count?rows={{data}}&s={{seed}}"), np.array([1.5, -2]))
    assert json.loads(seen["query"]["rows"]) == [1.5, -2.0]
    assert seen["method"] == "GET"
    assert seen["query"]["s"].isdecimal()


@pytest.mark.parametrize(
    ("body", "kind", "read"),
    [
        ({"rows": "{data}", "tag": "n-{seed}"}, "application/json", json.loads),
        ('{"rows": {data}, "tag": "n-{seed}"}', "application/json", json.loads),
        ('{"rows": "{data}", "tag": "n-{seed}"}', "application/json", json.loads),
    ],
)
def test_records_travel_in_a_body_of_json(body, kind, read):
    with serving(echo) as server:
        seen = said(Service(server.url, body=body), [[1, "a"], [2, 'b"}']])
    found = read(seen["body"])
    assert seen["method"] == "POST"
    assert seen["headers"].get("content-type") == kind
    assert found["rows"] == [[1, "a"], [2, 'b"}']]
    assert found["tag"].startswith("n-")


def test_records_travel_in_a_form():
    from urllib.parse import parse_qs

    with serving(echo) as server:
        seen = said(Service(server.url, body="rows={data}&of=a&n={fresh}"), ["x&y", "z=1"])
    assert seen["headers"]["content-type"] == "application/x-www-form-urlencoded"
    fields = parse_qs(seen["body"])
    assert json.loads(fields["rows"][0]) == ["x&y", "z=1"]
    assert len(fields["n"][0]) == 32


def test_a_name_or_a_whole_address_says_which_dataset():
    with serving(echo) as server:
        named = said(Service(f"{server.url}/{{dataset}}/count"), "with alice/1")
        whole = said(Service("{dataset}"), f"{server.url}/a?x=1")
    assert named["line"] == "/with%20alice%2F1/count"
    assert whole["line"] == "/a?x=1"
    with pytest.raises(InvalidArgument, match="dataset"):
        said(Service("http://127.0.0.1:1/{dataset}"), [1.0])


def test_a_nonce_never_repeats_and_a_seed_does():
    with serving(echo) as server:
        service = Service(f"{server.url}/?n={{fresh}}&s={{seed}}", fresh="header:X-Nonce")
        first, again = said(service, [1]), said(service, [1])
        other = said(service, [1], seed=1)
    assert first["query"]["s"] == again["query"]["s"] != other["query"]["s"]
    assert first["query"]["n"] != again["query"]["n"]
    assert first["headers"]["x-nonce"] == first["query"]["n"]


@pytest.mark.parametrize("body", [{"q": "a"}, '{"q": "a"}', "q=a", "{}"])
def test_a_nonce_goes_into_a_body(body):
    with serving(echo) as server:
        service = Service(server.url, body=body, fresh="body:nonce")
        bodies = {said(service, [1])["body"] for _ in range(3)}
    assert len(bodies) == 3
    assert all("nonce" in one for one in bodies)


@pytest.mark.parametrize("where", ["nonce", "query:", "cookie:a", "body:a", 3])
def test_a_nonce_without_a_place_is_refused(where):
    with pytest.raises(InvalidArgument, match=r"^fresh: "):
        Service("http://127.0.0.1/", fresh=where)


def test_secrets_come_from_the_environment_and_are_shown_nowhere(monkeypatch):
    monkeypatch.setenv("COUNT_TOKEN", "tok-12345")
    headers = {"Authorization": "Bearer {env:COUNT_TOKEN}", "X-Api-Key": "env:COUNT_TOKEN"}
    with serving(echo) as server:
        service = Service(f"{server.url}/?key={{env:COUNT_TOKEN}}", headers=headers)
        seen = said(service, [1])
        failing = Service(f"{server.url}/?key={{env:COUNT_TOKEN}}", read="/none")
        with pytest.raises(MechanismError) as error:
            said(failing, [1])
    assert seen["headers"]["authorization"] == "Bearer tok-12345"
    assert seen["headers"]["x-api-key"] == seen["query"]["key"] == "tok-12345"
    shown = [repr(service), service.name, str(error.value), service.__identity__]
    assert not any("tok-12345" in one for one in shown)
    assert b"tok-1" not in pickle.dumps(service)
    monkeypatch.delenv("COUNT_TOKEN")
    with pytest.raises(InvalidArgument, match="env:COUNT_TOKEN"):
        said(service, [1])


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"Authorization": "Bearer 12345"}},
        {"headers": {"X-API-Key": "12345"}},
        {"headers": {"Cookie": "id=12345"}},
        {"url": "http://me:12345@127.0.0.1/"},
    ],
)
def test_a_secret_that_is_written_down_is_refused_and_not_repeated(given):
    with pytest.raises(InvalidArgument) as error:
        Service(**{"url": "http://127.0.0.1/", **given})
    assert "12345" not in str(error.value)
    assert "env:" in str(error.value)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"url": "ftp://127.0.0.1/"}, "url"),
        ({"url": "127.0.0.1:80/"}, "url"),
        ({"url": "http://127.0.0.1:99999/"}, "url"),
        ({"url": "http://127.0.0.1/a b"}, "url"),
        ({"url": "http://127.0.0.1/{salt}"}, "url"),
        ({"rate": 0}, "rate"),
        ({"request_timeout": float("nan")}, "request_timeout"),
        ({"max_bytes": -1}, "max_bytes"),
        ({"headers": {"A\nB": "c"}}, "headers"),
        ({"headers": {"A": "c\nd"}}, "headers"),
    ],
)
def test_what_is_no_service_is_refused_by_name(given, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: "):
        Service(**{"url": "http://127.0.0.1/", **given})


@pytest.mark.parametrize(
    ("body", "read", "output"),
    [
        (b"3.5\n", None, 3.5),
        (b"7", None, 7),
        (b"red\n", None, "red"),
        (b"[1, 2.5]", None, [1, 2.5]),
        (b'{"a/b": {"c~": [5, 6]}}', "/a~1b/c~0/1", 6),
        (b'{"count": 3}', "count", 3),
        (b"anything", "header:X-Count", 12.0),
        (b"request 17: 3.2", None, "request 17: 3.2"),
        (b"9007199254740993", None, 2**53 + 1),
    ],
)
def test_the_output_is_the_part_that_is_read(body, read, output):
    answer = ServiceAnswer(200, "OK", {"x-count": "12"}, body)
    assert output_of(answer, read) == output


def test_a_number_is_one_whether_it_is_sent_as_3_or_as_3_0():
    sent = [ServiceAnswer(200, "OK", {}, body) for body in (b"3", b"3.0", b'{"n": 3}')]
    assert [type(output_of(one, "n" if b"n" in one.body else None)) for one in sent] == [float] * 3


@pytest.mark.parametrize(
    ("sent", "charset"),
    [("wärmer".encode("latin-1"), "iso-8859-1"), ("wärmer".encode("utf-16"), "UTF-16")],
)
def test_a_text_is_read_in_the_charset_that_it_names(sent, charset):
    answer = ServiceAnswer(200, "OK", {"content-type": f"text/plain; charset={charset}"}, sent)
    assert output_of(answer, None) == "wärmer"
    for other, words in ((";", "names no charset"), ("; charset=ascii", "is not text in ascii")):
        with pytest.raises(MechanismError, match=f"no UTF-8 and {words}"):
            output_of(answer._replace(headers={"content-type": f"text/plain{other}"}), None)


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
    ],
)
def test_a_body_that_is_packed_unasked_is_unpacked_up_to_its_size(encoding, packed):
    def rule(asked: Asked):
        body = b"3.5" if asked.path == "/" else b"9" * 10**6
        sent = packed(body)[:-9] if asked.path == "/torn" else packed(body)
        return 200, {"Content-Encoding": "br" if asked.path == "/br" else encoding}, sent

    with serving(rule) as server:
        assert said(Service(server.url), [1]) == 3.5
        for path, words in (("torn", f"not {encoding}"), ("br", "encoding br")):
            with pytest.raises(MechanismError, match=words):
                said(Service(f"{server.url}/{path}"), [1])
        with pytest.raises(MechanismError, match="more than 2000 bytes"):
            said(Service(f"{server.url}/large", max_bytes=2000), [1])


@pytest.mark.parametrize(
    ("body", "read", "words"),
    [
        (b"  ", None, "empty"),
        (b"\xff\xfe", None, "UTF-8"),
        (b'{"a": NaN}', None, "NaN"),
        (b"1e999", None, "finite"),
        (b'{"a": [1, {"b": -1e999}]}', None, "finite"),
        (b'{"a": [1, {"b": -1e999}], "c": 2}', "a", "finite"),
        (b"[" * 100_000, None, "nested"),
        (b"[" * 80 + b"]" * 80, None, "nested"),
        (b'{"b": 1}', "a", "there is b"),
        (b"[1]", "/1", "a list of 1"),
        (b"{", None, "no JSON"),
    ],
)
def test_an_answer_that_is_no_output_is_an_error(body, read, words):
    answer = ServiceAnswer(200, "OK", {"content-type": "application/json"}, body)
    with pytest.raises(MechanismError, match=words):
        output_of(answer, read)


def test_a_number_beside_the_output_that_no_double_holds_is_no_error():
    answer = ServiceAnswer(200, "OK", {}, b'{"a": 1e999, "c": 2}')
    assert output_of(answer, "c") == 2


def test_what_a_service_says_is_hidden_as_records_are():
    with serving(lambda _: reply({"error": "Alice is 31"}, 400)) as server:
        with pytest.raises(MechanismError, match="answered 400 Bad Request") as error:
            said(Service(server.url), [1])
    assert "Alice" not in str(error.value)


def test_a_redirect_stays_on_its_host():
    def rule(asked: Asked):
        if asked.path == "/old":
            return 302, {"Location": "/new?x=1"}, b""
        if asked.path == "/away":
            return 302, {"Location": other.url}, b""
        return 301, {"Location": "/loop"}, b"" if asked.path == "/loop" else (200, {}, b"")

    def here(asked: Asked):
        return reply(5) if asked.path == "/new" else rule(asked)

    with serving(echo) as other, serving(here) as server:
        assert said(Service(f"{server.url}/old"), [1]) == 5
        with pytest.raises(MechanismError, match="another host"):
            said(Service(f"{server.url}/away"), [1])
        with pytest.raises(MechanismError, match="redirects"):
            said(Service(f"{server.url}/loop"), [1])
    assert not other.asked


def test_an_answer_has_a_largest_size():
    with serving(lambda _: reply("x" * 2000)) as server:
        with pytest.raises(MechanismError, match=r"more than 1000 bytes \(max_bytes\)"):
            said(Service(server.url, max_bytes=1000), [1])


def test_a_slow_answer_is_no_hang():
    waits = threading.Event()

    def rule(_: Asked):
        waits.wait(5)
        return reply(1)

    with serving(rule) as server:
        with pytest.raises(MechanismError, match=r"did not answer in 0.05 s \(request_timeout\)"):
            said(Service(server.url, request_timeout=0.05), [1])
        waits.set()


def test_nobody_at_an_address_is_said_plainly():
    with serving(echo) as server:
        url = server.url
    with pytest.raises(MechanismError, match=r"nothing answers at http://127\.0\.0\.1:"):
        said(Service(url), [1])


def test_tls_that_fails_is_said_plainly():
    with serving(echo) as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(MechanismError, match="TLS"):
            said(Service(url, request_timeout=2), [1])


def test_a_connection_that_was_closed_meanwhile_is_opened_again():
    closing = {"Connection": "close"}

    def rule(asked: Asked):
        found = reply(len(server.asked))
        return found if len(server.asked) % 2 else (found[0], {**found[1], **closing}, found[2])

    with serving(rule) as server:
        service = Service(server.url)
        assert [said(service, [1]) for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("status", [429, 503])
def test_a_limit_is_respected_and_nothing_of_it_is_an_output(status):
    rule = Limited(Laplace(), status=status)
    with serving(rule) as server:
        service = Service(f"{server.url}/with")
        outputs = [said(service, "with") for _ in range(60)]
        seen = service.seen
    assert len(outputs) == seen.answers == 60
    assert seen.refusals == rule.refused
    assert all(isinstance(one, float) for one in outputs)


def test_waits_follow_what_is_asked_for_and_grow_to_a_cap():
    bare = ServiceAnswer(429, "Too Many Requests", {}, b"")
    assert [wait_of(bare, n) for n in (1, 2, 3, 30)] == [0.25, 0.5, 1.0, 30.0]
    assert wait_of(bare._replace(headers={"retry-after": "7"}), 1) == 7
    soon = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 100))
    assert 98 < wait_of(bare._replace(headers={"retry-after": soon}), 1) <= 100


def test_patience_ends():
    with serving(lambda _: reply(0, 429, **{"Retry-After": "3600"})) as server:
        with pytest.raises(
            MechanismError, match=r"429 .* 3600 s or more in all, and 10 s are allowed"
        ):
            said(Service(server.url, patience=10), [1])


def test_a_budget_that_is_over_says_after_how_many_answers():
    with serving(Spent(Laplace(), 5)) as server:
        service = Service(f"{server.url}/with")
        for _ in range(5):
            said(service, "with")
        with pytest.raises(MechanismError, match="answered 403 Forbidden after 5 answers"):
            said(service, "with")


def test_a_service_that_is_started_again_is_waited_for(monkeypatch):
    monkeypatch.setattr("dpaudit.services.service.RESTART", 0.5)
    with serving(closing) as server:
        service = Service(server.url)
        said(service, [1])
    port = int(server.url.rpartition(":")[2])
    later = threading.Thread(target=lambda: (time.sleep(0.1), served(port)))
    later.start()
    assert said(service, [1]) == 1
    later.join()
    with pytest.raises(MechanismError, match="nothing answers"):
        said(service, [1])
    assert service.seen.answers == 2


def closing(_: Asked):
    """Return an answer after which the connection is closed."""
    return reply(1, **{"Connection": "close"})


def served(port):
    """Answer requests at a port for a moment."""
    with serving(closing, port):
        time.sleep(0.6)


ASKING = """
import pickle, sys
import numpy as np
service = pickle.loads(bytes.fromhex(sys.argv[1]))
for _ in range(10):
    service([1], np.random.default_rng(0))
"""


@pytest.mark.slow
def test_one_rate_holds_for_all_processes():
    with serving(echo) as server:
        service = Service(server.url, rate=40)
        given = [sys.executable, "-c", ASKING, pickle.dumps(service).hex()]
        for process in [subprocess.Popen(given) for _ in range(2)]:
            assert process.wait(60) == 0
        assert service.seen.requests == service.seen.answers == 20
        taken = server.arrived[-1] - server.arrived[0]
    assert taken > 0.8 * 19 / 40  # nobody asks more often, however slow the machine is


def test_a_file_of_another_clock_holds_nobody_up():
    journal = Journal("of-a-test")
    try:
        journal.hold(1e9)
        assert journal.turn(rate=10) == 0
        assert 0 < journal.turn(rate=10) <= 0.1
    finally:
        journal.leave()


def test_what_identifies_a_service_is_what_it_is_asked():
    one = Service("http://127.0.0.1/", rate=5)
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(one)).seen == one.seen
    assert one.__identity__ == Service("http://127.0.0.1/", rate=5).__identity__
    assert one.__identity__ != Service("http://127.0.0.1/", rate=5, read="a").__identity__


def test_what_is_seen_is_what_a_service_says_of_itself():
    def rule(asked: Asked):
        return reply(1, **{"Age": "3"} if len(server.asked) == 2 else {})

    with serving(rule) as server:
        service = Service(server.url)
        for _ in range(3):
            said(service, [1])
        seen = service.seen
    assert seen.versions == ("Server: counts/1.0",)
    assert 0 < seen.first <= seen.last
    assert (seen.cached, seen.said_by) == (1, "Age: 3")


@pytest.mark.slow
def test_no_module_of_an_audit_opens_a_connection_by_itself():
    code = (
        "import sys; sys.addaudithook(lambda e, _: e.startswith('socket.') and sys.exit(9));"
        "import dpaudit.services, dpaudit.cli.main"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_turns_are_as_far_apart_as_the_rate_says():
    journal = Journal("of-another-test")
    try:
        turns = [journal.turn(rate=0.01) for _ in range(4)]
    finally:
        journal.leave()
    assert turns == pytest.approx([0, 100, 200, 300], abs=5)
