"""How workers of pytest-xdist compile the files that they all collect."""

import sys
from types import SimpleNamespace

import pytest
from _pytest.assertion import rewrite

import dpaudit.auditing.run as run
import tests.compiling as compiling


@pytest.fixture
def compiled(tmp_path, pytestconfig, monkeypatch):
    """Return what one of so many workers compiles of four files, of which one is no Python."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text("assert 2 > 1", encoding="utf-8")
    (tmp_path / "test_d.py").write_text("assert", encoding="utf-8")

    def by(worker, workers):
        config = SimpleNamespace(
            workerinput={"workerid": worker, "workercount": workers},
            stash=pytestconfig.stash,
            getini=pytestconfig.getini,
            args=["."],
            invocation_params=SimpleNamespace(dir=tmp_path),
        )
        compiling.compile_share(config)
        return {path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")}

    return by


def test_each_worker_compiles_a_share(compiled, tmp_path):
    assert compiled("gw0", 2) == {"test_a", "test_c"}
    path = tmp_path / "test_a.py"
    code = rewrite._read_pyc(path, rewrite.get_cache_dir(path) / f"test_a{rewrite.PYC_TAIL}")
    assert code.co_filename == str(path)
    assert "@pytest_ar" in code.co_names


def test_what_is_compiled_is_not_compiled_again(compiled):
    compiled("gw0", 2)
    assert compiled("gw0", 2) == {"test_a", "test_b", "test_c"}


def test_who_is_alone_compiles_nothing_beforehand(compiled):
    assert compiled("gw0", 1) == set()


def test_the_package_is_left_to_python_and_its_tests_are_not():
    hook = rewrite.AssertionRewritingHook
    assert not isinstance(run.__loader__, hook)
    assert isinstance(__loader__, hook)
