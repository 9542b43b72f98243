"""Calls that print, raise and break things: what is said of them, and within what time."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import MechanismError, shorten_repr, words_of
from dpaudit.execution import keeper
from dpaudit.execution.keeper import KeeperProcess
from dpaudit.execution.printing import PrintReader

HUGE = 200_000_000
PAIR = np.array([0.0, 1.0]), np.array([1.0, 1.0])


def within(seconds, work):
    """Return what some work gives, which may take so long at most."""
    began = time.monotonic()
    found = work()
    assert time.monotonic() - began < seconds
    return found


def test_the_text_of_an_error_is_cut_within_a_second():
    error = ValueError("y" * HUGE)
    assert len(within(1.0, lambda: words_of(error))) <= 100_000


@pytest.mark.parametrize("kind", [dict.fromkeys, list, tuple, set])
def test_what_is_long_is_shown_by_its_beginning_within_a_second(kind):
    value = kind(range(10**6))
    shown = within(1.0, lambda: shorten_repr(value))
    assert len(shown) == 80
    assert shown == shorten_repr(kind(range(50)))  # as of one that is cut at the same place


def test_what_is_short_is_shown_whole():
    assert shorten_repr({1: "a"}) == "{1: 'a'}"
    assert shorten_repr([1, 2]) == "[1, 2]"


# Processes


def raises_much(data, rng):
    raise ValueError("y" * HUGE)


def closes_everything(data, rng):
    os.closerange(3, 256)
    return data.sum() + rng.laplace()


def replaces_numpy(data, rng):
    np.array = None
    return data.sum() + rng.laplace()


def replaces_what_sends(data, rng):
    np.ascontiguousarray = None
    return data.sum() + rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (raises_much, "raised ValueError"),
        (closes_everything, "closed descriptors that it did not open"),
        (replaces_numpy, "replaces functions of numpy or Python, such as np.array"),
        (replaces_what_sends, "replaces functions of numpy or Python, such as np.array"),
    ],
)
def test_the_mechanism_is_named_and_what_it_did(mechanism, said):
    began = time.monotonic()
    with pytest.raises(MechanismError) as caught:
        dpaudit.audit(mechanism, *PAIR, epsilon=1.0, trials=200)
    assert f"mechanism {mechanism.__name__}: " in str(caught.value)
    assert said in str(caught.value)
    assert time.monotonic() - began < 10


def test_a_process_that_does_not_start_says_why_and_what_helps(monkeypatch):
    one = KeeperProcess()
    monkeypatch.setattr(keeper, "_STARTING", 0.3)
    monkeypatch.setattr(one, "_say", lambda *_: None)  # it never hears of the request
    try:
        with pytest.raises(OSError, match=r"none started within 0\.3 seconds, as .* want to run"):
            one.start(None)
    finally:
        one.close()


def test_a_slow_machine_is_waited_for():
    assert keeper._STARTING >= 300


# Prints


def printed(lines, tmp_path, **environment):
    """Return the standard error of a program whose mechanism prints so many lines a call."""
    (tmp_path / "talks.py").write_text(
        textwrap.dedent(
            f"""
            def release(data, rng):
                for number in range({lines}):
                    print("line", number)
                return sum(data) + rng.laplace()
            """
        )
    )
    code = (
        "import numpy as np, dpaudit, talks\n"
        "r = dpaudit.audit(talks.release, [0.0, 1.0], [1.0, 1.0], epsilon=1.0, trials=100)\n"
        "print(r.verdict)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "not refuted\n"
    return done.stderr.splitlines()


def test_what_a_mechanism_prints_is_ten_lines_and_a_count(tmp_path):
    lines = printed(3, tmp_path)
    assert len(lines) == 11
    assert all(line.startswith("line ") for line in lines[:10])
    assert lines[10].endswith("more lines that the code printed")
    assert int(lines[10].split()[1].replace(",", "")) > 200


def test_the_count_is_exact_and_what_is_shown_is_harmless(tmp_path):
    target = tmp_path / "shown"
    for count, more in ((0, ""), (10, ""), (11, "and 1 more line"), (2500, "and 2,490 more lines")):
        source, end = os.pipe()
        with target.open("wb") as file:
            reader = PrintReader(source, file.fileno())
            reader.start()
            with os.fdopen(end, "wb") as stream:
                stream.write(b"\x1b[31mred\n" * count)
            reader.finish(5.0)
        lines = Path(target).read_text().splitlines()
        assert len(lines) == min(count, 10) + bool(more)
        assert "\x1b" not in "".join(lines)
        assert not more or lines[-1].startswith(more)


def test_everything_is_shown_to_who_asks_for_it(tmp_path):
    assert len(printed(1, tmp_path, DPAUDIT_DEBUG="1")) > 200


def test_code_finds_its_own_file(tmp_path):
    """Of a script, what is run afresh in a process, and what goes along by value."""
    (tmp_path / "own_file.py").write_text(
        textwrap.dedent(
            """
            import os
            import dpaudit

            def release(data, rng):
                assert os.path.samefile(__file__, "own_file.py")
                return sum(data) + rng.laplace()

            if __name__ == "__main__":
                def inner(data, rng):
                    return release(data, rng) if os.path.exists(__file__) else None

                for one in (release, inner):
                    found = dpaudit.audit(one, [0.0, 1.0], [1.0, 1.0], epsilon=1.0, trials=100)
                    print(found.verdict)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "own_file.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n") == ["not refuted", "not refuted", ""]
