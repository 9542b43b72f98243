"""A script that runs the command line again and again, and kills it at its n-th look at a file.

``killed.py FOLDER CLAIMS MOMENTS ARGUMENT...``: once to its end, then up to each of so many moments
(all of them for 0), each in a folder of its own. It is one process with one thread, so that a copy
of it costs nothing.
"""

import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from dpaudit.cli import main, publish
from dpaudit.extension.registry import CLAIMS
from dpaudit.report import render

# The first run would compile what it imports, and so look at more files than a copy of it does.
sys.dont_write_bytecode = True

OPERATIONS = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod"}


class Counted:
    """Counts operations on files of a folder, and ends the process at one of them."""

    def __init__(self, folder, last):
        self.folder, self.last, self.seen = str(folder), last, 0

    def __call__(self, event, given):
        if event in OPERATIONS and self.counts(given[0]):
            self.seen += 1
            if self.seen == self.last:
                os.kill(os.getpid(), signal.SIGKILL)

    def counts(self, place):
        return isinstance(place, int) or os.path.abspath(place).startswith(self.folder)


def prepare(names):
    """Leave few claims, and out what takes most of the time of a report: pictures."""
    every = CLAIMS.all()
    few = {name: every[name] for name in names}
    publish.registry.CLAIMS = SimpleNamespace(all=lambda: few, get=few.__getitem__)
    render._render_cached_figures = lambda document, index: {"numbers": "<svg></svg>"}
    render._render_overview_figure = lambda report: None


def run(folder, arguments, last=None):
    """Run it in this process; return how many operations there were."""
    folder.mkdir()
    os.chdir(folder)
    counted = Counted(folder, last)
    sys.addaudithook(counted)
    with suppress(SystemExit):
        main.main(arguments)
    return counted.seen


def everything(folder, claims, moments, arguments):
    """Run it to its end, then once for each moment in a copy of this process."""
    prepare(claims.split(","))
    count = run(folder / "whole", arguments)
    chosen = range(1, count + 1)
    for last in random.Random(moments).sample(chosen, moments or count):
        if not (child := os.fork()):
            run(folder / str(last), arguments, last)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


if __name__ == "__main__":
    folder, claims, moments, *arguments = sys.argv[1:]
    everything(Path(folder), claims, int(moments), arguments)
