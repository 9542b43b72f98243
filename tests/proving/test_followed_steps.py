"""How far two runs of one function are followed, where neither is followed to its end."""

from __future__ import annotations

from dpaudit.proving.runs.steps import Steps, least_followed, record_steps


def add_up(count):
    total = 0
    for k in range(count):
        total += k
    return total


def follow(function, most):
    steps = Steps(most)
    with record_steps(steps):
        function()
    return steps


def test_a_run_that_is_followed_less_far_sees_nothing_else():
    further = follow(lambda: add_up(1000), 2000)
    assert not further.is_whole
    nearer = follow(lambda: add_up(1000), least_followed([further]))
    assert not nearer.is_whole
    assert nearer.seen
    assert nearer.seen < further.seen


def test_a_run_that_does_something_else_before_its_end_sees_it():
    one = follow(lambda: add_up(10), 2000)
    assert one.is_whole
    assert not follow(lambda: add_up(11), least_followed([one])).seen <= one.seen
