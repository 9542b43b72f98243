"""Worker processes: what they are sent and send back, how they end, and that none is left over."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from dpaudit.errors import DpauditError, InvalidArgument, MechanismError, UnknownName
from dpaudit.execution import plan_units, worker
from dpaudit.execution.failures import CannotTravel, DrawTimeout, WorkerEnded, format_exit_status
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import Limits
from dpaudit.execution.tasks import has_last_task

VALUES = [
    None,
    True,
    -(2**70),
    0.1,
    math.inf,
    "text \x1b\u202e\ud800",
    b"\0\xff",
    [1, [2.5, "a"]],
    (1, (np.float32(2.0),)),
    {"a": 1, 2: (3,)},
    np.arange(6.0).reshape(2, 3),
    np.arange(6)[::2],
    np.zeros((0, 3)),
    np.array(1 + 2j),
    np.array([1, 2], dtype=">i4"),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.array([True, False]),
    np.longdouble(1) / 3,
]


def process(unit):
    time.sleep(0.02)
    return os.getpid()


def numbers(unit):
    return unit.generator().random(unit.trials)


def exits(status, unit):
    os._exit(status)


def sleeps(seconds, unit):
    time.sleep(seconds)


def raises(error, unit):
    raise error


def needs_memory(size, unit):
    return len(np.ones(size // 8))


def global_noise(unit):
    return np.random.random(3)  # noqa: NPY002


def leaves_a_child(unit):
    return subprocess.Popen(["sleep", "1000"], start_new_session=unit.trials == 1).pid


def crew_result(task, trials=1, **limits):
    with Crew(Limits(**limits)) as crew:
        (found,) = crew.map(task, plan_units(trials, trials, SeedSequence(0)), 1)
        return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=5.0):
    """Return whether all processes ended within so many seconds."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


def same(one, other):
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_as_they_are(value):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker.send_message(ours, {"do": "it"}, value)
        ours.close()
        message = worker.receive_message(theirs)
        assert message["do"] == "it"
        assert same(message["value"], value)
        assert worker.receive_message(theirs) is None


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, [lambda: 0], np.array([None]), np.ma.masked_array([1.0], mask=[True])],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_data_is_not_sent(value):
    with pytest.raises(worker.CannotBeSent):
        worker.pack_value(value, [])


@pytest.mark.parametrize("cut", [1, 15, 16, 30, -1])
def test_a_message_that_is_cut_off_is_no_message(cut):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        worker.send_message(ours, {}, np.arange(10.0))
        whole = theirs.recv(10_000)
        ours.sendall(whole[:cut])
        ours.close()
        with pytest.raises(ConnectionError):
            worker.receive_message(theirs)


@pytest.mark.parametrize(
    "text", [b"nothing found", b"{}", b"[1]", b'{"sizes": [8], "value": {"array": ["|O", [1]]}}']
)
def test_a_text_that_is_no_message_is_said_to_be_none(text):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(worker.HEAD.pack(worker.MAGIC, len(text), 8) + text + bytes(8))
        with pytest.raises(worker.NoMessage):
            worker.receive_message(theirs)


def test_a_message_that_claims_to_be_larger_than_its_process_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(worker.HEAD.pack(worker.MAGIC, 2, 2**62) + b"{}")
        with pytest.raises(worker.NoMessage):
            worker.receive_message(theirs, 2**32)


def test_an_answer_that_does_not_go_on_is_not_waited_for_for_ever():
    with (
        Crew(Limits(timeout=0.5, memory=2**31)) as crew,
        pytest.raises(WorkerEnded, match="without an answer"),
    ):
        crew.call(_begin_an_answer)


def _begin_an_answer():
    for number in range(3, 64):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as channel:
            channel.send(worker.HEAD.pack(worker.MAGIC, 2**30, 0))
    return 0.0


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_plans_order_from_any_number_of_workers(workers):
    units = plan_units(1000, 7, SeedSequence(3))
    with Crew() as crew:
        found = [one for some in crew.map(numbers, units, workers) for one in some]
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate([*map(numbers, units)]))


def test_a_crew_keeps_its_workers_until_it_is_closed():
    units = plan_units(12, 1, SeedSequence(0))
    with Crew() as crew:
        first, again = ({p for some in crew.map(process, units, 2) for p in some} for _ in "ab")
        assert first == again
        assert (len(first), crew.started) == (2, 2)
        assert os.getpid() not in first
    assert gone(first)
    assert not first & {p for some in crew.map(process, units, 2) for p in some}


def test_workers_draw_global_noise_of_their_own():
    """A worker is a copy of another process, and must not have its generator."""
    drawn = [crew_result(global_noise)[0].tobytes() for _ in range(4)]
    assert len(set(drawn)) == 4


@pytest.mark.parametrize(
    ("task", "limits", "words"),
    [
        (partial(exits, 0), {}, "ended with status 0, as by os._exit"),
        (partial(exits, 1), {}, "ended with status 1, as by os._exit"),
        (partial(raises, SystemExit(0)), {}, r"ended the program with sys.exit\(0\)"),
        (partial(raises, KeyboardInterrupt()), {}, "KeyboardInterrupt: ''"),
        (
            partial(raises, ZeroDivisionError("division by zero")),
            {},
            r"ZeroDivisionError: 'division by zero' in .*line \d",
        ),
        (partial(sleeps, 60), {"timeout": 0.2}, "stopped after 0.2 seconds without an answer"),
        (partial(needs_memory, 2**33), {"memory": 2**29}, "MemoryError"),
    ],
    ids=lambda value: "",
)
def test_the_end_of_other_peoples_code_is_named(task, limits, words):
    with pytest.raises(MechanismError, match=words):
        crew_result(task, **limits)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_a_worker_that_is_killed_is_named_by_its_signal(number):
    with pytest.raises(WorkerEnded, match=rf"was ended by signal {int(number)} \({number.name}\)"):
        crew_result(lambda unit: os.kill(os.getpid(), number))


def test_a_signal_without_a_name_has_a_number():
    assert format_exit_status(-63).startswith("was ended by signal 63 (")


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument("rows", [1, 2], "fewer"),
        UnknownName("claim", "a", ["b"]),
        MechanismError("text"),
        DpauditError("plain"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_this_package_cross_as_themselves(error):
    with pytest.raises(type(error)) as caught:
        crew_result(partial(raises, error))
    assert (type(caught.value), str(caught.value)) == (type(error), str(error))
    assert "raise error" in str(caught.value.__cause__)


def test_a_crew_goes_on_after_a_failure():
    units = plan_units(4, 1, SeedSequence(0))
    with Crew() as crew:
        with pytest.raises(WorkerEnded):
            list(crew.map(partial(exits, 0), units, 2))
        assert [len(one) for some in crew.map(numbers, units, 2) for one in some] == [1] * 4


@pytest.mark.parametrize("holds", [threading.Lock(), sys.stderr], ids=["lock", "file"])
def test_what_only_this_process_has_does_not_travel(holds):
    with pytest.raises(CannotTravel, match=r"cannot pickle|TypeError"):
        crew_result(lambda unit: holds)


def test_a_result_that_is_no_data_is_a_failure():
    with pytest.raises(DpauditError, match=r"CannotBeSent: .*builtins\.object"):
        crew_result(lambda unit: object())


def test_functions_that_are_defined_anywhere_travel():
    offset = 3

    def local(unit):
        return unit.trials + offset

    assert crew_result(local, 4) == [7]
    assert crew_result(lambda unit: unit.trials * offset, 4) == [12]


def test_standard_output_of_a_worker_is_not_the_programs():
    code = """
        import subprocess
        from dpaudit.execution.pool import Crew
        def prints():
            print("not for standard output", flush=True)
            subprocess.run(["echo", "nor this"], check=True)
        Crew().call(prints)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "not for standard output\nnor this\n")


@pytest.mark.parametrize("trials", [1, 2], ids=["own session", "same session"])
def test_what_a_worker_started_ends_with_it(trials):
    (pid,) = crew_result(leaves_a_child, trials)
    if trials == 2:
        assert gone([pid])
    else:  # it left its worker's group: it ends with the program, as the next test shows
        os.kill(pid, signal.SIGKILL)


PROGRAM = """
import os, signal, subprocess, sys, time
import numpy as np
from dpaudit.execution.pool import Crew
from dpaudit.execution import plan_units

def task(unit):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=unit.trials == 1)
    os.write(2, f"{os.getpid()} {os.getppid()} {child.pid}\\n".encode())  # a line, or nothing
    while True:
        pass

if __name__ == "__main__":
    # What a suite run in the background ignores, it has to hear of here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    units = plan_units(3, 2, np.random.SeedSequence(0))
    list(Crew().map(task, units, 2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_program(tmp_path, number):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        try:
            pids = {int(pid) for _ in range(2) for pid in program.stderr.readline().split()}
            assert len(pids) == 5  # two workers, two children, one keeper
            program.send_signal(number)
            ended = gone({program.pid, *pids}, 10.0)
        finally:
            program.kill()
        assert ended


def test_a_keeper_that_is_killed_takes_its_workers_along_and_is_replaced():
    with Crew() as crew:
        keeper, pid = crew.call(os.getppid), crew.call(os.getpid)
        os.kill(keeper, signal.SIGKILL)
        assert gone([keeper, pid])
        assert crew.call(os.getpid) not in (pid, os.getpid())
        why = r"ended with the process that keeps it, which was ended by signal 9 \(SIGKILL\)"
        with pytest.raises(WorkerEnded, match=why):
            crew.call(lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(60)))
        assert crew.call(os.getpid) not in (pid, os.getpid())


def test_a_copy_of_this_process_has_workers_of_its_own():
    with Crew() as crew:
        keeper = crew.call(os.getppid)
    code = """
        import os
        from dpaudit.execution.pool import Crew
        keeper = Crew().call(os.getppid)
        pid = os.fork()
        if not pid:
            os._exit(7 if Crew().call(os.getppid) != keeper else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), Crew().call(os.getppid) == keeper)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("7 True", "")
    assert alive(keeper)


def test_crews_of_several_threads_do_not_meet():
    def work(number):
        with Crew() as crew:
            units = plan_units(30, 3, SeedSequence(number))
            found[number] = [one for some in crew.map(numbers, units, 2) for one in some]

    found = {}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        expected = [numbers(unit) for unit in plan_units(30, 3, SeedSequence(number))]
        np.testing.assert_array_equal(found[number], expected)


def test_the_other_side_needs_numpy_alone(tmp_path):
    """Another environment can speak the protocol: here one that has no dpaudit."""
    (tmp_path / "theirs.py").write_text(
        "def noisy(data, trials, rng):\n    return data.sum() + rng.random(trials)\n"
    )
    start = textwrap.dedent(f"""
        import runpy, sys
        class NoDpaudit:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("dpaudit", "scipy", "cloudpickle", "sklearn"):
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, NoDpaudit())
        sys.path.insert(0, "")  # dropped, as a script's folder is
        runpy.run_path({worker.__file__!r}, run_name="__main__")
    """)
    control, theirs = socket.socketpair()
    channel, end = socket.socketpair()
    with control, channel:
        with theirs, end:
            command = [sys.executable, "-c", start, str(theirs.fileno())]
            keeper = subprocess.Popen(command, pass_fds=[theirs.fileno()])
            order = json.dumps({"do": "start", "memory": None}).encode() + b"\n"
            socket.send_fds(control, [order], [end.fileno()])
            assert "started" in json.loads(control.recv(1000))
        data = np.array([1.0, 2.0])
        load = {"do": "load", "task": "t", "reference": "theirs:noisy", "path": [str(tmp_path)]}
        worker.send_message(channel, load, data)
        worker.send_message(
            channel, {"do": "run", "task": "t", "units": [[3, 5, [1]], [2, 5, [2]]]}
        )
        assert "failed" not in worker.receive_message(channel)
        first, second = worker.receive_message(channel)["value"]
    expected = 3.0 + np.random.default_rng(SeedSequence(5, spawn_key=(1,))).random(3)
    np.testing.assert_array_equal(first, expected)
    assert len(second) == 2
    assert keeper.wait(10) == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [("timeout", {"timeout": 0}), ("timeout", {"timeout": math.nan}), ("memory", {"memory": 1.5})],
)
def test_limits_that_are_none_are_refused(name, given):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        Limits(**given)


# The time for draws


def sleeps(seconds, unit):
    time.sleep(seconds)
    return unit.trials


@pytest.mark.parametrize(("seconds", "most"), [(0.01, 0.9), (30.0, 2.5)])
def test_draws_end_when_their_time_is_over(seconds, most):
    """Quick units end by themselves and their process stays; one that hangs is ended."""
    units = plan_units(500, 1, SeedSequence(0))
    with Crew() as crew:
        crew.call(math.sqrt, 1.0)
        began = time.monotonic()
        with pytest.raises(DrawTimeout, match="no time"), crew.by(began + 0.3):
            list(crew.map(partial(sleeps, seconds), units, workers=1))
        assert time.monotonic() - began < most
        assert sum(sum(found) for found in crew.map(partial(sleeps, 0.0), units, 1)) == 500
        assert crew.started == (1 if seconds < 1 else 2)


def test_a_block_inside_another_has_no_more_time():
    now = time.monotonic()
    with Crew() as crew, crew.by(now - 1), crew.by(now + 60):
        with pytest.raises(DrawTimeout):
            crew.call(math.sqrt, 1.0)


def test_time_that_is_over_is_no_outcome_of_the_code():
    """A call that hangs longer than it may is one; one that nobody waits for any more is none."""
    (unit,) = plan_units(1, 1, SeedSequence(0))
    with Crew(Limits(timeout=0.2)) as crew:
        with pytest.raises(WorkerEnded), crew.by(time.monotonic() + 60):
            list(crew.map(partial(sleeps, 30.0), [unit], 1))
        assert not issubclass(DrawTimeout, WorkerEnded)


def _is_last(unit):
    return np.array([float(has_last_task())])


def test_a_process_knows_whether_it_ends_with_its_task():
    units = plan_units(2, 1, SeedSequence(0))
    with Crew() as crew:
        assert [one[0] for found in crew.map(_is_last, units, 1) for one in found] == [0.0, 0.0]
        dealt = crew.deal(_is_last, [units[:1], units[1:]], 2)
        assert [one[0] for found in dealt for one in found] == [1.0, 1.0]
        assert crew.call(has_last_task) is False
    assert not has_last_task()


class _Environment:
    def __call__(self, unit):
        return np.array([float("POOL_OTHER" in os.environ), float(os.environ.get("POOL_OWN", 0))])


def test_a_worker_has_the_environment_of_the_program_as_it_is_now(monkeypatch):
    units = plan_units(1, 1, SeedSequence(0))
    found = []
    for own, other in (("1", "x"), ("2", None), ("3", "x")):
        monkeypatch.setenv("POOL_OWN", own)
        if other is None:
            monkeypatch.delenv("POOL_OTHER")
        else:
            monkeypatch.setenv("POOL_OTHER", other)
        with Crew() as crew:
            found += [one.tolist() for (one,) in crew.deal(_Environment(), [units], 1)]
    assert found == [[1.0, 1.0], [0.0, 2.0], [1.0, 3.0]]
