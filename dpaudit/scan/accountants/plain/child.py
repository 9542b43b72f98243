"""Asks one package's accountant, in the package's own environment.

Runs as a script, ``python child.py MODULE.py``: reads one JSON text from standard input, with
``questions`` (each with an ``id``, a ``method`` and the ``question``), ``seconds`` and ``memory``;
writes one line of JSON for each answer. Needs the standard library alone, Python 3.8 or newer.

The package is loaded once. A copy of the process answers, one question after the other; where it
takes too long within compiled code, or ends, another copy goes on with the next question. What the
package prints goes to standard error.
"""

import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings

import null_audits  # noqa: F401  # what the modules beside it import, whose folder leaves the path

PATIENCE = 6  # times the processor seconds of a question that pass on the clock before it is ended


class OutOfTime(BaseException):
    """A question took longer than it may: no library's handler of exceptions catches this."""


def main():
    """Answer all questions."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]  # files are named after packages
    # Answers keep the original standard output. Its number then leads to standard error, since
    # libraries of compiled code print to file descriptor 1 without Python's knowledge.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    work = json.load(sys.stdin)

    def say(message):
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    try:
        methods = loaded(sys.argv[1]).METHODS
    except Exception as error:
        say({"failed": f"{type(error).__name__}: {error}"})
        return
    say({"ready": sorted(methods)})
    start = 0
    while start < len(work["questions"]):
        start = batch(methods, work, start, say)


def batch(methods, work, start, say):
    """Have a copy answer from a question on; return the question that another one begins with."""
    out, into = os.pipe()
    # A copy shares the imported package, whose import may take longer than all questions.
    pid = os.fork()
    if not pid:
        os.close(out)
        worker(methods, work, start, os.fdopen(into, "w", encoding="utf-8"))
    os.close(into)
    lines, began = Lines(out), time.perf_counter()
    while start < len(work["questions"]):
        # The timer in the copy counts processor time and runs a Python handler. Compiled code
        # that never returns, or that sleeps, needs a second limit from outside on the clock.
        line = lines.next(work["seconds"] * PATIENCE)
        if line is None:
            break
        say(json.loads(line))
        start, began = start + 1, time.perf_counter()
    if start == len(work["questions"]):
        finish(pid, out)
        return start
    status = finish(pid, out)
    said = {"stopped": True} if not lines.ended else {"died": status}
    say(dict(said, id=work["questions"][start]["id"], seconds=time.perf_counter() - began))
    return start + 1


def finish(pid, out):
    """End a copy; return its status, negative for a signal."""
    os.close(out)
    os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


class Lines:
    """Lines of a pipe, each waited for so long at most."""

    def __init__(self, pipe):
        self.pipe, self.rest, self.ended = pipe, b"", False

    def next(self, seconds):
        """Return the next line, None if none comes in time or the pipe ends."""
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if not select.select([self.pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            text = os.read(self.pipe, 65536)
            if not text:
                self.ended = True
                return None
            self.rest += text
        line, _, self.rest = self.rest.partition(b"\n")
        return line


def worker(methods, work, start, channel):
    """Answer the questions from one on, and end the process."""
    if work["memory"]:
        # The limit is set in the copy, as it cannot be raised again and the parent has to go
        # on.
        resource.setrlimit(resource.RLIMIT_AS, (work["memory"], work["memory"]))
    signal.signal(signal.SIGPROF, stop)
    for question in work["questions"][start:]:
        said = answered(methods, question, work["seconds"])
        channel.write(json.dumps(dict(said, id=question["id"])) + "\n")
        channel.flush()
    # The copy shares the parent's buffers and handlers of exit, which must not run twice.
    os._exit(0)


def loaded(path):
    """Return the module in a file."""
    specification = importlib.util.spec_from_file_location("asked", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def stop(number, frame):
    """End the question that is under way."""
    raise OutOfTime


def answered(methods, question, seconds):
    """Return the answer, or how there came to be none, and the processor seconds that it took."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            said = {"values": values(methods[question["method"]](question["question"]))}
        except OutOfTime:
            said = {"stopped": True}
        except Exception as error:
            said = {"raised": type(error).__name__, "words": str(error)[:300], "at": place(error)}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    said["seconds"] = time.process_time() - began
    said["warnings"] = sorted({w.category.__name__ for w in caught})
    return said


def place(error):
    """Return the file and the function in which an error arose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(last.filename)}, {last.name}"


def values(answer):
    """Return an answer as text, since JSON has no infinity: lower end, estimate, upper end."""
    if answer is None:
        return None
    parts = answer if isinstance(answer, (tuple, list)) else [answer]
    return [repr(float(part)) for part in parts]


if __name__ == "__main__":
    main()
