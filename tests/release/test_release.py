"""What ``make release`` complains about: each complaint has a release that earns it."""

import sys
from email.message import Message
from pathlib import Path

import pytest

from tests.release import checks, run

ROOT = Path(__file__).resolve().parents[2]
DECLARED = checks.project(ROOT)
ABOUT = "dpaudit-0.2.0.dist-info"
WHEEL = [
    "dpaudit/__main__.py",
    "dpaudit/py.typed",
    "dpaudit/algorithms/__init__.py",
    "dpaudit/report/audit.json",
    *(f"{ABOUT}/{one}" for one in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")),
    f"{ABOUT}/licenses/LICENSE",
]


def test_versions_and_dates_agree():
    assert checks.about_versions(ROOT) == []


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [1.2.0] - 2031-01-02\n")
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\ndate-released: 2031-01-02\n")
    return tmp_path


def test_a_checkout_whose_versions_agree(checkout):
    assert checks.about_versions(checkout) == []


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("CHANGELOG.md", "## [1.2.0] - 2031-01-02\n", "not with Unreleased and 1.2.0"),
        ("CHANGELOG.md", "## [Unreleased]\n## [1.1.0] - 2030-01-02\n", "not with Unreleased"),
        ("CITATION.cff", "version: 1.1.0\ndate-released: 2031-01-02\n", "is of version 1.1.0"),
        ("CITATION.cff", "version: 1.2.0\ndate-released: 2031-01-03\n", "1.2.0 of 2031-01-03"),
    ],
)
def test_versions_that_differ_are_seen(checkout, file, text, complaint):
    (checkout / file).write_text(text)
    assert any(complaint in one for one in checks.about_versions(checkout))


def test_files_of_a_wheel():
    assert checks.about_contents(WHEEL) == []


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ([*WHEEL, "tests/conftest.py"], "top-level names dpaudit, tests"),
        ([*WHEEL, "dpaudit/report/notes.txt"], "holds dpaudit/report/notes.txt"),
        ([*WHEEL, "dpaudit/__pycache__/x.cpython-311.pyc"], "neither a module nor declared data"),
        ([one for one in WHEEL if "LICENSE" not in one], "has no licenses/LICENSE"),
        ([one for one in WHEEL if "entry_points" not in one], "has no entry_points.txt"),
        ([one for one in WHEEL if "py.typed" not in one], "lacks dpaudit/py.typed"),
        ([one for one in WHEEL if "algorithms" not in one], "lacks dpaudit/algorithms"),
    ],
)
def test_other_files_are_seen(names, complaint):
    assert any(complaint in one for one in checks.about_contents(names))


def metadata(**changed):
    said = Message()
    fields = {
        "Name": "dpaudit",
        "Version": DECLARED["version"],
        "License-Expression": "Apache-2.0",
        "Requires-Python": "<3.14,>=3.11",
        "Summary": DECLARED["description"],
        "Description-Content-Type": "text/markdown",
    }
    other = {name.replace("_", "-"): value for name, value in changed.items()}
    for name, value in {**fields, **other}.items():
        said[name] = value
    for one in DECLARED["classifiers"]:
        said["Classifier"] = one
    return said


def test_metadata():
    assert checks.about_metadata(metadata(), DECLARED) == []


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"Version": "0.1.0"}, "Version: 0.1.0"),
        ({"License_Expression": "MIT"}, "License-Expression: MIT"),
        ({"Requires_Python": ">=3.11"}, "Requires-Python"),
        ({"Summary": ""}, "Summary"),
        ({"Summary": "x" * 513}, "Summary"),
        ({"Description_Content_Type": "text/x-rst"}, "Description-Content-Type"),
        ({"Project_URL": "Home, https://dpaudit.dev"}, "Home is not one of"),
        ({"Project_URL": "Homepage, http://dpaudit.dev"}, "not an address with https"),
        ({"Project_URL": "Homepage, https://www.example.org/x"}, "is an example"),
    ],
)
def test_other_metadata_is_seen(changed, complaint):
    assert any(complaint in one for one in checks.about_metadata(metadata(**changed), DECLARED))


def test_a_good_address_is_not():
    said = metadata(Project_URL="Homepage, https://dpaudit.dev/")
    assert checks.about_metadata(said, DECLARED) == []


def test_a_release_without_an_address_is_built_and_says_so_at_its_end(capsys):
    assert checks.left_to_state(metadata(Project_URL="Homepage, https://dpaudit.dev/")) == []
    outcome = run.Outcome(left=checks.left_to_state(metadata()))
    run._close(outcome, (Path("a.tar.gz"), Path("a.whl")), 1.0)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "BEFORE AN UPLOAD: the metadata has no address; state [project.urls] in pyproject.toml"
    )
    assert outcome.status(allow_missing=False) == 0


STAGE = "Development Status :: 4 - Beta"


@pytest.mark.parametrize(
    ("classifiers", "complaint"),
    [
        ([STAGE, "Programming Language :: Python :: 3.11"], "Python 3.[11]"),
        ([STAGE, *["Programming Language :: Python :: 3.11"] * 2], "twice"),
        (["Programming Language :: Python :: 3.11"], "no development status"),
    ],
)
def test_other_classifiers_are_seen(classifiers, complaint):
    found = checks.about_classifiers(classifiers, ">=3.11,<3.13")
    assert any(complaint in one for one in found)


README = "[how](docs/how.md#here), [site](https://dpaudit.dev), [up](#top), [all](reports/)"
SDIST = [
    f"dpaudit-0.2.0/{one}"
    for one in (
        *checks.SHIPPED,
        "constraints.txt",
        "tests/conftest.py",
        "docs/how.md",
        "reports/index.md",
    )
]


def test_files_of_a_source_distribution():
    assert checks.about_source(SDIST, README) == []


@pytest.mark.parametrize("missing", ["docs/how.md", "reports/index.md", "CHANGELOG.md"])
def test_a_file_that_the_readme_links_to_is_missed(missing):
    without = [one for one in SDIST if not one.endswith(missing)]
    wanted = "reports" if missing.startswith("reports") else missing
    assert checks.about_source(without, README) == [f"lacks {wanted}"]


def test_leftovers_in_a_source_distribution_are_seen():
    found = checks.about_source([*SDIST, "dpaudit-0.2.0/tests/__pycache__/x.pyc"], README)
    assert found == ["holds tests/__pycache__/x.pyc"]


# How a run ends


@pytest.mark.parametrize(
    ("failed", "missing", "allowed", "status"),
    [
        ([], [], False, 0),
        ([], ["3.12"], False, 3),
        ([], ["3.12"], True, 0),
        (["metadata"], [], False, 1),
        (["metadata"], ["3.12"], True, 1),
    ],
)
def test_status(failed, missing, allowed, status):
    assert run.Outcome(failed, missing).status(allowed) == status


def test_a_step_that_fails_is_told_and_kept(capsys):
    outcome = run.Outcome()
    code = "import sys; print('what was wrong'); sys.exit(1)"
    assert not outcome.note("a step", run.said([sys.executable, "-c", code]))
    assert outcome.note("another", run.said([sys.executable, "-c", ""]))
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["FAILED a step", "       what was wrong", "ok     another"]
    assert outcome.failed == ["a step"]


def test_the_source_is_not_taken_for_the_wheel(tmp_path):
    assert run.said([sys.executable, "-c", run.imported(tmp_path)]) != []
