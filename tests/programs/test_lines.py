"""The protocol of lines: what answers as it says is drawn from, and nothing else gives a number."""

import json
import math
import shlex
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaudit.programs.lines as lines
import dpaudit.programs.running as running
from dpaudit.errors import MechanismError
from dpaudit.programs import Program
from dpaudit.programs.answers import read_piece
from dpaudit.programs.lines import Conversation
from dpaudit.programs.printed_text import json_of
from dpaudit.programs.running import ProgramFailed, TooMuch

SCRIPT = """
while read -r line; do
  case "$line" in
    *'"dpaudit"'*) printf "$1" ;;
    *'"records"'*) ;;
    *) printf "$2"; eval "$3" ;;
  esac
done
"""
HELLO = '{"dpaudit": 1}\\n'
THREE = '1.5\\n-2\\n3e1\\n{"done": 1}\\n'


def talk(answer: str = THREE, hello: str = HELLO, then: str = "") -> Conversation:
    return Conversation("talk", ["sh", "-c", SCRIPT, "sh", hello, answer, then], None)


def drawn(conversation: Conversation, count: int = 3):
    try:
        return conversation.draw("a", lambda: [1, 2], count, None)
    finally:
        conversation.close()


def test_an_answer_is_read():
    assert drawn(talk()).tolist() == [1.5, -2.0, 30.0]
    answer = '{"a": [1, 2.5]}\\n"yes"\\nnull\\n{"done": 1}\\n'
    assert drawn(talk(answer)) == [{"a": [1.0, 2.5]}, "yes", None]


JSON_NUMBERS = st.one_of(
    st.integers(-(2**54), 2**54).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["-0", "0", "-0.0", "1E5", "1e-400", "9007199254740993", "1 ", "-0\t"]),
)


@given(st.lists(JSON_NUMBERS, min_size=1, max_size=8))
def test_numbers_are_read_bit_by_bit_as_json_has_them(texts):
    piece = read_piece("".join(f"{one}\n" for one in texts).encode())
    if not isinstance(piece, list):
        expected = [json_of(one) for one in texts]
        assert all(isinstance(one, float) for one in expected)
        assert piece.tobytes() == np.array(expected).tobytes()
    else:  # read one by one: what is no double is among them, or a zero with a sign
        doubtful = [one for one in texts if abs(float(one)) >= 2**53 or float(one) == 0]
        assert doubtful
        assert piece == [one.encode() for one in texts]


@pytest.mark.parametrize(
    "lines", ["1\ntrue\n", "1\nnull\n", "1,2\n[3\n4]\n", "1,2\n3\n", "1\n\n", "01\n", "+1\n"]
)
def test_lines_that_are_no_numbers_are_no_piece_of_numbers(lines):
    assert isinstance(read_piece(lines.encode()), list)


def test_numbers_among_other_outputs_stay_in_their_places():
    answer = '1.5\\nnull\\n-0\\n{"done": 1}\\n'
    found = drawn(talk(answer))
    assert found == [1.5, None, -0.0]
    assert math.copysign(1, found[2]) == -1
    slow = talk("1.5\\n", then='sleep 0.1; printf \'"a"\\n2\\n{"done": 1}\\n\'')
    assert drawn(slow) == [1.5, "a", 2.0]


@pytest.mark.parametrize(
    "answer",
    [
        '1\\n2\\n{"done": 1}\\n',
        '1\\n2\\n3\\n4\\n{"done": 1}\\n',
        '1\\n2\\n3\\n{"done": 2}\\n',
        '1\\n{"done": 1}\\n2\\n3\\n',
        '1\\n2\\nNaN\\n{"done": 1}\\n',
        '1\\n2\\n1e999\\n{"done": 1}\\n',
        '1\\n2\\n{"a": [1, -1e999]}\\n{"done": 1}\\n',
        '1\\n2\\n\\n{"done": 1}\\n',
        '1,2\\n[3\\n4]\\n{"done": 1}\\n',
        '1\\n2\\n\\377\\n{"done": 1}\\n',
        '1\\n2\\nyes\\n{"done": 1}\\n',
        '1\\n2\\n{"dpaudit": 1, "a": 2}\\n{"done": 1}\\n',
        "1\\n2\\n" + "[" * 20_000 + '\\n{"done": 1}\\n',
    ],
)
def test_another_answer_gives_no_number(answer):
    with pytest.raises(MechanismError, match="program talk: answered"):
        drawn(talk(answer))


def test_a_line_that_nobody_asked_for_gives_no_number():
    conversation = talk(THREE, then="sleep 0.1; echo 4")
    conversation.draw("a", lambda: [1, 2], 3, None)
    conversation._came(5.0)
    with pytest.raises(MechanismError, match="no line without a request"):
        drawn(conversation)


def test_an_answer_that_never_ends_is_found_by_another_greeting(monkeypatch):
    monkeypatch.setattr(running, "_FIRST", 0.2)
    with pytest.raises(MechanismError, match="2 outputs came"):
        drawn(talk("1\\n2\\n"))


def test_a_program_that_works_for_long_is_no_such_one(monkeypatch):
    monkeypatch.setattr(running, "_FIRST", 0.2)
    conversation = talk(
        "1\\n", then='sleep 0.5; printf \'2\\n3\\n{"done": 1}\\n\'; set -- "$1" "$4"'
    )
    assert conversation.draw("a", lambda: [1], 3, None).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(MechanismError):  # greetings are answered late, and stand for no outputs
        drawn(conversation)


def test_a_line_has_an_end(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1000)
    with pytest.raises(TooMuch, match="1000 bytes"):
        drawn(talk("1" * 5000))


def test_a_program_that_dies_says_so():
    with pytest.raises(ProgramFailed, match="ended with status 7: out of budget"):
        drawn(talk("1\\n", then="echo out of budget >&2; exit 7"))


def test_a_program_says_its_own_errors():
    with pytest.raises(ProgramFailed, match="answered an error: no column age"):
        drawn(talk('{"error": "no column age"}\\n'))


@pytest.mark.parametrize(
    "hello", ["ready\\n", '{"dpaudit": 2}\\n', '{"dpaudit": 1}\\n3\\n', "1.5\\n"]
)
def test_what_greets_otherwise_does_not_speak_the_protocol(hello):
    with pytest.raises(MechanismError, match="program talk: answered"):
        talk(hello=hello)


NOISER = """
import json, random, sys
sets = {}
for line in sys.stdin:
    asked = json.loads(line)
    if "dpaudit" in asked:
        print(json.dumps({"dpaudit": 1, "seeded": True, "name": "noiser 1"}))
    elif "records" in asked:
        sets[asked["dataset"]] = asked["records"]
    else:
        rng = random.Random(asked["seed"])
        for _ in range(asked["draw"]):
            print(sum(sets[asked["dataset"]]) + rng.choice((-1, 1)) * rng.expovariate(2))
        print(json.dumps({"done": asked["request"]}))
    sys.stdout.flush()
"""


@pytest.fixture
def noiser(tmp_path):
    script = tmp_path / "noiser.py"
    script.write_text(NOISER)
    return f"{shlex.quote(sys.executable)} {script}"


def test_a_program_that_answers_a_greeting_is_asked_for_many_outputs(noiser):
    program = Program(noiser).settled(None)
    assert (program.protocol, program.form) == ("lines", "f(data, trials, rng)")
    one, other = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    draws = [program(data, 50, np.random.default_rng(7)) for data in (one, other, one)]
    assert np.array_equal(draws[0], draws[2])
    assert np.allclose(draws[1] - draws[0], 1.0)


def test_a_program_that_answers_none_is_run_for_every_output():
    program = Program("cat").settled(None)
    assert (program.protocol, program.form) == ("once", "f(data)")


def ended(process: int) -> bool:
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, check=False
    )
    return done.stdout.strip() in (b"", b"Z", b"Zs")


def test_nothing_is_left_of_a_program():
    conversation = talk()
    process = conversation._process.popen.pid
    assert not ended(process)
    conversation.close()
    assert ended(process)


def test_messages_have_their_members_in_the_order_that_is_specified(tmp_path):
    heard = tmp_path / "heard"
    script = f"tee {heard} | while read -r line; do " + SCRIPT.split("do\n", 1)[1]
    conversation = Conversation("talk", ["sh", "-c", script, "sh", HELLO, THREE, ""], None)
    conversation.draw("a", lambda: [1, 2], 3, 11)
    conversation.close()
    found = [json.loads(one) for one in heard.read_text().splitlines()]
    assert [list(one) for one in found] == [
        ["dpaudit", "asks"],
        ["dataset", "records"],
        ["draw", "dataset", "request", "seed"],
    ]
