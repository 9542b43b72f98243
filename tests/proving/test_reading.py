"""Functions read on symbols: paths, refusals at their line, and tricks that are refused."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from dpaudit.proving.runs.reading import read_trace
from tests.proving.readings import (
    ARRAY,
    operations,
    refusal,
)

# --- paths -----------------------------------------------------------------------------------


def test_a_branch_on_noise_has_two_paths() -> None:
    def release(x: Any, rng: Any) -> Any:
        total = x.sum() + rng.laplace()
        return total if total > 2 else -1.0

    found = read_trace(release, ARRAY)
    assert [one.decisions for one in found.paths] == [(True,), (False,)]
    assert found.compared == 200
    assert all("decide" in operations(found, n) for n in (0, 1))


def test_a_branch_on_records_is_refused_at_its_line() -> None:
    def release(x: Any, rng: Any) -> Any:
        if x.sum() > 2:
            return rng.laplace()
        return 0.0

    assert "in release" in refusal(release).refusal.place


def test_a_refusal_is_final_whatever_the_code_catches() -> None:
    def release(x: Any, rng: Any) -> Any:
        try:
            biased = 1.0 if x.sum() > 2 else 0.0
        except Exception:
            biased = 0.0
        return x.sum() + rng.laplace() + biased

    assert "records" in refusal(release).refusal.reason


def test_sparse_vector_has_a_path_for_each_stop() -> None:
    def above(x: Any, rng: Any) -> Any:
        limit = 1.0 + rng.laplace()
        for n in range(5):
            if x[: n + 1].sum() + rng.laplace() > limit:
                return n
        return -1

    found = read_trace(above, ARRAY)
    assert [len(one.decisions) for one in found.paths] == [1, 2, 3, 4, 5, 5]


def test_loops_that_noise_ends_are_refused() -> None:
    def redraw(x: Any, rng: Any) -> Any:
        noisy = rng.laplace()
        while noisy > 0:
            noisy = rng.laplace()
        return noisy

    assert "branches" in refusal(redraw, most_paths=50).refusal.reason


def test_more_paths_than_asked_are_refused() -> None:
    def flips(x: Any, rng: Any) -> Any:
        return [1 if rng.random() < 0.5 else 0 for _ in range(6)]

    assert len(read_trace(flips, ARRAY, most_paths=64).paths) == 64
    assert "paths" in refusal(flips, most_paths=63).refusal.reason


def test_a_condition_that_is_asked_twice_is_decided_once() -> None:
    def release(x: Any, rng: Any) -> Any:
        noisy = rng.laplace()
        first = 1 if noisy > 0 else 0
        return first, 1 if noisy > 0 else 0

    assert len(read_trace(release, ARRAY).paths) == 2


def test_noise_may_choose_a_public_position() -> None:
    def release(x: Any, rng: Any) -> Any:
        return ["a", "b", "c"][rng.integers(3)], [1.0, 5.0][np.argmax(rng.laplace(size=2))]

    found = read_trace(release, ARRAY)
    assert len(found.paths) == 6


def test_a_set_of_public_draws() -> None:
    def sample(x: Any, rng: Any) -> Any:
        return {int(one) for one in rng.choice(3, 2, replace=False)}

    found = read_trace(sample, ARRAY)
    assert ["set", ["0", "2"], []] in found.skeletons
    assert all(path.program.outputs == () for path in found.paths)


def test_a_set_of_what_records_decide_is_refused() -> None:
    refusal(lambda x, rng: {int(one > 0.5) for one in x})


# --- tricks ----------------------------------------------------------------------------------

KEPT: list[float] = []


def keeps_state(x: Any, rng: Any) -> Any:
    KEPT.append(0.0)
    return x.sum() * len(KEPT) + rng.laplace()


def asks_for_the_module(x: Any, rng: Any) -> Any:
    return x.sum() * (1 if "proving" in type(x).__module__ else 2) + rng.laplace()


def asks_for_the_text(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() if "Symbol" in repr(x) else x.sum()


def seeds_its_own(x: Any) -> Any:
    return x.sum() + np.random.default_rng(5).laplace()


def reseeds(x: Any) -> Any:
    random.seed(3)
    return x.sum() + random.gauss(0, 1)


def seeds_by_records(x: Any) -> Any:
    return x.sum() + np.random.default_rng(int(x.sum())).laplace()


def takes_the_bits(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() + rng.bit_generator.state["state"]["state"] % 2


def shuffles(x: Any, rng: Any) -> Any:
    rng.shuffle(x)
    return x[0]


def draws_by_records(x: Any, rng: Any) -> Any:
    return rng.laplace(size=int(x.sum()))


def indexes_by_records(x: Any, rng: Any) -> Any:
    return [1, 2, 3][int(x.sum())]


def returns_text(x: Any, rng: Any) -> Any:
    return str(x.sum())


def formats(x: Any, rng: Any) -> Any:
    return f"{x.sum() + rng.laplace():.3f}"


def returns_an_object(x: Any, rng: Any) -> Any:
    return object()


def returns_a_generator(x: Any, rng: Any) -> Any:
    return (one for one in x)


def raises_on_symbols(x: Any, rng: Any) -> Any:
    raise ValueError("no")


def hashes(x: Any, rng: Any) -> Any:
    return len({one for one in x})


def converts_by_numpy(x: Any, rng: Any) -> Any:
    return float(np.asarray(x, dtype=object).sum()) + rng.laplace()


def goes_by_time(x: Any, rng: Any) -> Any:
    import time

    return x.sum() + rng.laplace() + time.perf_counter_ns() % 7


def branches_on_the_largest(x: Any, rng: Any) -> Any:
    return rng.laplace() if max(x) > 0.5 else 0.0


RARE = 0.123456  # what no dataset that is compared holds


def tells_a_rare_record_by_class(x: Any, rng: Any) -> Any:
    shown = x[0] if x.__class__ is np.ndarray and x[0] == RARE else 0.0
    return x.sum() + rng.laplace() + shown


def tells_a_rare_record_by_type(x: Any, rng: Any) -> Any:
    if type(x) is np.ndarray and x[0] == RARE:
        return 1e9
    return x.sum() + rng.laplace()


def tells_a_rare_record_by_table(x: Any, rng: Any) -> Any:
    known = {np.ndarray: lambda: 1e9 if x[0] == RARE else 0.0}
    return x.sum() + rng.laplace() + known.get(x.__class__, lambda: 0.0)()


def tells_a_rare_record_by_text(x: Any, rng: Any) -> Any:
    shown = 1e9 if str(x.__class__)[8:13] == "numpy" and x[0] == RARE else 0.0
    return x.sum() + rng.laplace() + shown


def tells_a_rare_record_by_attribute(x: Any, rng: Any) -> Any:
    shown = 0.0 if "tracing" in dir(x) else 1e9 * (x[0] == RARE)
    return x.sum() + rng.laplace() + shown


def tells_a_rare_record_by_a_number(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() + (1 - ("tracing" in dir(x))) * (x[0] == RARE)


def tells_a_rare_record_by_its_module(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() + ("numpy" in x.__class__.__module__) * (x[0] == RARE)


def tells_a_rare_record_by_its_place(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() + (id(x) % 7) * (x[0] == RARE)


def tells_a_rare_record_by_error(x: Any, rng: Any) -> Any:
    try:
        shown = 1e9 if memoryview(x)[0] == RARE else 0.0
    except TypeError:
        shown = 0.0
    return x.sum() + rng.laplace() + shown


def starts_a_thread(x: Any, rng: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(x.sum()))
    thread.start()
    thread.join()
    return found[0] + rng.laplace()


CALLS = {"count": 0}


class Meter:
    """Counts its calls."""

    spent = 0.0
    total = 0.0

    def release(self, x: Any, rng: Any) -> Any:
        self.spent += 1.0
        return x.sum() + rng.laplace() + (x[0] if self.spent > 10_000 else 0.0)

    def counted(self, x: Any, rng: Any) -> Any:
        Meter.total += 1.0
        return x.sum() + rng.laplace() + (x[0] if Meter.total > 10_000 else 0.0)


def counts_calls(x: Any, rng: Any) -> Any:
    CALLS["count"] += 1
    return x.sum() + rng.laplace() + (x[0] if CALLS["count"] > 10_000 else 0.0)


def _helper() -> int:
    KEPT.append(0.0)
    return len(KEPT)


def counts_calls_of_a_helper(x: Any, rng: Any) -> Any:
    return x.sum() + rng.laplace() + (x[0] if _helper() > 10_000 else 0.0)


def counts_in_a_default(x: Any, rng: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(0)
    return x.sum() + rng.laplace() + (x[0] if len(seen) > 10_000 else 0.0)


class Store:
    """Holds what a call has left."""

    held: Any = None

    @staticmethod
    @lru_cache
    def matrix(size: int) -> Any:
        return np.ones(size)


@lru_cache
def identity(size: int) -> Any:
    return np.eye(size)


def returns_what_a_call_left(x: Any, rng: Any) -> Any:
    before, Store.held = Store.held, x.sum() + rng.laplace()
    return Store.held if before is None else before


TRICKS = [
    returns_what_a_call_left,
    starts_a_thread, counts_calls, counts_calls_of_a_helper, counts_in_a_default,
    tells_a_rare_record_by_class, tells_a_rare_record_by_type, tells_a_rare_record_by_table,
    tells_a_rare_record_by_text, tells_a_rare_record_by_attribute, tells_a_rare_record_by_a_number,
    tells_a_rare_record_by_its_module, tells_a_rare_record_by_its_place,
    tells_a_rare_record_by_error,
    keeps_state, asks_for_the_module, asks_for_the_text, seeds_its_own,
    reseeds, takes_the_bits, seeds_by_records, shuffles, draws_by_records, indexes_by_records,
    returns_text, formats,
    returns_an_object, returns_a_generator, raises_on_symbols, hashes,
    converts_by_numpy, goes_by_time, branches_on_the_largest,
]  # fmt: skip


@pytest.mark.parametrize("function", TRICKS, ids=lambda one: one.__name__)
def test_tricks_are_refused(function: Callable[..., Any]) -> None:
    refusal(function)


def asks_for_the_exact_type(x: Any, rng: Any) -> Any:
    return x.sum() * (2 if type(x) is np.ndarray else 1) + rng.laplace()


@pytest.mark.parametrize("name", ["release", "counted"])
def test_objects_that_change_are_refused(name: str) -> None:
    meter = Meter()
    assert "next call" in refusal(getattr(meter, name)).refusal.reason


@pytest.mark.parametrize("function", [asks_for_the_exact_type])
def test_who_asks_for_a_type_is_told_that_of_the_array(function: Callable[..., Any]) -> None:
    assert "multiply" in operations(read_trace(function, ARRAY, runs=4))


def test_results_that_are_remembered_are_no_symbols_afterwards() -> None:
    def release(x: Any, rng: Any) -> Any:
        return identity(5) @ x + rng.normal(size=5)

    for _ in range(2):
        read_trace(release, ARRAY, runs=8)
    assert type(identity(5)) is np.ndarray


def test_what_a_class_remembers_of_another_call_is_refused() -> None:
    def release(x: Any, rng: Any) -> Any:
        return (Store.matrix(5) * x).sum() + rng.laplace()

    refusal(release)
    Store.matrix.cache_clear()


def test_a_type_is_that_of_the_array() -> None:
    def release(x: Any, rng: Any) -> Any:
        return (type(x) is np.ndarray) * (x[0] == RARE) + rng.laplace()

    assert "equal" in operations(read_trace(release, ARRAY, runs=4))


def raises_on_noise(x: Any, rng: Any) -> Any:
    noisy = x.sum() + rng.laplace()
    if noisy < 0:
        raise ValueError("below")
    return noisy


def raises_what_it_caught(x: Any, rng: Any) -> Any:
    noisy = rng.laplace()
    if noisy < 0:
        return memoryview(x)[0] + noisy
    return noisy


def test_an_error_that_noise_decides_is_an_output() -> None:
    found = read_trace(raises_on_noise, ARRAY)
    assert found.skeletons[0] == ["raises", "ValueError", []]
    assert found.paths[0].program.outputs == ()
    refusal(raises_what_it_caught)
