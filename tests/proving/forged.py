"""Certificates that an attacker writes by hand."""

import json

from dpaudit.proving import checker


class Forged:
    """A program of one path, grown node by node, and the datasets that it states."""

    def __init__(self, records=3, *, adds=False, alike=True, **part):
        self.records, self.alike = None if adds else records, alike
        relation = "add-remove-record" if adds else "replace-record"
        self.universe = {"parts": [], "records": self.records, "count": 1, "relation": relation}
        self.nodes, self.draws = [], []
        self.add_part("", **part)

    def add_part(self, name, low=-1.0, high=1.0, **given):
        part = {"name": name, "shape": [self.records], "low": [low], "high": [high],
                "is_integer": False, "norm": "Infinity", "categories": None,
                "is_changed": True}  # fmt: skip
        self.universe["parts"].append(part | given)

    def node(self, name, *operands, **given):
        one = {"operation": name, "operands": operands, "parameters": given, "place": None}
        self.nodes.append(one)
        return len(self.nodes) - 1

    def data(self, part=""):
        return self.node("data", part=part, row=None, cell=0)

    def total(self, node, sample=None):
        return self.node("total", node, sample=sample)

    def linear(self, *pairs):
        """Return a sum of (factor, node)."""
        terms = [[factor, [[place, 1]]] for place, (factor, _) in enumerate(pairs)]
        return self.node("poly", *(one for _, one in pairs), terms=terms)

    def draw(self, law="laplace", **given):
        self.draws.append({"law": law, "each": False} | given)
        return len(self.draws) - 1

    def sample(self, rate):
        return self.draw("sample", each=True, rate=rate)

    def release(self, node, factor=1, law="laplace", each=False):
        draws = [self.draw(law, each=each)]
        return self.node("release", node, draws=draws, factors=[factor], each=each)

    def certificate(self, *outputs, hints=(), **claim):
        """Return a certificate as a file has it."""
        paths = [{"nodes": self.nodes, "outputs": outputs, "hints": [hints], "skeleton": None}]
        instance = {"mechanism": None, "universe": self.universe, "alike": self.alike,
                    "draws": self.draws, "claim": claim, "versions": {},
                    "paths": paths}  # fmt: skip
        return json.loads(json.dumps({"kind": "proof", "instance": instance}))


def accepts(document):
    try:
        checker.check_proof_certificate(document)
    except checker.NotVerified:
        return False
    return True
