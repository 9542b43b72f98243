"""Scripts of ``examples/``, loaded from their files.

They cannot be imported by name where tests run: pytest knows ``tests/examples`` as ``examples``.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load_example(path: str) -> ModuleType:
    """Return the module of a file below ``examples/``, named without its suffix, once."""
    name = "example_" + path.replace("/", "_")
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
