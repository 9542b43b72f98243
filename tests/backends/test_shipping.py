"""The user's modules, found by reading and imported from memory elsewhere."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.execution import shipping
from dpaudit.execution.importing import importable
from dpaudit.execution.shipping import PackedTask, modules_of

FILES = {
    "of_mine.py": "import numpy\nfrom pack.inner import one\nX = 'lazily:thing'\n",
    "lazily.py": "import of_mine\n",
    "pack/__init__.py": "from . import inner\n",
    "pack/inner.py": "from . import deeper\nfrom .deeper import two\ndef one(): return two()\n",
    "pack/deeper.py": (
        "def two():\n    import graphlib\n    from helping import four\n    return four()\n"
    ),
    "helping.py": "def four(): return 4\n",
    "graphlib.py": "raise SystemExit('a library has this name')\n",
    "unused.py": "raise SystemExit\n",
    "broken.py": "def (\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    with importable(tmp_path):
        yield tmp_path


def needing(name):
    return pickle.dumps((f"{name}:one", b"\x80" + b"no pickle", 3))


def test_what_code_imports_is_found_wherever_it_does(folder):
    found = modules_of(needing("of_mine"))
    assert set(found) == {"of_mine", "lazily", "pack", "pack.inner", "pack.deeper", "helping"}
    assert found["pack"][1]
    assert not found["pack.inner"][1]
    assert found["helping"][0] == FILES["helping.py"].encode()


def test_packages_and_libraries_stay_where_they_are(folder):
    assert modules_of(needing("numpy")) == {}
    assert modules_of(needing("dpaudit.errors")) == {}
    assert modules_of(needing("graphlib")) == {}
    assert modules_of(pickle.dumps("no module at all")) == {}


def test_what_does_not_parse_travels_as_it_is(folder):
    assert set(modules_of(needing("broken"))) == {"broken"}


def test_a_pickle_in_a_pickle_is_read(folder):
    assert "helping" in modules_of(pickle.dumps(pickle.dumps("helping:four")))


def test_too_much_is_refused_by_name(folder, monkeypatch):
    monkeypatch.setattr(shipping, "_MOST", 10)
    with pytest.raises(InvalidArgument, match=r"^backend: "):
        modules_of(needing("helping"))


def test_another_process_imports_it_from_memory(folder, tmp_path):
    inner = b"cof_mine\none\n."
    blob = tmp_path / "blob"
    blob.write_bytes(pickle.dumps(PackedTask(modules_of(needing("of_mine")), inner)))
    code = (
        "import pickle, sys; task = pickle.load(open(sys.argv[1], 'rb')); print(task()); "
        "import of_mine, inspect; print(of_mine.__file__, inspect.getsource(task).strip())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(blob)], cwd=Path("/"), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    first, second = ran.stdout.splitlines()
    assert first == "4"
    assert second == "<taken along>/of_mine.py def one(): return two()"


def test_modules_decide_the_digest(folder):
    one = modules_of(needing("helping"))
    other = {"helping": (b"def four(): return 5\n", False)}
    assert PackedTask(one, b"").digest == PackedTask(dict(one), b"x").digest
    assert PackedTask(one, b"").digest != PackedTask(other, b"").digest
