"""Variables of the environment that say where a program runs, and on how much of a machine.

They are nobody's parameters, and differ from one share of an audit to the next.
"""

from __future__ import annotations

import re

_OF_PLACES = re.compile(
    r"(HOME|PATH|PYTHONPATH|PWD|USER|LOGNAME|HOSTNAME|SHELL|TERM|TMP|TEMP|TMPDIR|XDG_\w+|\w+_THREADS"
    r"|CUDA_VISIBLE_DEVICES|SLURM_\w+|DPAUDIT_\w+|KUBERNETES_\w+|GITHUB_\w+|JOB_COMPLETION_INDEX)"
)


def says_where(name: str) -> bool:
    """Return whether a variable says where a program runs, and is no parameter of a law.

    Examples
    --------
    >>> says_where("SCALE"), says_where("SLURM_JOB_ID")
    (False, True)
    """
    return _OF_PLACES.fullmatch(name) is not None
