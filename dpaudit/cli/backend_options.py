"""Options for work beyond this machine's processes: a backend, and a share of the units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from dpaudit.cli.options import MACHINE
from dpaudit.errors import InvalidArgument

if TYPE_CHECKING:
    from dpaudit.execution import Executor

BackendName = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="loky|dask|ray",
        help="The joblib backend that runs the workers in place of this machine: a cluster of dask "
        "or ray.",
        rich_help_panel=MACHINE,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The address of the cluster, such as tcp://host:8786 for dask.",
        rich_help_panel=MACHINE,
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="K/N",
        help="Draw and keep the K-th of N shares of the certifying outputs; merge joins them.",
        rich_help_panel=MACHINE,
    ),
]
_SHARD = re.compile(r"(\d+)/(\d+)")


def executor_for(
    backend: str | None, scheduler: str | None, shard: str | None, workers: int
) -> Executor:
    """Return the executor.

    Raises
    ------
    InvalidArgument
        An option is not as expected.
    """
    from dpaudit.execution import Executor
    from dpaudit.execution.backends import Backend

    if backend is None and scheduler is not None:
        raise InvalidArgument("scheduler", scheduler, "a --backend with it: dask or ray")
    there = None if backend is None else Backend(backend, scheduler, workers)
    return Executor(workers=workers, backend=there, shard=_parse_shard(shard))


def _parse_shard(shard: str | None) -> tuple[int, int] | None:
    if shard is None:
        return None
    found = _SHARD.fullmatch(shard)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 <= number <= count or count < 1:
        expected = "K/N with K from 1 to N, or 0/N for what all of them need"
        raise InvalidArgument("shard", shard, expected)
    return number, count
