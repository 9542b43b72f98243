"""Rarer ways to change what a mechanism draws, and roads by which code reads what it draws by."""

import pytest

from .test_ways_to_change import (  # noqa: F401 -- the fixture of the process that forks
    DRAW,
    Looking,
    State,
    around,
    code,
    installed,
    look,
    looked_at,
    mech,
    pair_of,
    variable,
)

# What of the environment is read, by which road: after the import that it takes.
OF_THE_ENVIRONMENT = {
    "os.environb[b'SCALE']": "os",
    "os.getenvb(b'SCALE')": "os",
    "os.path.expandvars('$SCALE')": "os",
    "os.path.expandvars('of ${SCALE}')": "os",
    "vars(os)['environ']['SCALE']": "os",
    "os.__dict__['environ']['SCALE']": "os",
    "getattr(os, 'environ')['SCALE']": "os",
    "__import__('os').environ['SCALE']": "os",
    "posix.environ[b'SCALE']": "posix",
    "os.environ[{'a': 'SCALE'}['a']]": "os",
}
# How a file is read, and its name.
OF_FILES = {
    "io.open('p').read()": "io",
    "os.read(os.open('p', os.O_RDONLY), 9)": "os",
    "list(map(open, ['p']))": "os",
    "functools.partial(open, 'p')().read()": "functools",
    "linecache.getline('p', 1)": "linecache",
    "list(fileinput.input('p'))": "fileinput",
    "gzip.GzipFile('p').read()": "gzip",
    "dbm.open('p')['a']": "dbm",
    "os.stat('p').st_size": "os",
    "runpy.run_path('p')": "runpy",
    "read_it('p')": "os",
    "read_it(of='p')": "os",
    "numpy.ctypeslib.load_library('p', '.')": "numpy.ctypeslib",
}
THROUGH_HELPING = {
    "operator.attrgetter('SCALE')(helping)": "operator, helping",
    "vars(helping)['SCALE']": "helping",
    "helping.__dict__['SCALE']": "helping",
    "helping.draw.__globals__['SCALE']": "helping",
    "sys.modules['helping'].SCALE": "sys, helping",
}
HELPING = {"helping.py": "SCALE = 1\ndef draw():\n    return SCALE\n"}
PATCHES = "import json, math, numpy, noisepkg\nS = json.load(open('s.json'))\n{} = {}\n"
# What another module puts into a library, and how code asks for it there.
PATCHED = {
    "numpy.sum": "import numpy as np|np.sum(data)",
    "math.exp": "import math|math.exp(1)",
    "noisepkg.draw": "import noisepkg|noisepkg.draw(data)",
    "noisepkg.SCALE": "import noisepkg|noisepkg.SCALE * data",
}


def there_or_not(expression, modules="os"):
    """Return states in one of which there is a file that code looks for."""
    text = code(f"data = {expression}", f"import {modules}\nfrom pathlib import Path\n")
    return State(mech(text)), State(mech(text, flag="x"))


def patched(target):
    head, _, call = PATCHED[target].partition("|")
    text = f"import patches\n{head}\n" + code(f"return {call}", "")
    value = "S" if target.endswith("SCALE") else "lambda *given: S"
    states = pair_of(text, "1", "2", "s.json")
    for state in states:
        state.files |= {"patches.py": PATCHES.format(target, value)}
        state.files |= installed(DRAW.format(1) + "SCALE = 1\n")
    return states


def in_a_package(late):
    """Return states of a package whose code imports another module late, by a relative name."""
    files = {"package/__init__.py": f"import importlib\ndef draw():\n    {late}\n"}
    text = "import package\n" + code("return package.draw()", "")
    return tuple(
        State({"mech.py": text, "package/other.py": f"SCALE = {n}\n", **files}) for n in "12"
    )


WAYS = {
    **{
        text: variable(code(f"data = {text}", f"import {module}\n"))
        for text, module in OF_THE_ENVIRONMENT.items()
    },
    "match os.environ": variable(code("match os.environ:\n        case {'SCALE': s}: return s")),
    **{
        text: pair_of(code(f"data = {text}", f"import {module}\n"), "1", "22", "p")
        for text, module in OF_FILES.items()
    },
    "a global partial of open": pair_of(
        code("data = read().read()", "import functools\nread = functools.partial(open, 'p')\n"),
        *("1", "2", "p"),
    ),
    "configparser": pair_of(
        code("p = configparser.ConfigParser(); p.read('p')", "import configparser\n"),
        *("1", "2", "p"),
    ),
    "os.path.exists": there_or_not("os.path.exists('flag')"),
    "isfile": there_or_not("isfile('flag')", "os\nfrom os.path import isfile"),
    "Path.exists": there_or_not("Path('flag').exists()"),
    "a folder without __init__.py": tuple(
        State(
            {
                "mech.py": "import ns.sub\n" + code("return ns.sub.SCALE", ""),
                "ns/sub.py": f"SCALE = {n}\n",
            }
        )
        for n in "12"
    ),
    "a number in such a folder's module": around(
        "import ns.sub\n" + code("return ns.sub.SCALE", ""),
        *("", "__import__('ns.sub').sub.SCALE = 2"),
        **{"ns/sub.py": "SCALE = 1\n"},
    ),
    "from . import, late": in_a_package("from .other import SCALE; return SCALE"),
    "import_module('.other'), late": in_a_package(
        "return importlib.import_module('.other', __package__).SCALE"
    ),
    "what a module gives for any name": around(
        "import conf\n" + code("return conf.SCALE", ""),
        "__import__('conf')._D['SCALE'] = 1",
        "__import__('conf')._D['SCALE'] = 2",
        **{"conf.py": "_D = {}\ndef __getattr__(name):\n    return _D[name]\n"},
    ),
    "what stands among the builtins": around(
        code("return data * SCALE"),
        "__import__('builtins').SCALE = 1",
        "__import__('builtins').SCALE = 2",
        before=True,
    ),
    **{
        text: around(
            f"import {modules}\n" + code(f"return {text}", ""),
            *("", "__import__('helping').SCALE = 2"),
            **HELPING,
        )
        for text, modules in THROUGH_HELPING.items()
    },
    **{f"put into {target}": patched(target) for target in PATCHED},
}
FILES, FOLDER, TYPED = "files whose names it works out", "what stands in a folder", "typed in"
# Code, and what is named of it as unseen.
NAMED = {
    "os.path.exists(str(data))": FILES,
    "Path(str(data)).stat()": FILES,
    "os.listdir('.')": FOLDER,
    "list(os.scandir('.'))": FOLDER,
    "glob.glob('*.x')": FOLDER,
    "list(Path('.').glob('*.x'))": FOLDER,
    "sys.path.insert(0, 'vendored')": "folders that modules are looked for in",
    "SharedMemory('n').buf[0]": "what another process holds",
    "asyncio.create_subprocess_exec('./draw')": "what another program answers",
    "asyncio.open_connection('h', 1)": "what a network answers",
    "input()": TYPED,
    "sys.stdin.read()": TYPED,
    "getpass.getpass()": TYPED,
    "sys._getframe(1).f_locals": "what the rest of the program holds",
    "gc.get_objects()": "what the rest of the program holds",
    "object.__subclasses__()": "what the rest of the program holds",
    "os.path.expandvars(str(data))": "variables of the environment whose names it works out",
    "list(map(os.stat, data))": FILES,
}
LEFT_OUT = {
    "Path.home()": "the variable HOME",
    "os.path.expanduser('~')": "the variable HOME",
    "tempfile.gettempdir()": "where it runs",
    "getpass.getuser()": "where it runs",
    "sys.flags.optimize": "how Python was started",
}
EVERY = (
    "import asyncio, gc, getpass, glob, os, sys, tempfile\n"
    "from pathlib import Path\nfrom multiprocessing.shared_memory import SharedMemory\n"
)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_changes_the_identity_or_is_named(look, tmp_path, way):  # noqa: F811
    one, other = looked_at(look, tmp_path, WAYS[way])
    assert one[0] != other[0] or (one[1] and other[1])


@pytest.mark.parametrize("expression", NAMED)
def test_what_nobody_can_look_at_is_named(look, tmp_path, expression):  # noqa: F811
    state = State(mech(code(f"data = {expression}", EVERY)))
    ((_, unseen, _),) = looked_at(look, tmp_path, [state])
    assert any(NAMED[expression] in one for one in unseen), unseen


@pytest.mark.parametrize("expression", LEFT_OUT)
def test_what_differs_by_its_nature_is_left_out_by_name(look, tmp_path, expression):  # noqa: F811
    state = State(mech(code(f"data = {expression}", EVERY)))
    ((_, unseen, left_out),) = looked_at(look, tmp_path, [state])
    assert unseen == []
    assert any(one.startswith(LEFT_OUT[expression]) for one in left_out), left_out


RAISES = """
class Noisy:
    def __getattr__(self, name):
        return {}[name]
    def sample(self, data, trials, rng):
        return data
mechanism = Noisy()
"""
SAME = {
    "a file that is made": [
        State({"mech.py": code("np.save('p', data)", "import numpy as np\n"), "p": n}) for n in "12"
    ],
    "a file that is written": [
        State({"mech.py": code("open('p', mode='w').write('x')"), "p": n}) for n in "12"
    ],
    "a question of what kind data are": [
        State({"mech.py": code("isinstance(data, zipfile.ZipFile)", "import zipfile\n"), "p": n})
        for n in "12"
    ],
    "a library's own functions": [
        State(mech("import math, numpy\n" + code("return numpy.sum(data) * math.pi", "")))
    ]
    * 2,
}


@pytest.mark.parametrize("what", SAME)
def test_nothing_is_drawn_again_without_need(look, tmp_path, what):  # noqa: F811
    one, other = looked_at(look, tmp_path, SAME[what])
    assert one == other
    assert one[1] == []


def test_attributes_that_raise_leave_an_object_without_an_identity(look, tmp_path):  # noqa: F811
    ((sealed, unseen, _),) = looked_at(look, tmp_path, [State(mech(RAISES))])
    assert (sealed, unseen) == ("", ["mech.Noisy"])
