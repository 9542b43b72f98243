"""The file in the user's cache, which keeps interrupted audits, for a while and up to a size.

Nobody named it, so nothing that ended is taken from it: an audit given again is drawn again.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dpaudit.store.file import Store, StoreError

MOST = 2**30  # bytes of what is kept there
_DAYS = 30  # after which what was begun is over
_HOURS = 1  # after which what ended is, as another program may still read it
_WORTH = 64 * 2**20  # bytes for which a file is written anew
_SIZES = (
    "SELECT audits.id, coalesce(sum(length(data)), 0) FROM audits "
    "LEFT JOIN stages ON stages.audit = audits.id LEFT JOIN blocks ON stage = stages.id "
    "GROUP BY audits.id ORDER BY began DESC, audits.id DESC"
)


def usual_path() -> Path | None:
    """Return the file for outputs that no report is asked for: in the user's cache.

    ``DPAUDIT_STORE`` names another; where it is empty, there is none.
    """
    if (given := os.environ.get("DPAUDIT_STORE")) is not None:
        return Path(given) if given else None
    home = os.environ.get("XDG_CACHE_HOME") or (
        "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    )
    return Path(home).expanduser() / "dpaudit" / "store.sqlite"


def remove_stale_audits(store: Store) -> None:
    """Delete audits that ended, that are old, and the oldest ones beyond the limit."""
    over = iso_before(days=_DAYS), iso_before(hours=_HOURS)
    with store.together():
        # Moments are text of one form in UTC, which compares as time does.
        store.run("DELETE FROM audits WHERE began < ? OR ended < ?", over)
        total = 0
        for number, size in store.run(_SIZES):
            total += size
            if total > MOST:
                store.run("DELETE FROM audits WHERE id = ?", (number,))
    free = store.run("PRAGMA freelist_count")[0][0] * store.run("PRAGMA page_size")[0][0]
    # Deleted rows leave free pages that SQLite uses again. Writing the whole file anew is worth it
    # for many of them alone.
    if free > _WORTH:
        with suppress(StoreError):  # another program reads
            store.run("VACUUM")


def iso_before(**ago: float) -> str:
    """Return the moment so long ago, as a store writes moments.

    Examples
    --------
    >>> iso_before(days=1) < iso_before(hours=1)
    True
    """
    return (datetime.now(UTC) - timedelta(**ago)).isoformat(timespec="seconds")


def set_aside(store: Store, audit: int, ended: str) -> None:
    """Let an audit that ended be nobody's: no other meets it any more."""
    store.run(
        "UPDATE audits SET ended = ?, identity = identity || ? WHERE id = ? AND ended IS NULL",
        (ended, f" ended {audit}", audit),
    )
