"""Units computed through joblib: the same results, in order, and failures that are not retried."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpaudit.execution.backends as backends
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Executor, Limits, plan_units, stream
from dpaudit.execution.backends import Backend, Work, _Chunks, compute_chunk
from dpaudit.execution.executor import ShareDrawn, of_each
from dpaudit.execution.units import Stage
from dpaudit.store.keeping import Storing, keep_audit, use_storing

HERE = Path(__file__).parent
UNITS = plan_units(300, size=7, seed=stream(3, "test"))


def draw(unit):
    return unit.generator().random(unit.trials)


def failing(unit):
    if unit.trials != 7:
        raise ValueError("the last one")
    return 0.0


@pytest.fixture
def in_order(monkeypatch):
    """Compute chunks here, the latest first."""

    def asked(self, work, chunks, options, most):
        found = [compute_chunk(work, *one) for one in chunks.next()]
        yield from reversed(found)

    monkeypatch.setattr(Backend, "_asked", asked)


def test_results_come_in_the_order_of_the_plan(in_order):
    backend = Backend("loky", workers=2)
    there = Executor(backend=backend)
    found = np.concatenate(list(there.map(draw, UNITS, "drawing")))
    assert found.tolist() == np.concatenate(list(map(draw, UNITS))).tolist()
    assert sum(backend.done.values()) == len(UNITS)
    assert backend.machines == set()
    assert f"{os.getpid()} {len(UNITS)}" in backend.said


def test_what_waits_is_bounded(monkeypatch, in_order):
    monkeypatch.setattr(backends, "_HELD", 7 * 8 * 3)
    there = Executor(backend=Backend("loky"))
    found = np.concatenate(list(there.map(draw, UNITS, "drawing")))
    assert found.tolist() == np.concatenate(list(map(draw, UNITS))).tolist()


def test_chunks_stop_where_too_much_waits_and_go_on():
    chunks = _Chunks([UNITS[:2], UNITS[2:5]], fresh=True)
    chunks._held = backends._HELD
    assert list(chunks.next()) == []
    chunks._held = 0
    found = list(chunks.next())
    assert [(first, len(units), hand) for first, units, hand in found] == [
        (0, 1, 0), (1, 1, 0), (2, 1, 1), (3, 1, 1), (4, 1, 1)
    ]  # fmt: skip
    quick = _Chunks([UNITS], fresh=False)
    quick._pace = 1e-3
    assert [(len(units), hand) for _, units, hand in quick.next()] == [(len(UNITS), -1)]


def test_an_exception_of_the_code_comes_back_once(in_order):
    there = Executor(backend=Backend("loky"))
    with pytest.raises(MechanismError, match="ValueError"):
        list(there.map(failing, UNITS, "drawing"))


def test_another_dpaudit_is_refused(in_order, monkeypatch):
    work = Work.of(draw, Limits())
    work.own = "other"
    found = compute_chunk(work, 0, [(7, 0, [0], 0)], -1)
    assert isinstance(found.failed, InvalidArgument)
    assert "the same dpaudit" in str(found.failed)


def test_another_machine_is_named(in_order):
    work = Work.of(draw, Limits())
    work.place = work.place | {"numpy": "0.1"}
    found = compute_chunk(work, 0, [(7, 0, [0], 0)], -1)
    assert found.failed is None
    assert [one.startswith("numpy 0.1, there ") for one in found.differences] == [True]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("dask",), "scheduler"),
        (("loky", "tcp://x:1"), "scheduler"),
        (("spark",), "backend"),
        (("loky", None, 0), "workers"),
    ],
)
def test_options_are_refused_by_name(given, named):
    with pytest.raises(InvalidArgument, match=rf"^{named}: "):
        Backend(*given)


@pytest.mark.parametrize(
    ("backend", "package", "extra"), [("dask", "distributed", "dask"), ("ray", "ray", "ray")]
)
def test_what_is_not_installed_is_said(monkeypatch, backend, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    there = Executor(backend=Backend(backend, "tcp://127.0.0.1:1"))
    with pytest.raises(InvalidArgument, match=rf"^backend: .*dpaudit\[{extra}\]"):
        list(there.map(draw, UNITS, "drawing"))


# Shares


CERTIFYING = Stage("certifying (dataset)", certifies=True)


def shared(tmp_path, shard, task=draw, stage=CERTIFYING):
    with use_storing(Storing(tmp_path / "store")), keep_audit("one", "any"):
        return list(Executor(shard=shard).map(task, UNITS, stage))


def test_shares_together_are_the_whole(tmp_path):
    for number in (1, 2, 3):
        with pytest.raises(ShareDrawn) if number < 3 else _nothing():
            found = shared(tmp_path, (number, 3))
    assert np.concatenate(found).tolist() == np.concatenate(list(map(draw, UNITS))).tolist()


@pytest.mark.parametrize("key", ["fitting (dataset)", "certifying (dataset)"])
def test_what_decides_is_drawn_by_every_share(tmp_path, key):
    """A field says what certifies, whatever it is called."""
    assert len(shared(tmp_path, (1, 3), stage=Stage(key))) == len(UNITS)


def test_share_0_draws_nothing_of_it(tmp_path):
    with pytest.raises(ShareDrawn) as drawn:
        shared(tmp_path, (0, 3))
    assert (drawn.value.units, drawn.value.missing) == (0, len(UNITS))


def test_a_share_is_drawn_once(tmp_path):
    counted = []

    def counting(unit):
        counted.append(unit)
        return draw(unit)

    for _ in range(2):
        with pytest.raises(ShareDrawn):
            shared(tmp_path, (1, 5), task=_Task(counting))
    assert len(counted) == len(UNITS[::5])


class _Task:
    """A task that is known by its name, whatever it notes."""

    __identity__ = "task of a test"

    def __init__(self, do):
        self.do = do

    def __call__(self, unit):
        return self.do(unit)


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_without_a_store_there_are_no_shares():
    with pytest.raises(InvalidArgument, match=r"^shard: "):
        list(Executor(shard=(1, 2)).map(draw, UNITS, CERTIFYING))


def test_every_side_draws_its_share_before_the_first_is_missed():
    seen = []

    def do(side):
        seen.append(side)
        raise ShareDrawn("s", (1, 2), 1, 1)

    with pytest.raises(ShareDrawn):
        of_each("ab", do)
    assert seen == ["a", "b"]


# By the command line, with a mechanism whose helper is another module


def command(place, *words, mechanism="mechanism:f"):
    environment = dict(os.environ) | {"DPAUDIT_STORE": "", "PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", "audit", mechanism, "--dataset", "a.csv",
         "--neighbour", "b.csv", "--epsilon", "0.5", "--trials", "400", "--unit", "16", *words],
        cwd=place, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def report(folder):
    """Return a report without what differs between two runs."""
    text = json.loads((folder / "report.json").read_text())
    del text["environment"]
    return _without(text, {"rerun", "seconds"})


def _without(value, names):
    if isinstance(value, dict):
        return {k: _without(v, names) for k, v in value.items() if k not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a.csv").write_text("0\n1\n")
    (tmp_path / "b.csv").write_text("1\n1\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 20])
def test_shares_are_merged_into_the_same_report(place, count):
    few = ("--trials", "160")
    whole = command(place, *few, "--out", "whole")
    assert whole.returncode in (0, 1), whole.stderr
    names = [f"s{number}" for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        ran = command(place, *few, "--shard", f"{number}/{count}", "--store", name)
        assert ran.returncode == 0, ran.stderr
        assert f"share {number} of {count}" in ran.stderr
    merged = subprocess.run(
        [sys.executable, "-m", "dpaudit", "merge", *names, "--into", "all"],
        cwd=place, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "--shard" not in merged.stdout
    ran = command(place, *few, "--store", "all", "--out", "merged")
    assert ran.returncode == whole.returncode
    assert report(place / "merged") == report(place / "whole")


OWN = """
import numpy as np
CALLS = [0]

def counting(data, rng):
    CALLS[0] += 1
    return float(sum(data)) + rng.laplace(scale=2.0 if CALLS[0] == 1 else 1.0)

def own(data):
    return float(sum(data)) + np.random.default_rng().laplace()
"""


def put_together(place, ran_on, names):
    """Draw shares, each of which begins with a copy of what share 0 drew, and merge them."""
    assert ran_on("--shard", f"0/{len(names)}", "--store", "zero").returncode == 0
    for number, name in enumerate(names, 1):
        shutil.copy(place / "zero", place / name)
        ran = ran_on("--shard", f"{number}/{len(names)}", "--store", name)
        assert ran.returncode == 0, ran.stderr
    words = [sys.executable, "-m", "dpaudit", "merge", *names, "--into", "all"]
    subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    return ran_on("--store", "all", "--out", "merged")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counting", "own"])
def test_what_no_seed_decides_is_shared_out_from_share_0_alone(place, name):
    (place / "own.py").write_text(OWN)

    def ran_on(*words):
        return command(place, "--trials", "160", *words, mechanism=f"own:{name}")

    refused = ran_on("--shard", "1/2", "--store", "alone")
    assert refused.returncode == 2
    assert "--shard 0/2 --store FILE" in refused.stderr
    ran = put_together(place, ran_on, ["one", "other"])
    assert ran.returncode in (0, 1), ran.stderr
    drawn, stated = shares_of(place / "all"), json.loads((place / "merged/report.json").read_text())
    assert drawn == {"complete"}
    assert stated["results"][0]["verdict"] != "withheld"
    assert ("first call" in json.dumps(stated)) == (name == "counting")


def shares_of(path):
    """Return whether all stages of the one audit of a store are complete."""
    from dpaudit.store.catalogue import list_audit_stages, list_store_entries
    from dpaudit.store.file import Store

    with Store(path) as store:
        (audit,) = list_store_entries(store)
        return {
            "complete" if one.kept == one.units else one.name
            for one in list_audit_stages(store, audit.number)
        }


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--shard", "3/2", "--store", "s"), "shard"),
        (("--shard", "1/2", "--no-store"), "shard"),
        (("--shard", "1/2", "--until-refuted", "--store", "s"), "shard"),
        (("--scheduler", "tcp://x:1"), "scheduler"),
        (("--backend", "spark"), "backend"),
    ],
)
def test_the_command_refuses_by_name(place, words, named):
    ran = command(place, *words)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"error: {named}: ")


@pytest.mark.slow
def test_loky_gives_the_same_report(place):
    assert command(place, "--out", "whole").returncode in (0, 1)
    ran = command(place, "--out", "there", "--backend", "loky", "--workers", "2")
    assert "Units by worker (loky): " in ran.stderr
    assert report(place / "there") == report(place / "whole")
