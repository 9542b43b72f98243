"""Compiles the files that pytest collects, of which each worker of pytest-xdist takes a share.

All workers import every file, in one order: what one of them has not written down yet, the others
compile too. On a fresh clone that would be most of what they do before the first test. pytest
offers no function for it, so that names of its own are used, as they are from 8.2 to 9.2.

What is in the package itself Python compiles, from the import of this module on: pytest would
change every module of a plugin, which this package is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

for _hook in sys.meta_path:
    if isinstance(_hook, rewrite.AssertionRewritingHook):
        _hook._must_rewrite.discard("dpaudit")
        _hook._marked_for_rewrite_cache.clear()


def compile_share(config: pytest.Config) -> None:
    """Write down what pytest makes of this worker's share of what is not compiled yet."""
    workers = getattr(config, "workerinput", {"workerid": "gw0", "workercount": 1})
    state = config.stash.get(rewrite.assertstate_key, None)
    if workers["workercount"] == 1 or state is None or sys.dont_write_bytecode:
        return
    missing = [path for path in _collected(config) if not _compiled(path).exists()]
    for path in missing[int(workers["workerid"].removeprefix("gw")) :: workers["workercount"]]:
        with suppress(SyntaxError, OSError):  # it is said where the file is collected
            _compiled(path).parent.mkdir(exist_ok=True)
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source, _compiled(path))


def _compiled(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)


def _collected(config: pytest.Config) -> Iterator[Path]:
    for argument in config.args:
        place = config.invocation_params.dir / argument.partition("::")[0]
        yield from sorted(place.rglob("test_*.py")) if place.is_dir() else [place]
