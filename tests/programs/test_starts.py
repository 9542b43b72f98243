"""How often a program is started: what takes long to start is started no oftener than it must."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit import Service
from dpaudit.auditing.distinguishers.learned_scores import for_mechanism
from dpaudit.auditing.estimators.event import count_choosing
from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.programs import Program

GOES_ON = """
import json, os, random, sys
open("starts", "a").write("start\\n")
for line in sys.stdin:
    asked = json.loads(line)
    if "asks" in asked:
        print('{"dpaudit": 1}', flush=True)
    elif "draw" in asked:
        print("\\n".join(str(random.gauss(0, 1)) for _ in range(asked["draw"])))
        print(json.dumps({"done": asked["request"]}), flush=True)
"""
BOTH = np.array([1.0, 0.0]), np.array([1.0])


@pytest.fixture
def program(tmp_path):
    (tmp_path / "goes_on.py").write_text(GOES_ON)
    return Program(f"{sys.executable} goes_on.py", folder=tmp_path)


def starts(program: Program) -> int:
    return len(Path(str(program.folder), "starts").read_text().splitlines())


def test_what_is_tried_is_not_started_again_to_be_greeted(program):
    assert program.settled(None).goes_on
    assert starts(program) == 1


@pytest.mark.slow
def test_a_start_is_seen_before_the_first_output_and_serves_it(program):
    mechanism = isolate_mechanism(program, Isolation()).mechanism
    assert starts(program) == 2, (
        "a start that is not seen counts as none, and is done dozens of times"
    )
    mechanism.sample(BOTH[0], 3, np.random.default_rng(0))
    mechanism.crew.close()
    assert starts(program) == 2


@pytest.mark.slow
def test_a_variable_that_a_running_program_never_sees_is_refused(program):
    with pytest.raises(InvalidArgument, match="a program that goes on"):
        dpaudit.audit(program, *BOTH, epsilon=1.0, trials=100, fresh="env:SALT")
    once = Program("sh -c 'echo ${SALT}' {seed}")
    assert isolate_mechanism(once, Isolation()).mechanism is not None


@dataclass
class Drawer:
    unit: int
    sparing: bool = False
    asked: int = 0

    def outputs(self, side, trials, purpose):
        self.asked += trials
        return np.zeros((trials, 1))


HOST = "http://127.0.0.1:8000/count?of={dataset}"


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (Program("echo {seed}"), (64, 125)),
        (Service(HOST, rate=5), (64, 125)),
        (Service(HOST), (150, 500)),
        (lambda data, rng: rng.normal(), (150, 500)),
    ],
    ids=["program", "limited service", "service", "function"],
)
def test_an_event_is_chosen_on_fewer_outputs_where_calls_cost_much(given, counts):
    drawer = CodeDrawer(as_mechanism(given))
    assert tuple(count_choosing(drawer, trials) for trials in (300, 1000)) == counts


@dataclass
class CodeDrawer:
    mechanism: object


@dataclass
class Case:
    mechanism: object = None
    a_unit: object = None


@pytest.mark.parametrize(("unit", "asked"), [(1, 0), (64, 201)])
def test_outputs_that_cost_a_call_each_are_not_drawn_to_see_whether_they_repeat(unit, asked):
    drawer = Drawer(unit)
    for_mechanism(Case(), drawer, None)
    assert drawer.asked == asked
