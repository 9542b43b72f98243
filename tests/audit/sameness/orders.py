"""The verdicts of commands on one mechanism, in an order: what a test runs, and a script as well.

The module is copied to the folder of the mechanisms, where a script imports it.
"""

from pathlib import Path

import numpy as np
from numpy.random import default_rng

import dpaudit
from dpaudit.errors import MechanismError
from dpaudit.verification import Reader

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
SETTINGS = {"epsilon": 1.0, "trials": 600, "confidence": 0.9999}
ORDERS = (
    ("audit", "verify audit", "replay", "verify replay"),
    ("replay", "verify replay", "audit", "verify audit"),
    ("audit", "replay", "audit"),
    ("canary", "replay", "audit", "replay"),
)
CANARIES = 2000


def by_object(given, seed):
    """Return an audit of a function, an object or a class."""
    return dpaudit.audit(given, *PAIR, seed=seed, **SETTINGS)


class Commands:
    """What is run on a mechanism; a folder holds its certificates."""

    def __init__(self, given, seed, certificates, audited=by_object):
        self.given, self.seed, self.audited = given, seed, audited
        self.certificates = Path(certificates)

    def verdicts(self, order):
        """Return the verdict of each command of an order."""
        return [getattr(self, name.replace(" ", "_"))() for name in order]

    def audit(self):
        try:
            found = self.audited(self.given, self.seed)
        except MechanismError:
            return "withheld"
        if found.certificate is not None:
            found.certificate.write(self.certificates / "audit.json")
        return found.verdict

    def replay(self):
        found = dpaudit.replay(self.given, *PAIR, epsilon=1.0, seed=self.seed)
        for one in found.certificates[:1]:
            one.write(self.certificates / "replay.json")
        return found.verdict

    def verify_audit(self):
        return self._verified("audit.json", confidence=0.9999)

    def verify_replay(self):
        return self._verified("replay.json")

    def _verified(self, name, **more):
        path = self.certificates / name
        if not path.exists():
            return "no certificate"
        chosen = {"dataset": PAIR[0], "neighbour": PAIR[1], "seed": self.seed + 7, **more}
        (found,) = dpaudit.verify(path, Reader(mechanism=self.given, **chosen))
        return "verified" if found.verified else "not verified"

    def canary(self):
        """Score canaries by what the mechanism returns, called as `dpaudit.audit` calls it."""
        from dpaudit.mechanisms.foreign.calling import Calls, form_of

        given, rng = _loaded(self.given), default_rng(self.seed)
        calls, coins = Calls(given, form_of(given, None)), rng.integers(2, size=CANARIES)
        found = [calls.one(PAIR[1 - coin], rng) for coin in coins]
        scores = [one["value"] if isinstance(one, dict) else one for one in found]
        asked = {"delta": 1e-5, "claim": 1.0, "confidence": 0.999, "seed": self.seed}
        return dpaudit.audit_scores(np.array(scores, dtype=float), coins, **asked).verdict


def _loaded(given):
    if not isinstance(given, str):
        return given
    module, name = given.split(":")
    return getattr(__import__(module), name)
