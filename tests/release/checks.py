"""What a wheel, a source distribution and the files beside them have to say; pure functions.

Each returns its complaints as lines, none where all is well.
"""

import re
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from email.message import Message
from email.parser import Parser
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAME = "dpaudit"
# Beside what the README links to.
SHIPPED = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "README.md", "SECURITY.md")
# What the wheel holds beside modules.
DATA = (
    "py.typed",
    "algorithms/*/statements/checks/*.json",  # what a search found, and a check computes again
    "extension/draft/*.txt",
    "faults/*.toml",
    "ledger/*.json",
    "programs/helpers/*",  # what dpaudit new program writes
    "report/templates/*",
    "report/*.json",
)
SUMMARY = 512  # characters, the most that an index takes
# Labels that an index draws a picture for; the last three may also be asked for by name.
LABELS = ("Homepage", "Documentation", "Changelog", "Source", "Issues")


def project(root: Path) -> dict[str, Any]:
    """Return the table ``[project]`` of a checkout."""
    read = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = read["project"]
    return found


def minors(requires: str) -> list[int]:
    """Return the supported minors of Python 3: of ``>=3.11,<3.14``, 11, 12 and 13."""
    oldest, after = (int(one) for one in re.findall(r"3\.(\d+)", requires))
    return list(range(oldest, after))


# Versions


def about_versions(root: Path) -> list[str]:
    """Compare the version of pyproject.toml with changelog and citation, and their dates."""
    version = str(project(root)["version"])
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[([^\]]+)\](?: - (\S+))?$", changelog, re.M)
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    cited, day = (_line(citation, name) for name in ("version", "date-released"))
    found = []
    if [name for name, _ in sections][:2] != ["Unreleased", version]:
        found.append(f"CHANGELOG.md: begins with {sections[:2]}, not with Unreleased and {version}")
    if cited != version:
        found.append(f"CITATION.cff: is of version {cited}, pyproject.toml of {version}")
    if (version, day) not in sections:
        found.append(f"CITATION.cff: {version} of {day}; CHANGELOG.md: {dict(sections)}")
    return found


def _line(text: str, name: str) -> str:
    line = re.search(rf"^{name}: *(.*)$", text, re.M)
    return line[1].strip("\"'") if line else ""


# The wheel


def about_contents(names: Iterable[str]) -> list[str]:
    """Look at the files of a wheel: one top-level name, modules, and the data files declared."""
    names, found = list(names), []
    inside = [name for name in names if not name.split("/")[0].endswith(".dist-info")]
    if (tops := {name.split("/")[0] for name in inside}) != {NAME}:
        found.append(f"takes the top-level names {', '.join(sorted(tops))}, not {NAME} alone")
    data = [f"{NAME}/{pattern}" for pattern in DATA]
    for name in inside:
        if not name.endswith(".py") and not any(fnmatch(name, one) for one in data):
            found.append(f"holds {name}, which is neither a module nor declared data")
    about = [name.split("/", 1)[1] for name in names if name not in inside]
    wanted = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    found += [f"has no {one} beside the package" for one in wanted if one not in about]
    rooms = (f"{NAME}/__main__.py", f"{NAME}/py.typed", f"{NAME}/algorithms/__init__.py")
    return found + [f"lacks {one}" for one in rooms if one not in names]


def about_wheel(wheel: Path) -> list[str]:
    """Look at a wheel's files."""
    with zipfile.ZipFile(wheel) as opened:
        return about_contents(opened.namelist())


def metadata(wheel: Path) -> Message:
    """Return a wheel's metadata."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (one for one in opened.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(opened.read(name).decode())


# Metadata


def about_metadata(said: Message, declared: dict[str, Any]) -> list[str]:
    """Compare a wheel's metadata with ``[project]``, and both with what an index asks for."""
    fields = {"Name": "name", "Version": "version", "License-Expression": "license"}
    found = [
        f"{field}: {said[field]}, declared is {declared[key]}"
        for field, key in fields.items()
        if said[field] != declared[key]
    ]
    if set((said["Requires-Python"] or "").split(",")) != set(
        declared["requires-python"].split(",")
    ):
        found.append(f"Requires-Python: {said['Requires-Python']}")
    if not 0 < len(said["Summary"] or "") <= SUMMARY or "\n" in said["Summary"]:
        found.append("Summary: one line is asked for")
    if not (said["Description-Content-Type"] or "").startswith("text/markdown"):
        found.append(f"Description-Content-Type: {said['Description-Content-Type']}")
    classifiers = said.get_all("Classifier", [])
    urls = dict(one.split(", ", 1) for one in said.get_all("Project-URL", []))
    return found + about_classifiers(classifiers, declared["requires-python"]) + about_urls(urls)


def about_classifiers(classifiers: list[str], requires: str) -> list[str]:
    """Look for each supported Python, no other, and a stage; nothing twice."""
    stated = {int(one.rpartition(".")[2]) for one in classifiers if " :: 3." in one}
    found = []
    if stated != set(minors(requires)):
        found.append(f"Classifier: Python 3.{sorted(stated)}, supported is {requires}")
    if len(set(classifiers)) != len(classifiers):
        found.append("Classifier: one stands there twice")
    if not any(one.startswith("Development Status :: ") for one in classifiers):
        found.append("Classifier: no development status")
    return found


def about_urls(urls: dict[str, str]) -> list[str]:
    """Look at the form of addresses: https, a host that is nobody's example, a known label."""
    found = []
    for label, url in urls.items():
        parts = urlsplit(url)
        if label not in LABELS:
            found.append(f"Project-URL: {label} is not one of {', '.join(LABELS)}")
        if parts.scheme != "https" or "." not in parts.netloc or url != url.strip():
            found.append(f"Project-URL: {label}: {url} is not an address with https")
        elif re.search(r"(^|\.)(example\.(com|org|net)|localhost|invalid|test)$", parts.netloc):
            found.append(f"Project-URL: {label}: {url} is an example")
    return found


def left_to_state(said: Message) -> list[str]:
    """Return what is no fault of a build, and needed before an upload: where the project is."""
    if said.get_all("Project-URL"):
        return []
    return ["the metadata has no address; state [project.urls] in pyproject.toml"]


# The source distribution


def linked(readme: str) -> set[str]:
    """Return the files of the project that a page links to."""
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", readme)
    return {target.removeprefix("./").rstrip("/") for target in targets}


def about_source(names: Iterable[str], readme: str) -> list[str]:
    """Look for what a source distribution needs to be read, built and tested."""
    inside = {name.partition("/")[2] for name in names}
    folders = {str(parent) for name in inside for parent in Path(name).parents}
    wanted = sorted({*SHIPPED, "tests/conftest.py", "constraints.txt", *linked(readme)})
    found = [f"lacks {one}" for one in wanted if one not in inside | folders]
    stray = re.compile(r"(^|/)(__pycache__|\.venv|build|\.git|\.hypothesis)(/|$)|\.pyc$")
    return found + [f"holds {name}" for name in sorted(inside) if stray.search(name)]


def about_sdist(sdist: Path, readme: str) -> list[str]:
    """Look at the files of a source distribution."""
    with tarfile.open(sdist) as opened:
        return about_source(opened.getnames(), readme)
