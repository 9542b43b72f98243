"""Scans of every registered package, in environments of their own: ``make packages``.

Each version that a card names is scanned, mechanisms and accountants; its report is written below
the folder that is given, and what is public of it into the gallery. A version whose environment
cannot be built on this machine is skipped, and the line says why. The status is 1 if a scan did not
end with a judgement.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from dpaudit.errors import DpauditError
from dpaudit.extension.registry import PACKAGES
from dpaudit.formats import read_json
from dpaudit.scan.accountants.cards import ACCOUNTANTS
from dpaudit.scan.remote.environments import CannotBeBuilt, place_of
from dpaudit.scan.write import read

JUDGED = (0, 1)


def outcome(package, version, folder, words):
    """Return one line about a version, and whether its scan went as it should."""
    name = f"{package.name} {version}"
    pinned = f"{package.distribution}=={version}"
    try:
        place_of(package, pinned)
    except (CannotBeBuilt, DpauditError) as error:
        return f"{name}: skipped: {error}", True
    command = [sys.executable, "-m", "dpaudit", "scan", package.name, "--env", pinned]
    done = subprocess.run(
        [*command, "--quiet", "--out", str(folder), *words], capture_output=True, text=True
    )
    try:
        found = read(folder / "scan.json")
    except DpauditError as error:
        return f"{name}: no report: {done.stderr.strip() or error}", False
    said = f"{len(found.findings)} findings, {len(found.information)} under another relation"
    checks = ", ".join(f"{count} {what}" for what, count in found.checks.items())
    line = f"{name}: {said}; {checks}; {found.seconds:.0f} seconds"
    left = [f"  {subject}: withheld: {why}" for subject, why in found.skipped.items()]
    return "\n".join([line, *left]), done.returncode in JUDGED or bool(left)


def accountant_outcome(card, version, folder, words):
    """Return one line about an accountant's answers, and whether they could be had."""
    name = f"{card.name} {version}, accountant"
    pinned = f"{card.distribution}=={version}"
    try:
        place_of(card.package, pinned)
    except (CannotBeBuilt, DpauditError) as error:
        return f"{name}: skipped: {error}", True
    command = [sys.executable, "-m", "dpaudit", "scan", card.name, "--accountant", "--env", pinned]
    done = subprocess.run(
        [*command, "--quiet", "--out", str(folder), *words], capture_output=True, text=True
    )
    try:
        found = read_json(folder / "accountant.json", "accountant")
    except DpauditError as error:
        return f"{name}: no report: {done.stderr.strip() or error}", False
    said = f"{len(found['violations'])} groups of false claims, {found['answers']} answers"
    return f"{name}: {said}; {found['seconds']:.0f} seconds", done.returncode in JUDGED


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="packages; all by default")
    parser.add_argument("--out", type=Path, default=Path("build/packages"))
    parser.add_argument("--publish", default="reports/packages", help="the gallery")
    parser.add_argument("--time", default="600", help="seconds for each scan; 600 by default")
    given = parser.parse_args()
    words = ["--publish", given.publish, "--time", given.time]
    well = True
    known = sorted({*PACKAGES, *ACCOUNTANTS})
    if strange := set(given.names) - set(known):
        parser.error(f"names: got {', '.join(sorted(strange))}, expected {', '.join(known)}")
    names = given.names or known
    for name in names:
        for version in PACKAGES.get(name).versions if name in set(PACKAGES) else ():
            package = PACKAGES.get(name)
            line, as_it_should = outcome(package, version, given.out / name / version, words)
            print(line, flush=True)
            well = well and as_it_should
    for card in (ACCOUNTANTS[name] for name in names if name in ACCOUNTANTS):
        for version in card.versions:
            folder = given.out / card.name / f"{version}-accountant"
            line, as_it_should = accountant_outcome(card, version, folder, words[:2])
            print(line, flush=True)
            well = well and as_it_should
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
