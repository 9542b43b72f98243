"""State around the code: modules that it imports in the call, libraries, settings of numbers."""

import subprocess
import sys

import pytest

from .test_ways_to_change import (  # noqa: F401 -- the fixture of the process that forks
    State,
    around,
    code,
    installed,
    look,
    looked_at,
    mech,
)

HELPING = (
    "SCALE = 1\nSCALES = {'a': 1}\nclass Noise:\n    scale = 1\ndef draw(data):\n    return SCALE\n"
)
# How a call imports another module, and what it asks of it there.
LATE = {
    "import helping; return helping.SCALE": "SCALE = 2",
    "from helping import SCALE; return SCALE": "SCALE = 2",
    "from helping import SCALE as s; return s": "SCALE = 2",
    "import helping as h; return h.draw(data)": "SCALE = 2",
    "from helping import draw; return draw(data)": "draw = lambda data: 2",
    "from helping import Noise; return Noise.scale": "Noise.scale = 2",
    "import helping; return helping.SCALES['a']": "SCALES['a'] = 2",
    "import importlib; return importlib.import_module('helping').SCALE": "SCALE = 2",
    "from importlib import import_module as i; return i('helping').draw(data)": "SCALE = 2",
    "return __import__('helping').SCALE": "SCALE = 2",
    "import package.sub; return package.sub.SCALE": "SCALE = 2",
    "from package import sub; return sub.SCALE": "SCALE = 2",
    "from package.sub import SCALE; return SCALE": "SCALE = 2",
    "import second; return second.draw()": "SCALE = 2",
    "import helping; return getattr(helping, str(data))": "SCALE = 2",
}
FILES = {
    "helping.py": HELPING,
    "package/__init__.py": "",
    "package/sub.py": HELPING,
    "second.py": "def draw():\n    from helping import SCALE\n    return SCALE\n",
}
NOISE = (
    "SCALE = 1\nCONFIG = {'scale': 1}\nSCALES = [1]\nKNOWN = {}\n"
    "class Noise:\n    scale = 1\n    def draw(self, of=1):\n        return self.scale * of\n"
    "def inner():\n    return SCALE\ndef draw(data, scale=1, *, more=1):\n    return inner()\n"
)
# What a notebook's cell, or a script of no module, puts into a library, and how code meets it.
PUT = {
    "numpy.random.default_rng = lambda seed=None: S": "np.random.default_rng(1)",
    "numpy.random.default_rng = [numpy.random.default_rng, numpy.random.RandomState][S - 1]": (
        "np.random.default_rng(1)"
    ),
    "numpy.random.laplace = functools.partial(numpy.random.laplace, S)": "np.random.laplace()",
    "numpy.exp = math.exp if S == 1 else math.expm1": "np.exp(1)",
    "numpy.pi = S": "np.pi",
    "math.pi = S": "math.pi",
    "math.exp = lambda x: S": "math.exp(1)",
    "random.gauss = lambda *given: S": "random.gauss(0, 1)",
    "random.Random.gauss = lambda *given: S": "random.gauss(0, 1)",
    "builtins.abs = lambda x: S": "abs(data)",
    "builtins.abs = [min, max][S - 1]": "abs(data)",
    "scipy.stats.laplace = Put(S)": "scipy.stats.laplace.rvs()",
    "noisepkg.draw = lambda data: S": "noisepkg.draw(data)",
    "noisepkg.inner = lambda: S": "noisepkg.draw(data)",
    "noisepkg.SCALE = S": "noisepkg.draw(data)",
    "noisepkg.CONFIG['scale'] = S": "noisepkg.draw(data)",
    "noisepkg.SCALES.append(S)": "noisepkg.draw(data)",
    "noisepkg.KNOWN['a'] = lambda: S": "noisepkg.draw(data)",
    "noisepkg.Noise.scale = S": "noisepkg.Noise().draw()",
    "noisepkg.Noise.draw = lambda self: S": "noisepkg.Noise().draw()",
    "noisepkg.Noise.draw.__defaults__ = (S,)": "noisepkg.Noise().draw()",
    "noisepkg.draw.__defaults__ = (S,)": "noisepkg.draw(data)",
    "noisepkg.draw.__kwdefaults__['more'] = S": "noisepkg.draw(data)",
    "noisepkg.draw.__code__ = made_of_text(S).__code__": "noisepkg.draw(data)",
    "noisepkg.draw = functools.wraps(numpy.sum)(lambda data: S)": "noisepkg.draw(data)",
    "noisepkg.Noise = type('Noise', (), {'draw': lambda self: S})": "noisepkg.Noise().draw()",
    "noisepkg.deep.inner = lambda: S": "noisepkg.draw(data)",
}
SETTINGS = {
    "decimal.getcontext().prec = 28 - S": "str(decimal.Decimal(1) / 3)",
    "decimal.getcontext().rounding = ['ROUND_UP', 'ROUND_DOWN'][S - 1]": "data",
    "decimal.getcontext().traps[decimal.Inexact] = S > 1": "data",
    "decimal.DefaultContext.prec = 28 - S": "data",
    "numpy.set_printoptions(precision=S)": "str(np.array([.1]))",
    "numpy.seterr(divide=['raise', 'ignore'][S - 1])": "np.log(0)",
    "mpmath.mp.dps = 15 * S": "mpmath.exp(1)",
    "locale.setlocale(locale.LC_NUMERIC, ['C', 'C.UTF-8'][S - 1])": "format(1.5, 'n')",
    "warnings.simplefilter(['error', 'ignore'][S - 1])": "data",
    "sys.set_int_max_str_digits(1000 * S)": "str(data)",
}
EVERY = (
    "import decimal, math, mpmath, random\nimport numpy as np\nimport scipy\n"
    "import noisepkg, noisepkg.deep\n"
)
RUNS = (
    "import builtins, decimal, functools, locale, math, mpmath, numpy, random, scipy.stats, sys\n"
    "import warnings\nimport noisepkg, noisepkg.deep\n"
    "def made_of_text(number):\n    space = {}\n"
    "    exec(f'def draw(data, scale=1, *, more=1): return {number}', space)\n"
    "    return space['draw']\n"
    "class Put:\n    def __init__(self, scale):\n        self.scale = scale\n"
    "    def rvs(self):\n        return self.scale\n"
)


def put(statement, call, *, before=True):
    """Return states of a program in which text of no module has run, with one of two numbers."""
    files = {"mech.py": EVERY + code(f"return {call}", ""), **package()}
    place = "before" if before else "after"
    return [State(files, **{place: f"S = {n}\n{RUNS}{statement}"}) for n in "12"]


def package():
    others = {"noisepkg/deep.py": "def inner():\n    return 1\n"}
    return installed(NOISE, **others)


def late(call, change):
    home = "package.sub" if "package" in call else "helping"
    changed = f"import importlib\nexec({change!r}, vars(importlib.import_module('{home}')))"
    return around(code(call, ""), "", changed, **FILES)


WAYS = {
    **{call: late(call, change) for call, change in LATE.items()},
    **{what: put(what, call) for what, call in PUT.items()},
    **{f"{what}, later": put(what, call, before=False) for what, call in PUT.items()},
    **{what: put(what, call) for what, call in SETTINGS.items()},
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_changes_the_identity_or_is_named(look, tmp_path, way):  # noqa: F811
    one, other = looked_at(look, tmp_path, WAYS[way])
    assert one[0] != other[0] or (one[1] and other[1])


@pytest.mark.parametrize("call", LATE)
def test_a_module_that_was_imported_before_is_no_other(look, tmp_path, call):  # noqa: F811
    home = "package.sub" if "package" in call else "helping"
    states = around(code(call, ""), "", f"import {home}, second", **FILES)
    one, other = looked_at(look, tmp_path, states)
    assert one == other
    assert one[1] == []


RAISES = code("import broken")
SAME = {
    "a module that cannot be imported": [State(mech(RAISES, broken__py="raise SystemExit(1)\n"))]
    * 2,
    "what a library itself fills": around(
        EVERY + code("return noisepkg.draw(data)", ""),
        *("", "__import__('noisepkg').KNOWN['a'] = __import__('noisepkg').draw"),
        **package(),
    ),
    "parts of a library that were asked for": around(
        "import scipy\n" + code("return scipy.stats.laplace.rvs()", ""),
        *("", "import scipy.stats"),
    ),
    "a library that nobody names": around(
        code("return data"), "", "import noisepkg; noisepkg.SCALE = 2", **package()
    ),
    "a precision that was set back": around(
        EVERY + code("return decimal.Decimal(1) / 3", ""),
        *("", "import decimal\nwith decimal.localcontext(prec=3): decimal.Decimal(1) / 3"),
        **package(),
    ),
    "a function that was put back": around(
        EVERY + code("return np.sum(data)", ""),
        *("", "import numpy\nkept = numpy.sum\nnumpy.sum = lambda x: 1\nnumpy.sum = kept"),
        **package(),
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_nothing_is_drawn_again_without_need(look, tmp_path, what):  # noqa: F811
    one, other = looked_at(look, tmp_path, SAME[what])
    assert one == other
    assert one[1] == []


WORKER = """
from joblib.externals.loky import get_reusable_executor
from beside import put

if __name__ == "__main__":
    print(get_reusable_executor(max_workers=1).submit(put).result())
"""


def test_the_program_of_a_worker_process_is_nothing_that_was_put_into_libraries(tmp_path):
    """It stands as ``__main__`` there, and is a library's: no work of workers was kept."""
    (tmp_path / "beside.py").write_text(
        "from dpaudit.store.libraries import put_into_libraries\n"
        "def put():\n"
        "    return [name for name, _ in put_into_libraries()]\n"
    )
    (tmp_path / "program.py").write_text(WORKER)
    words = [sys.executable, "program.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
