"""Mechanisms, pairs, attacks and libraries of somebody else that fail or end the program."""

from types import SimpleNamespace

import pytest

from dpaudit.extension.parameters import Parameters

from .runs import LAW, interrupt, leave
from .ways import (
    IN_THEIRS,
    INTERRUPT,
    INTERRUPTED,
    NOT_IMPORTED,
    OTHER_SYSTEM,
    THEIRS,
    Ways,
    left,
)

WAYS = Ways()
HIDDEN = r"\(show_records=True, or --show-records, shows its words\)"

# What a module does as it is imported.
IMPORTED = {
    "leaving_at_import": ("sys.exit(0)", left(0)),
    "leaving_at_import_without_a_status": ("sys.exit()", left("")),
    "leaving_at_import_with_words": (
        "raise SystemExit('sorry')", left(r"text of 5 characters #\w+"),
    ),
    "an_interrupt_that_nobody_sent_at_import": (
        "raise KeyboardInterrupt", rf"error: .*\(KeyboardInterrupt: '' {IN_THEIRS}\)",
    ),
    "an_exception_that_is_no_error_at_import": (
        "raise Leave('gone')", rf"error: .*\(Leave: {HIDDEN} {IN_THEIRS}\)",
    ),
    "a_module_that_is_no_python": (
        "def", r"error: .*\(SyntaxError: .* in .*ways_to_end_\d+\.py, line \d+\)",
    ),
}  # fmt: skip
# What a mechanism raises as outputs are drawn.
RAISED = {
    "an_exception_that_is_no_error": (
        "Leave('gone')", rf"error: .*raised Leave: {HIDDEN} {IN_THEIRS}.*",
    ),
    "a_generator_that_is_asked_to_end": ("GeneratorExit()", "error: .*raised GeneratorExit: .*"),
    "the_exit_of_another_command_line": ("typer.Exit(0)", "error: .*raised Exit: .*"),
    "the_end_of_their_input": ("EOFError('no more')", "error: .*raised EOFError: .*"),
    "a_pipe_of_their_own_that_broke": (
        "BrokenPipeError(32, 'Broken pipe')", "error: .*raised BrokenPipeError: .*",
    ),
    "an_error_that_leaves_as_it_is_shown": (
        "Wordless()", "error: .*raised Wordless: its text cannot be shown in .*",
    ),
    "an_error_of_ours_that_leaves_as_it_is_shown": (
        "Ours()", "error: mechanism Doing: Ours: its text cannot be shown in .*",
    ),
    "an_interrupt_that_nobody_sent": (
        "KeyboardInterrupt()", f"error: mechanism Doing: KeyboardInterrupt: '' {IN_THEIRS}",
    ),
    "an_error_of_ours_in_two_lines": ("DpauditError('two\\nlines')", "error: two lines"),
}  # fmt: skip


def audit_of(mechanism, code):
    return lambda here: here.audit(here.audits(mechanism, code=code))


for name, (statement, line) in IMPORTED.items():
    WAYS.add(name, audit_of("Broken", f"{statement}\n"), 2, THEIRS, line)
for name, (error, line) in RAISED.items():
    code = f"import typer\nLeaving = raising({error})\n"
    WAYS.add(name, audit_of("Leaving", code), 2, THEIRS, line)


@WAYS.end(2, THEIRS, left(1))
def _leaving_in_a_constructor(here):
    code = "class Leaving(Broken):\n    def __init__(self): sys.exit(1)\n"
    return here.audit(here.audits("Leaving", code=code))


@WAYS.end(2, THEIRS, left(0))
def _leaving_in_sample(here):
    return here.audit(here.audits("Leaving", code="Leaving = doing(lambda: sys.exit(0))\n"))


@WAYS.end(2, THEIRS, left(0))
def _leaving_in_a_later_sample(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    return here.audit(here.audits("Leaving", code=code, after=5))


@WAYS.end(2, THEIRS, left(0))
def _leaving_where_a_law_is_asked(here):
    code = LAW + (
        "class Leaving(Following):\n    def squared_shift_bounds(self, pair): sys.exit(0)\n"
        "mechanism = GaussianSteps(Leaving())\n"
    )
    return here.audit(here.audits("mechanism", code=code, delta=1e-5))


@WAYS.end(2, THEIRS, left(0))
def _leaving_as_the_pair_is_made(here):
    here.audits("Broken", code="def pair(): sys.exit(0)\n")
    return here.audit(here.with_pair("pair"))


@WAYS.end(2, NOT_IMPORTED, "error: dpaudit cannot start, SystemExit: 0; install it again, .*")
def _a_module_of_theirs_with_the_name_of_a_library(here):
    (here.folder / "typer.py").write_text("raise SystemExit(0)")
    return here.process("version", shell="PYTHONPATH=. {}")


@WAYS.end(2, OTHER_SYSTEM, "error: dpaudit: got a system called 'nt', expected .*")
def _another_system(here):
    code = "import dpaudit.errors\n\ndpaudit.errors._SYSTEM = 'nt'\n"
    (here.folder / "sitecustomize.py").write_text(code)
    return here.process("version", shell="PYTHONPATH=. {}")


@WAYS.end(2, THEIRS, r"error: .*raised RecursionError: .*")
def _a_recursion_without_end(here):
    code = "def deed(): deed()\nLeaving = doing(deed)\n"
    return here.audit(here.audits("Leaving", code=code))


@WAYS.end(2, THEIRS, r"error: .*raised KeyError: .* in ways_to_end_\d+\.py, line \d+, expected .*")
def _an_error_of_theirs_with_its_calls(here):
    code = "Leaving = doing(lambda: {}['age'])\n"
    plain = here.audit(here.audits("Leaving", code=code))
    assert "Traceback" not in plain.err
    told = here.audit(here.audits("Leaving", code=code), "--traceback")
    assert "Traceback (most recent call last)" in told.err
    assert "in sample" in told.err
    assert told.err.endswith(plain.err.replace(here.made[0], here.made[1]))
    return plain


@WAYS.end(
    2, THEIRS, "error: .*unforeseen, OverflowError.*; --traceback or DPAUDIT_DEBUG=1 shows where"
)
def _what_nobody_foresaw(here):
    plain = here.run("audit", "huang2020-theorem6", "--epsilon", "1e-300")
    here.monkeypatch.setenv("DPAUDIT_DEBUG", "1")
    told = here.run("audit", "huang2020-theorem6", "--epsilon", "1e-300")
    assert (told.status, "Traceback" in told.err) == (2, True)
    return plain


def attacking(here, deed):
    card = SimpleNamespace(
        name="theirs", load_parameters=lambda: Parameters, load=lambda: lambda *given: deed()
    )
    here.monkeypatch.setattr("dpaudit.cli.attack.card_called", lambda name: card)
    return here.run("attack", "theirs")


@WAYS.end(2, THEIRS, r"error: ended the program with sys\.exit\(0\) in .*runs\.py, line .*")
def _an_attack_that_leaves(here):
    return attacking(here, leave)


@WAYS.end(130, INTERRUPTED, INTERRUPT)
def _an_interrupt_of_an_attack(here):
    return attacking(here, interrupt)


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
