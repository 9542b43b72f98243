"""The process of a mechanism ends, hangs or grows, and the run says so."""

import pytest

from .runs import LAW
from .ways import IN_THEIRS, THEIRS, Ways

WAYS = Ways()

IMPORT = r"error: mechanism: got '.*', expected something that can be imported \(its process {}\)"
SAMPLE = "error: mechanism Leaving: its process {}"
QUIT = "ended with status {}, as by os._exit"
FAULT = r"was ended by signal {} \({}\), a fault of compiled code"
SEGFAULT = "import ctypes; ctypes.string_at(0)"

AT_IMPORT = {
    "quitting_at_import_with_0": ("os._exit(0)", QUIT.format(0)),
    "quitting_at_import_with_1": ("os._exit(1)", QUIT.format(1)),
    "a_fault_at_import": (SEGFAULT, FAULT.format(11, "SIGSEGV")),
}
IN_SAMPLE = {
    "quitting_in_sample_with_0": ("os._exit(0)", QUIT.format(0)),
    "quitting_in_sample_with_1": ("os._exit(1)", QUIT.format(1)),
    "a_fault_in_sample": ("__import__('ctypes').string_at(0)", FAULT.format(11, "SIGSEGV")),
    "an_abort_in_sample": ("os.abort()", FAULT.format(6, "SIGABRT")),
    "a_kill_in_sample": (
        "os.kill(os.getpid(), signal.SIGKILL)",
        r"was ended by signal 9 \(SIGKILL\), as when memory runs out",
    ),
    "a_request_to_terminate_in_sample": (
        "os.kill(os.getpid(), signal.SIGTERM)", r"was ended by signal 15 \(SIGTERM\)",
    ),
}  # fmt: skip


def audit_of(mechanism, code, after=0):
    return lambda here: here.audit(here.audits(mechanism, code=code, after=after))


for name, (statement, words) in AT_IMPORT.items():
    WAYS.add(name, audit_of("Broken", f"{statement}\n"), 2, THEIRS, IMPORT.format(words))
for name, (deed, words) in IN_SAMPLE.items():
    code = f"class Leaving(doing(lambda: {deed})): pass\n"
    for when, after in (("", 0), ("_later", 5)):
        WAYS.add(name + when, audit_of("Leaving", code, after), 2, THEIRS, SAMPLE.format(words))


@WAYS.end(2, THEIRS, SAMPLE.format(QUIT.format(0)))
def _quitting_where_a_law_is_asked(here):
    code = LAW + (
        "class Quitting(Following):\n    def squared_shift_bounds(self, pair): os._exit(0)\n"
        "class Leaving(GaussianSteps): pass\nmechanism = Leaving(Quitting())\n"
    )
    return here.audit(here.audits("mechanism", code=code, delta=1e-5))


COPY = "forked a copy of itself that came back from the call as well; .*"
FORKING = """
def deed():
    if copy := os.fork():
        os.waitpid(copy, 0)
    {}
Leaving = type("Leaving", (doing(deed),), {{}})
"""


@WAYS.end(2, THEIRS, SAMPLE.format(COPY))
def _a_copy_that_returns_from_sample(here):
    return here.audit(here.audits("Leaving", code=FORKING.format("pass"), after=3))


@WAYS.end(2, THEIRS, SAMPLE.format(COPY))
def _a_copy_that_raises_in_sample(here):
    raising = "if not copy: raise ValueError"
    return here.audit(here.audits("Leaving", code=FORKING.format(raising), after=3))


@WAYS.end(2, THEIRS, IMPORT.format(COPY))
def _a_copy_that_returns_from_the_import(here):
    return here.audit(here.audits("Broken", code=FORKING.format("pass") + "deed()\n"))


@WAYS.end(
    2, THEIRS, SAMPLE.format(r"ended with the process that keeps it, which was ended by signal 9.*")
)
def _a_keeper_that_is_killed(here):
    code = "class Leaving(doing(lambda: os.kill(os.getppid(), signal.SIGKILL))): pass\n"
    return here.audit(here.audits("Leaving", code=code, after=3))


@WAYS.end(2, THEIRS, IMPORT.format(QUIT.format(0)))
def _quitting_in_a_constructor(here):
    code = "class Leaving(Broken):\n    def __init__(self): os._exit(0)\n"
    return here.audit(here.audits("Leaving", code=code))


@WAYS.end(2, THEIRS, IMPORT.replace("mechanism", "pair").format(QUIT.format(1)))
def _quitting_as_the_pair_is_made(here):
    here.audits("Broken", code="def pair(): os._exit(1)\n")
    return here.audit(here.with_pair("pair"))


@WAYS.end(2, THEIRS, SAMPLE.format("was stopped after 0.5 seconds without an answer; .*"))
def _a_call_without_end(here):
    code = "import time\nclass Leaving(doing(lambda: time.sleep(60))): pass\n"
    return here.audit(here.audits("Leaving", code=code, after=3), "--timeout", "0.5")


@WAYS.end(2, THEIRS, IMPORT.format("was stopped after 0.5 seconds without an answer; .*"))
def _an_import_without_end(here):
    code = "while True: pass\n"
    return here.audit(here.audits("Broken", code=code), "--timeout", "0.5")


@WAYS.end(2, THEIRS, rf"error: .*raised MemoryError: .* {IN_THEIRS}.*")
def _a_call_that_needs_more_than_it_may_have(here):
    code = "Leaving = doing(lambda: np.ones(2**30))\n"
    return here.audit(here.audits("Leaving", code=code), "--memory", "500")


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []


def test_a_quick_mechanism_is_within_its_limits(here):
    ran = here.audit(here.audits("Broken"), "--timeout", "60", "--memory", "4000")
    assert (ran.status, "refuted" in ran.out) == (1, True)
