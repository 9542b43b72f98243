"""Scans as tests need them: made up, with findings that are public and one that is not."""

from dpaudit.scan.finding import (
    Certainty,
    ClaimCheck,
    ClaimedGuarantee,
    PackageEnvironment,
    ScanFinding,
    ScanResult,
    SeenEvent,
)

SUBJECTS = ("tools.alpha", "tools.beta", "models.gamma", "models.delta")
CLAIMED = ClaimedGuarantee(
    words="1-DP", epsilon=1.0, delta=0.0, relation=None, where="docstring of it, first paragraph"
)


def finding(subject, words="`out` is NaN", edit="record 2 without a number", **fields):
    values = {
        "package": "toy",
        "version": "1.0",
        "subject": subject,
        "code": subject.replace(".", "_"),
        "kind": "structure",
        "violation": True,
        "parameters": "{'epsilon': 1.0}",
        "dataset": "[0.0, 1.0]",
        "neighbour": "[0.0, float('nan')]",
        "edit": edit,
        "relation": "replace-record",
        "claimed": CLAIMED,
        "event": SeenEvent(
            words=words, part="out", test="equals", on_dataset=0, on_neighbour=4321, runs=4321
        ),
        "lower": 5.4321,
        "at_delta": 0.0,
        "confidence": 1 - 1e-6,
        "trials": 4321,
        "sentence": f"{subject}: {words} in 0 of 4321 outputs on the dataset.",
        "reproduction": f"import toy\nprint('{subject}')\n",
        "reproduced": "seen in 0 of 20 outputs on the first, 20 of 20 on the second\n",
    }
    return ScanFinding(**{**values, **fields})


def checked(subject, relation, refuted):
    return ClaimCheck(
        subject=subject,
        relation=relation,
        claimed=CLAIMED,
        documented=False,
        verdict="refuted" if refuted else "not refuted",
        settings=2,
        pairs=12,
        runs=4321 if refuted else 800,
        lower=5.4321 if refuted else 0.25,
        parameters="{'epsilon': 1.0}",
    )


def scan(*findings, version="1.0", information=(), notes=(), unreached=(), skipped=None):
    leaking = {one.subject for one in findings}
    return ScanResult(
        package="toy",
        distribution="toy",
        version=version,
        home="https://example.org/toy",
        date="2026-11-24",
        dpaudit="0.3.0",
        seed=0,
        repeats=False,
        environment=PackageEnvironment(
            python="3.11.2", isolated=True, requirements=[f"toy=={version}"], versions={"toy": "1"}
        ),
        certainty=Certainty(confidence=1 - 1e-6, words="Shared out evenly."),
        seconds=12.5,
        checks={"subjects": 4, "settings": 8, "pairs": 48, "certifications": 6},
        checked=[
            checked(one, relation, one in leaking)
            for one in SUBJECTS
            for relation in ("replace-record", "add-remove-record")
        ],
        findings=[one.model_copy(update={"version": version}) for one in findings],
        information=list(information),
        skipped=skipped or {},
        unreached=list(unreached),
        notes=list(notes),
    )
