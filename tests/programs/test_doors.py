"""Programs at the doors that take a mechanism: a file of audits, the command line, a plan."""

import shlex

import pytest

import dpaudit
from dpaudit.auditing.repeat.plan import CommandPlan
from dpaudit.auditing.specification.audits_file import of_command_line, read_specification
from dpaudit.cli.description import AuditCommand, read_command
from dpaudit.cli.main import main
from dpaudit.errors import InvalidArgument
from dpaudit.programs import Program

LINE = "echo {seed} 'a b'"


def written(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text("[audit]\nepsilon = 1\ndataset = 'a.csv'\nneighbour = 'b.csv'\n" + text)
    (tmp_path / "a.csv").write_text("1\n2\n")
    (tmp_path / "b.csv").write_text("1\n")
    return path


def test_a_file_of_audits_names_a_command(tmp_path):
    (found,) = read_specification(written(tmp_path, f'command = "{LINE}"\nprotocol = "once"\n'))
    program = found.outside(tmp_path)
    assert (program.command, program.protocol, program.folder) == (LINE, "once", str(tmp_path))
    assert len(program.files) == 2
    assert found.called == LINE


@pytest.mark.parametrize(
    "text", ['command = "ls"\nmechanism = "m:f"\n', "", 'command = "ls"\nclaim = "c"\n']
)
def test_an_audit_is_of_one_thing(text, tmp_path):
    with pytest.raises(InvalidArgument, match="either a claim or a mechanism"):
        read_specification(written(tmp_path, text))


def test_a_protocol_is_of_a_command(tmp_path):
    (found,) = read_specification(written(tmp_path, 'mechanism = "m:f"\nprotocol = "once"\n'))
    with pytest.raises(InvalidArgument, match="of a command"):
        found.outside(tmp_path)
    with pytest.raises(InvalidArgument, match="one of once, lines"):
        Program("ls", protocol="twice")


def test_the_line_that_repeats_an_audit_asks_for_the_same():
    given = {"program": LINE, "protocol": "once", "dataset": "a.csv", "seed": 3}
    words = shlex.split(str(CommandPlan(given)))
    assert words[words.index("--command") + 1] == LINE
    assert of_command_line(None, given, 1.0).own.program == LINE


def test_a_store_describes_a_command_as_code_that_has_to_be_named(tmp_path):
    described = AuditCommand.of({"program": LINE, "epsilon": 1.0})
    again = read_command(described.document(), tmp_path / "a.sqlite")
    assert again == described
    assert LINE in again.code


def test_a_command_has_no_targets(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["audit", "m:f", "--command", "ls", "--epsilon", "1"])
    assert ended.value.code == 2
    assert "none beside --command" in capsys.readouterr().err


@pytest.mark.slow
def test_one_seed_gives_one_result_whatever_the_number_of_workers():
    both = [1.0, 2.0], [1.0]
    program = Program(
        "awk -v seed={seed} 'BEGIN { srand(seed) } { n++ } END { print n + rand() }' {data}"
    )
    results = [
        dpaudit.audit(program, *both, epsilon=1, trials=100, unit=10, executor=dpaudit.Executor(n))
        for n in (1, 2)
    ]
    assert results[0].measured == results[1].measured
    assert any("Program" in note for note in results[0].notes)
