"""Certificates of replays: places in the output and draws, from which a verifier goes on alone.

No value of a record or an output is in one, unless records are shown: the verifier has the data, or
the file holds them, and it reads centres, scales and thresholds off calls of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dpaudit.auditing.repeat.own_certificate import of_pair
from dpaudit.neighbours import Pair
from dpaudit.refutation.certificate import Certificate
from dpaudit.replaying.running import Task

_SALT = 16  # bytes


def certificates_of(
    found: Mapping[str, Any],
    pair: Pair[Any],
    task: Task,
    name: str,
    made: Mapping[str, Any] | None = None,
) -> tuple[Certificate, ...]:
    """Return a certificate of every proof and violation that a file can state.

    ``made`` is how the pair is made again, if it holds nobody's records (`Candidate`).
    """
    if found["code"] is None:
        return ()
    reference, digest = found["code"]
    # From the code and the seed, so that the same replay gives the same certificate again.
    salt = hashlib.blake2b(f"{digest} {task.seed}".encode(), digest_size=_SALT).digest()
    stated = of_pair(pair, salt, made)
    # A file whose two datasets look alike proves nothing to its reader.
    if stated["dataset"] == stated["neighbour"]:
        return ()
    shared = {
        "claimed": {"epsilon": task.epsilon, "delta": task.delta},
        "reading": {"form": task.form, "read": _to_read_list(task.read), "observe": []},
        "mechanism": {"reference": reference, "sha256": digest},
        "pair": stated,
        **({"apart": task.apart[0]} if task.apart else {}),
    }
    return tuple(
        Certificate(
            claim=name,
            source="the caller",
            relation=pair.relation.name,
            parameters={"finding": one["kind"], "tier": one["tier"]},
            instance={**shared, "evidence": one["evidence"]},
            quantities={"bound": task.claimed()},
            search={"seed": task.seed},
            kind="replay",
        )
        for one in found["findings"]
        if one["evidence"] is not None
    )


def _to_read_list(read: Any) -> list[str] | None:
    return [read] if isinstance(read, str) else read
