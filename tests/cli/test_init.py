"""The first files of a project: what is suggested, what is never written over, and that it runs."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dpaudit.auditing.specification.noisy_functions import NoisyFunction, find_noisy_functions
from dpaudit.auditing.specification.project_draft import JOBS, FirstFiles, FunctionCheck

yaml = YAML(typ="safe")

MODULE = """
import numpy as np

def takes(data, rng):
    return data.sum() + rng.laplace()

def draws(data):
    return data.sum() + np.random.default_rng(1).normal()

def plain(data):
    return data.sum()

def _hidden(data, rng):
    return rng.normal()

def no_data(rng):
    return rng.normal()

class Holder:
    def method(self, data, rng):
        return rng.normal()
"""


def test_functions_are_suggested_by_what_they_take_and_draw(tmp_path):
    for name in ("a.py", "src/pkg/b.py", "tests/c.py", "test_d.py", ".venv/e.py", "not-a-name.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MODULE)
    (tmp_path / "broken.py").write_text("def f(x, rng:\n")
    (tmp_path / "bytes.py").write_bytes(b"\xff\x00def f(x, rng): pass")
    found = [one.reference for one in find_noisy_functions(tmp_path)]
    assert found == ["a:takes", "pkg.b:takes", "a:draws", "pkg.b:draws"]


@pytest.mark.parametrize("ci", JOBS)
def test_nothing_is_asked_and_an_example_is_written(dpaudit, tmp_path, ci):
    ran = dpaudit("init", "--into", str(tmp_path), "--ci", ci, "--epsilon", "0.5")
    assert (ran.status, ran.err) == (0, "")
    written = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    assert written == {"private_average.py", "privacy.toml", "test_privacy.py", JOBS[ci]}
    [audit] = tomllib.loads((tmp_path / "privacy.toml").read_text())["audit"]
    assert (audit["mechanism"], audit["epsilon"]) == ("private_average:average_age", 0.5)
    job = yaml.load((tmp_path / JOBS[ci]).read_text())
    assert "privacy" in (job["jobs"] if ci == "github" else job)


@pytest.mark.parametrize("name", ["privacy.toml", "test_privacy.py", JOBS["github"]])
def test_nothing_is_written_over(dpaudit, tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    ran = dpaudit("init", "--into", str(tmp_path))
    assert (ran.status, name in ran.err) == (2, True)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [file]
    assert file.read_text() == "mine"


def test_a_link_that_leads_nowhere_is_there_too(dpaudit, tmp_path):
    (tmp_path / "privacy.toml").symlink_to(tmp_path / "gone")
    assert dpaudit("init", "--into", str(tmp_path)).status == 2
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    "given", [("--ci", "jenkins"), ("--epsilon", "0"), ("--epsilon", "nan"), ("--into", "gone")]
)
def test_what_is_wrong_is_refused_and_nothing_written(dpaudit, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    assert dpaudit("init", *given).status == 2
    assert list(tmp_path.iterdir()) == []


def test_a_package_below_src_that_is_not_installed_is_named(dpaudit, tmp_path):
    """What to do next, and no traceback of Python's own modules."""
    package = tmp_path / "src" / "nobody_has_this"
    package.mkdir(parents=True)
    (package / "noise.py").write_text(
        "def noisy(ages, rng):\n    return sum(ages) + rng.normal()\n"
    )
    ran = dpaudit("init", "--into", str(tmp_path))
    said = "nobody_has_this.noise:noisy: its package is not installed: pip install --editable ."
    assert (ran.status, said in ran.out) == (0, True)


def test_what_does_not_run_is_a_comment_with_its_reason(tmp_path):
    functions = [NoisyFunction(f"pkg.a:{name}", 1, takes_generator=True) for name in ("f", "g")]
    tried = [
        FunctionCheck(functions[0], None),
        FunctionCheck(functions[1], 'raised KeyError: "age"'),
    ]
    made = FirstFiles(folder=tmp_path, ci="github", epsilon=1.0, tried=tried).contents()
    [audit] = tomllib.loads(made["privacy.toml"])["audit"]
    assert audit["mechanism"] == "pkg.a:f"
    assert '# pkg.a:g does not run yet: raised KeyError: "age"' in made["privacy.toml"]
    uncommented = made["privacy.toml"].partition('"age"\n')[2].replace("# ", "")
    assert tomllib.loads(uncommented)["audit"][0]["mechanism"] == "pkg.a:g"
    compile(made["test_privacy.py"], "test_privacy.py", "exec")
    assert "private_average.py" not in made


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_the_job_installs_what_the_project_needs(tmp_path, name):
    (tmp_path / name).write_text("")
    made = FirstFiles(folder=tmp_path, ci="github", epsilon=1.0).contents()
    installs = commands(made[JOBS["github"]], "github")[0]
    assert (" -r requirements.txt" in installs, " -e ." in installs) == (
        name == "requirements.txt",
        name == "pyproject.toml",
    )


def commands(text, ci):
    """Return the commands of a job."""
    job = yaml.load(text)
    if ci == "gitlab":
        return job["privacy"]["script"]
    return [one["run"] for one in job["jobs"]["privacy"]["steps"] if "run" in one]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ci", "scale", "status"), [("github", None, 0), ("gitlab", "20", 0), ("github", "5", 1)]
)
def test_every_command_of_the_job_runs_at_once(tmp_path, ci, scale, status):
    """With no function, with one that keeps epsilon 1, and with one that does not."""
    if scale is not None:
        (tmp_path / "ages.py").write_text(
            "import numpy as np\n\n\ndef mean(ages, rng):\n"
            f"    return np.clip(ages, 0, 100).mean() + rng.laplace(scale={scale})\n"
        )
    bin = Path(sys.executable).parent
    path = {"PATH": f"{bin}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(line):
        words = shlex.split(line)
        return subprocess.run(words, cwd=tmp_path, env=path, capture_output=True, text=True)

    assert run(f"dpaudit init --ci {ci}").returncode == 0
    install, *others = commands((tmp_path / JOBS[ci]).read_text(), ci)
    assert re.match(r'python -m pip install "dpaudit\[testing\]"', install)  # it is there already
    found = [run(line) for line in others]
    assert [one.returncode for one in found] == [status, status], found
    assert (tmp_path / "privacy-report" / "report.html").is_file()
