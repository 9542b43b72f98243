"""Programs that know nothing of audits: run once for every output."""

import sys

import numpy as np
import pytest

import dpaudit
from dpaudit import redaction as records
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.programs import Program
from dpaudit.programs.printed_text import NotAnOutput, output_of
from dpaudit.programs.running import what_failed

PYTHON = sys.executable
DATA = np.array([1.0, 0.0, 1.0])


def shell(text: str) -> str:
    """Return the command that lets a shell read a text without quotes in it."""
    return f"sh -c '{text}'"


def test_the_file_that_the_user_gave_is_what_the_program_reads(tmp_path):
    given = tmp_path / "a.csv"
    given.write_bytes(b"name;height\n007;1,80\nb;1,75\n")
    rows = object_of(given)
    program = Program(shell("cksum < {data}")).with_file(rows, given)
    direct = Program(shell(f"cksum < {given}"), protocol="once")
    assert program(rows) == direct(rows)


def object_of(path):
    from dpaudit.auditing.files.record_files import records_from

    return records_from(path)


def test_another_neighbour_is_written_as_the_file_of_the_dataset_is(tmp_path):
    given = tmp_path / "a.csv"
    given.write_text("age;city\n37;Rome\n41;Oslo\n")
    records = object_of(given)
    program = Program("cat {data}").with_file(records, given)
    other = program._file(records.iloc[:1])
    assert (other.content, other.suffix) == (b"age;city\n37;Rome\n", ".csv")


def test_data_come_on_standard_input_where_the_command_names_none():
    assert Program("cat", protocol="once")(np.array([2.5])) == 2.5
    assert Program("cat", protocol="once")([["a", 1], {"b": 2}]) == [["a", 1.0], {"b": 2.0}]


def test_a_seed_is_another_one_for_every_output_and_follows_from_the_generator():
    program = Program("echo {seed}")
    drawn = [program(DATA, np.random.default_rng(3)) for _ in range(2)]
    rng = np.random.default_rng(3)
    assert drawn[0] == drawn[1] == program(DATA, rng) != program(DATA, rng)


@pytest.mark.parametrize(
    ("printed", "output"),
    [
        (b"3", 3.0),
        (b" -1.5e3 \r\n", -1500.0),
        (b"1 2.5\n3\n", [1.0, 2.5, 3.0]),
        (b"9007199254740993", 9007199254740993),
        (b"true", True),
        (b'{"a": [1, null]}', {"a": [1.0, None]}),
        (b"no such user", "no such user"),
        ("größer".encode(), "größer"),
        (b"1_000", "1_000"),
    ],
)
def test_what_is_printed_is_an_output(printed, output):
    found = output_of(printed)
    assert (found, type(found)) == (output, type(output))


@pytest.mark.parametrize(
    "printed", [b"", b"\n", b"\xff\xfe", b"a\nb", b"[1, NaN]", b"{'a': 1}", b"[" * 10**5]
)
def test_what_is_no_output_is_refused(printed):
    with pytest.raises(NotAnOutput):
        output_of(printed)


def test_a_pipe_says_what_to_do():
    with pytest.raises(InvalidArgument, match="sh -c"):
        Program("cat {data} | wc -l")


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(InvalidArgument, match="is not there"):
        Program("./no-such-program {data}")


def test_an_error_is_one_with_its_status_on_both_ways():
    with pytest.raises(MechanismError, match="ended with status 1"):
        Program("false", protocol="lines").settled(None)
    assert Program("false").settled(None).protocol == "once"


def test_what_a_program_leaves_is_not_waited_for():
    assert Program(shell("sleep 60 & echo 4"), protocol="once")(DATA) == 4.0


def test_a_failure_shows_the_status_and_the_last_lines():
    program = Program(shell("echo no table >&2; exit 3"), protocol="once")
    with pytest.raises(MechanismError, match=r"ended with status 3: no table"):
        program(DATA)


NODE = "at:3\n\nTypeError: rows.sum is no function\n" + "    at load\n" * 9 + "\nNode.js v20.1.0\n"
JAVA = 'Exception in thread "main" a.BError: c\n\tat A\nCaused by: b.CException: no key\n\tat D\n'
RUST = (
    "\nthread 'main' (71) panicked at a.rs:1:5:\nindex is 3\nstack backtrace:\n"
    + "   0: core\n" * 9
)
PYTHON = "Traceback:\n" + "  File 'a.py'\n" * 9 + "KeyError: 'age'\n"


@pytest.mark.parametrize(
    ("errors", "begins", "named"),
    [
        (NODE, "TypeError: rows.sum is no function / at load", "TypeError"),
        (JAVA, 'Exception in thread "main" a.BError: c / at A / Caused by: b.C', "no key"),
        (RUST, "thread 'main' panicked at a.rs:1:5: / index is 3 / stack", "index is 3"),
        (PYTHON, "File 'a.py' / File", "KeyError: 'age'"),
        ("warming up\nno table\n", "warming up / no table", "no table"),
    ],
    ids=["node", "java", "rust", "python", "other"],
)
def test_the_line_that_names_the_error_is_shown_wherever_it_stands(errors, begins, named):
    said = what_failed(errors)
    assert said.startswith(begins)
    assert named in said
    assert said.count(" / ") < 5


def test_a_line_that_names_the_error_is_hidden_where_it_says_a_record():
    printed = 'echo "TypeError: no $(cat {data})" >&2; for i in 1 2 3 4 5; do echo at >&2; done'
    program = Program(shell(f"{printed}; exit 1"))
    with pytest.raises(MechanismError, match="status 1") as raised:
        program(np.array([8675309.0]))
    assert "8675309" not in str(raised.value)
    assert "--show-records" in str(raised.value)
    with records.set_records_shown(), pytest.raises(MechanismError, match="TypeError: no 8675309"):
        program(np.array([8675309.0]))


def test_a_failure_that_says_a_record_hides_it():
    program = Program(shell("cat {data} >&2; exit 3"))
    with pytest.raises(MechanismError, match="status 3") as raised:
        program(np.array([8675309.0]))
    assert "8675309" not in str(raised.value)


def test_another_program_is_another_one_for_a_store(tmp_path):
    script = tmp_path / "noise.sh"
    script.write_text("echo 1\n")
    before = Program(f"sh {script}", protocol="once").__identity__
    assert before == Program(f"sh {script}", protocol="once").__identity__
    script.write_text("echo 2\n")
    assert Program(f"sh {script}", protocol="once").__identity__ != before


NOISER = "awk -v seed={seed} -v scale=%s 'BEGIN { srand(seed) } { s += $1 } END %s' {data}"
LAPLACE = "{ u = rand() - .5; print s - (u < 0 ? -1 : 1) * scale * log(1 - 2 * (u < 0 ? -u : u)) }"


@pytest.mark.slow
def test_a_program_is_refuted_at_half_of_its_epsilon_and_not_above_it():
    program = Program(NOISER % ("0.5", LAPLACE))
    both = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    low, high = (dpaudit.audit(program, *both, epsilon=e, trials=2000) for e in (1.0, 2.2))
    assert low.verdict == "refuted"
    assert 1.0 < low.measured.lower <= 2.0
    assert high.verdict == "not refuted"


@pytest.mark.slow
def test_a_program_whose_noise_never_varies_is_withheld():
    both = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    program = Program(shell("cat; echo 0.5"), protocol="once")
    found = dpaudit.audit(program, *both, epsilon=1, trials=100)
    assert found.verdict == "withheld"
