"""The action, the hook and the image: valid by their schemas, and each step does what it says."""

import json
import os
import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

import dpaudit.cli.storing as storing
from dpaudit.report.brief import MARK, render_brief
from dpaudit.report.entries import ReportEntries, ReportEntry

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads(
    (files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-actions.json").read_text(
        "utf-8"
    )
)
WORKFLOWS = json.loads(
    (files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-workflows.json").read_text(
        "utf-8"
    )
)
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def test_the_action_is_valid_by_githubs_schema():
    jsonschema.validate(ACTION, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**ACTION, "runs": {"using": "composite"}}, SCHEMA)


def test_the_workflow_that_the_page_shows_is_valid():
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    workflow, hook = re.findall(r"```yaml\n(.*?)```", page, flags=re.S)
    jsonschema.validate(YAML(typ="safe").load(workflow), WORKFLOWS)
    used = YAML(typ="safe").load(workflow)["jobs"]["audit"]["steps"][1]["with"]
    assert set(used) <= set(ACTION["inputs"])
    (repository,) = YAML(typ="safe").load(hook)["repos"]
    assert [one["id"] for one in repository["hooks"]] == [one["id"] for one in hooks()]


def test_the_workflow_of_the_project_runs_its_checks_on_every_supported_python():
    workflow = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "tests.yml")
    jsonschema.validate(workflow, WORKFLOWS)
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    minors = [one.rsplit(" ", 1)[1] for one in project["classifiers"] if " :: 3." in one]
    assert job["strategy"]["matrix"]["python"] == minors


def hooks():
    return YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")


def test_the_hook_names_a_command_and_the_package_that_has_it():
    (hook,) = hooks()
    assert {"id", "name", "entry", "language"} <= set(hook)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hook["entry"].split()[0] in project["scripts"]


def test_outputs_that_are_kept_to_go_on_from_are_not_uploaded():
    (upload,) = (one for one in STEPS.values() if "upload-artifact" in one.get("uses", ""))
    folder = "${{ inputs.report }}"
    assert upload["with"]["path"].split("\n")[:2] == [folder, f"!{folder}/{storing.FILE}*"]


def test_no_input_is_put_into_a_script():
    """What a pull request names could otherwise run as a command."""
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")


def step(name, folder, **variables):
    """Run the script of a step as a runner does; return its status and what it printed."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(folder, name, script):
    file = folder / "bin" / name
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(0o755)


def test_an_audit_keeps_its_status_and_the_table_is_the_summary(folder):
    write = f"echo '{MARK}' > report/comment.md"
    program(folder, "dpaudit", f'echo "$@" >> asked; mkdir -p report; {write}; exit 1')
    outputs = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
    status, _ = step(
        "Audit",
        folder,
        SPECIFICATION="privacy.toml",
        ARGUMENTS="--trials 500 *",
        REPORT="report",
        **outputs,
    )
    assert status == 0
    assert (folder / "output").read_text() == "status=1\n"
    assert (folder / "summary").read_text() == f"{MARK}\n"
    asked = (folder / "asked").read_text().split()
    assert asked[:5] == ["audit", "privacy.toml", "--trials", "500", "*"]
    assert "sarif=report/dpaudit.sarif" in asked
    assert step("Say what it comes to", folder, STATUS="1")[0] == 1
    assert step("Say what it comes to", folder, STATUS="0")[0] == 0


@pytest.mark.parametrize(
    ("found", "asked"),
    [("", "--method POST repos/o/r/issues/7/comments"), ("12", "--method PATCH")],
)
def test_there_is_one_comment_however_often_it_runs(folder, found, asked):
    program(folder, "gh", f'echo "$@" >> asked; case "$*" in *--paginate*) echo "{found}";; esac')
    (folder / "comment.md").write_text(f"{MARK}\n")
    variables = {"GH_TOKEN": "t", "REPORT": ".", "REPOSITORY": "o/r", "NUMBER": "7"}
    status, said = step("Comment", folder, **variables)
    assert (status, said) == (0, "")
    assert asked in (folder / "asked").read_text().splitlines()[1]
    assert MARK in (folder / "asked").read_text().splitlines()[0]


def test_a_token_that_may_not_write_is_a_warning(folder):
    program(folder, "gh", "exit 1")
    (folder / "comment.md").write_text(f"{MARK}\n")
    variables = {"GH_TOKEN": "t", "REPORT": ".", "REPOSITORY": "o/r", "NUMBER": "7"}
    status, said = step("Comment", folder, **variables)
    assert status == 0
    assert said.startswith(
        "::warning title=dpaudit::The verdicts could not be commented: a pull re"
    )
    assert said.count("\n") == 1


def test_the_image_is_built_from_the_wheels_alone():
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", image, flags=re.M)
    assert f"WHEELHOUSE_PYTHON ?= {python}" in makefile
    (installed,) = re.findall(r"pip install (.*?) dpaudit", image)
    assert {"--no-index", "--find-links=/wheelhouse"} <= set(installed.split())
    assert "\n!build/wheelhouse\n" in (ROOT / ".dockerignore").read_text(encoding="utf-8")


def entry(number):
    leaked = f"What leaked: {'x' * 400} in 900 of 1000 outputs"
    return ReportEntry(name=f"mine:f{number}", outcome="refuted", headline=leaked, text=leaked)


def all_of(count):
    about = {"surety": None, "root": ROOT, "version": "1", "created": "today", "seconds": 1.0}
    return ReportEntries(entries=[entry(number) for number in range(count)], summary="all", **about)


def test_a_comment_is_never_longer_than_a_code_host_takes():
    few, many = render_brief(all_of(3)), render_brief(all_of(2000))
    assert few.count("What leaked") == 3
    assert "more, in the report" not in few
    assert len(many) < 60_000
    rows, reasons = many.count("| ❌ |"), many.count("What leaked")
    assert f"| | and {2000 - rows} more, in the report |" in many
    assert f"\n- and {2000 - reasons} more, in the report\n" in many
