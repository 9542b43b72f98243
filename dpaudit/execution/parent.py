"""Processes that somebody else's library starts, and that end with the program all the same."""

from __future__ import annotations

import os
import threading
import time

_EVERY = 0.2  # seconds between two looks


def end_with(program: int) -> None:
    """End this process soon after the program that started it, however that ends.

    The workers of joblib wait for minutes for one that was killed. Does nothing in the program
    itself.

    Examples
    --------
    >>> end_with(os.getpid())
    """
    if os.getpid() != program:
        threading.Thread(target=_exit_with_parent, args=(program,), daemon=True).start()


def _exit_with_parent(program: int) -> None:
    # A process whose parent has ended gets another one.
    while os.getppid() == program:
        time.sleep(_EVERY)
    # Exit handlers of somebody else's library may wait for a program that is gone.
    os._exit(1)
