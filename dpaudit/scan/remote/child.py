"""Outputs of a plain function of a package, drawn where the package is installed.

Runs in the package's environment (`dpaudit.execution.worker`), with the standard library and numpy
alone, from Python 3.9 on. What a function returns, raises and warns of becomes typed data: whatever
is no number, text or array of numbers is a tuple of its kind and its contents, which
`dpaudit.scan.remote.decoding` reads.
"""

from __future__ import annotations

import contextlib
import enum
import importlib.metadata
import importlib.util
import inspect
import itertools
import os
import platform
import random
import sys
import warnings
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

_DEEP = 10  # containers in one another; below, the text of what there is
_LONGEST = 2000  # characters of a text, an error or a warning that are sent
_LARGEST = 4096  # entries of what is sent as it is
_FIRST = 256  # entries that are sent of what has more, with a checksum
_CONSTANTS = 64  # constants that are read off code
_SHORT = 32  # characters of a text among them
_MODULE = "subjects of a scan"
_functions: dict[tuple[str, str], Any] = {}


def sampled(task: dict[str, Any], trials: int, rng: np.random.Generator) -> Any:
    """Return outputs of a function, as typed data.

    Parameters
    ----------
    task
        ``file`` and ``function``, ``parameters`` by name, and the dataset, ``data``; ``apart``
        where a function that could draw many outputs in one call is to be called for each.
    trials
        How many outputs.
    rng
        For a function that asks for it; the global generators are set from it.

    Returns
    -------
        ``{"numbers": array}`` where all outputs are floats, else ``{"outputs": list}``. Where one
        call drew several and warned, ``said`` says of what, and where it failed, how.
    """
    call = _Call.of(task, rng)
    if call.many:
        return call.together(task["data"], trials)
    return _batch([call.observed(task["data"]) for _ in range(trials)])


def in_turn(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return outputs on two datasets, ``data`` and ``other``, so many of each, as `sampled` does.

    Their calls are mixed in a random order. What changes with the calls that a process has made, or
    with the time, then tells nothing of which dataset a call had.
    """
    call, datasets = _Call.of(task, rng), (task["data"], task["other"])
    found: list[Any] = [[], []]
    if call.many:
        # One call gives all outputs of a side, so that only the order of the two calls can be
        # random.
        for side in rng.permutation(2):
            found[side] = call.together(datasets[side], trials)
        return found
    # The numbers of calls are fixed and their order is random: tossing a coin for each call
    # would make the counts random, which the certification takes as constants.
    for side in rng.permutation(np.repeat([0, 1], trials)):
        found[side].append(call.observed(datasets[side]))
    return [_batch(one) for one in found]


def about(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return Python's version, and the version of every distribution that is installed here."""
    found = {}
    for one in importlib.metadata.distributions():
        with contextlib.suppress(Exception):  # what is left of one that was removed
            found[str(one.metadata["Name"])] = str(one.version)
    return [platform.python_version(), dict(sorted(found.items()))]


# Noise that is frozen


def moved(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return the evidence of runs with the same noise about each of ``neighbours``.

    How far what noise is added to moved, in scales of the noise, and which epsilon the mechanisms
    declare whose value moved. ``task`` is that of `sampled`, with ``freezing``, the folder of
    `dpaudit.freezing`.
    """
    glimpse = _module_of("freezing", task["freezing"], "glimpse")
    if not _glimpses:
        _glimpses.append(glimpse.Glimpses())
    function = _function(task["file"], task["function"])
    given = (function, task["data"], task["neighbours"], task["parameters"])
    return [list(one) for one in _glimpses[0].of(*given)]


_glimpses: list[Any] = []  # of this process, in which primitives may be replaced


def _put_primitives_back() -> None:
    for one in _glimpses:
        one.close()


def constants(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return numbers and short texts that stand in the code which one call runs.

    That of the function's file and of the package: what others wrote compares with nothing of
    theirs. ``task`` is that of `sampled`, with ``distribution``, whose package the function is of.
    """
    call, codes = _Call.of(task, rng), dict[Any, None]()
    own = {task["file"], *_import_names(task["distribution"])}

    def note(frame: Any, event: str, argument: Any) -> None:
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if event == "call" and own & {name, frame.f_code.co_filename}:
            codes[frame.f_code] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        if call.many:
            call.together(task["data"], 1)
        else:
            call.observed(task["data"])
    finally:
        sys.setprofile(before)
    return _plain_constants(codes)


def _plain_constants(codes: Any) -> list[Any]:
    """Return the different numbers and short texts of code, and of code inside it."""
    found, waiting = dict[Any, None](), list(codes)
    while waiting and len(found) < _CONSTANTS:
        code = waiting.pop(0)
        for one in code.co_consts:
            held = one if isinstance(one, (tuple, frozenset)) else [one]
            # A frozenset has an order that changes with the hash seed of the process; sorting
            # makes a search repeat.
            for each in sorted(held, key=repr):
                if type(each) in (int, float) or (type(each) is str and len(each) <= _SHORT):
                    # The type is part of the key, since 1 and 1.0 are equal and would replace
                    # one another.
                    found[type(each).__name__, each] = None
            if hasattr(one, "co_consts"):
                waiting.append(one)
    return [each for _, each in found][:_CONSTANTS]


def watched(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return one output, and all that this process has touched since it watches.

    The process is there for this alone: it watches from its first request on, before it imports the
    function, and calls alone are watched where the import is another one's. ``task`` is that of
    `sampled`, with ``watching``, the folder of `dpaudit.watching`, ``distribution``, whose package
    the function is of, and ``ahead``, by how many steps the clocks are set forward.
    """
    watch = _watch_of(task)
    known = (task["file"], task["function"]) in _functions
    call = _Call.of(task, rng) if known else _imported(task, watch, rng)
    data = task["data"]
    watch.begin_call()
    opened, reads, watch.on = watch.opened, _reads(watch), True
    try:
        answer = call.together(data, 1) if call.many else _batch([call.observed(data)])
    finally:
        watch.on = False
    # What was imported in a first call was read by Python itself; one read is the counter's own.
    if known and watch.opened == opened and _reads(watch) - reads > 1:
        watch.note("compiled code", "a file that compiled code reads")
    return [[list(one) for one in watch.touches], answer]


def _imported(task: dict[str, Any], watch: Any, rng: np.random.Generator) -> _Call:
    """Return a call, its import watched; readings that nothing can use are forgotten."""
    before, watch.on = set(sys.modules), True
    try:
        call = _Call.of(task, rng)
    finally:
        watch.on = False
    keeps = _module_of("watching", task["watching"], "imports").keeps_nothing_read
    function = _function(task["file"], task["function"])
    if keeps(function, tuple(watch.own), before):
        watch.touches.clear()
    return call


_watches: list[Any] = []


def _watch_of(task: dict[str, Any]) -> Any:
    """Return the watch on this process, which begins with the first request for it."""
    if not _watches:
        own = {_MODULE, *_import_names(task["distribution"])}
        made = _module_of("watching", task["watching"], "watch").Watch(own)
        if task["ahead"]:
            _module_of("watching", task["watching"], "clocks").Clocks(task["ahead"]).install()
        made.install()
        _watches.append(made)
    return _watches[0]


def _reads(watch: Any) -> int:
    found = sys.modules[type(watch).__module__].reads_so_far()
    return 0 if found is None else int(found)


def _import_names(distribution: str) -> set[str]:
    """Return the top-level packages that a distribution installs."""
    # Not every distribution records its files or its top-level names, so that the usual
    # spelling is tried as well.
    names = {distribution.replace("-", "_"), distribution.replace("-", "_").lower()}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found = importlib.metadata.distribution(distribution)
        names.update((found.read_text("top_level.txt") or "").split())
        parts = [one.parts for one in found.files or () if one.suffix in (".py", ".so", ".pyd")]
        names.update(one[0].partition(".")[0] for one in parts)
    return names


def _module_of(name: str, folder: str, module: str) -> Any:
    """Return a module of a folder that is a package of its own."""
    # dpaudit is not installed here, and its folder is loaded under a name of its own that no
    # package of this environment can have.
    package = f"{name}_of_a_scan"
    if package not in sys.modules:
        path = os.path.join(folder, "__init__.py")
        spec = importlib.util.spec_from_file_location(
            package, path, submodule_search_locations=[folder]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no module")
        sys.modules[package] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return importlib.import_module(f"{package}.{module}")


def _function(file: str, name: str) -> Any:
    """Return a function of a file; helpers beside it can be imported by their names."""
    if (file, name) not in _functions:
        module = sys.modules.get(_MODULE)
        if module is None or module.__file__ != file:
            folder = os.path.dirname(file)
            if folder not in sys.path:
                # The folder goes to the end, where it cannot shadow a module of the package.
                sys.path.append(folder)
            spec = importlib.util.spec_from_file_location(_MODULE, file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{file} is no module")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_MODULE] = module
        _functions[file, name] = getattr(module, name)
    return _functions[file, name]


def _seed_global_generators(rng: np.random.Generator) -> None:
    """Let code that draws from global generators give the same again for the same seed."""
    np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002
    random.seed(int(rng.integers(2**63)))
    # Torch is looked up and not imported: an import takes seconds, and nothing that has not
    # imported it draws from its generator.
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(int(rng.integers(2**63)))


# Observations


class _Call:
    """A function with its setting, as it is called for outputs."""

    def __init__(self, function: Any, given: dict[str, Any], many: bool) -> None:
        self.function, self.given, self.many = function, given, many

    @classmethod
    def of(cls, task: dict[str, Any], rng: np.random.Generator) -> _Call:
        """Return the call that a task asks for; global generators are set."""
        # Outputs that certify need real noise; a glimpse in this process may have left frozen
        # noise in place.
        _put_primitives_back()
        function = _function(task["file"], task["function"])
        asked = inspect.signature(function).parameters
        _seed_global_generators(rng)
        given = {**task["parameters"], **({"rng": rng} if "rng" in asked else {})}
        if "trials" not in asked:
            return cls(function, given, False)
        if not task.get("apart"):
            return cls(function, given, True)
        return cls(lambda data, **named: function(data, trials=1, **named)[0], given, False)

    def together(self, data: Any, trials: int) -> Any:
        """Return the outputs of one call."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                # The call gets copies. A function that changes its argument would otherwise
                # hand its changes to the next call, as if they were in the dataset.
                found = self.function(_fresh(data), trials=trials, **self._fresh())
            except BaseException as error:  # such as SystemExit: somebody else's code
                return _said({"outputs": [raised(error)] * trials}, repr(raised(error)), trials)
        said = _warned(caught)
        if len(found) != trials:
            name = self.function.__name__
            raise ValueError(f"{name} returned {len(found)} outputs, not {trials}")
        # An array of doubles, the usual case, travels as it is: an entry each would take longer.
        plain = isinstance(found, np.ndarray) and found.dtype == np.float64 and found.ndim == 1
        if plain and not said:
            return {"numbers": found}
        return _said({"outputs": [_with(encoded(one), said) for one in found]}, said, trials)

    def observed(self, data: Any) -> Any:
        """Return the outcome of one call: its output or its error, and its warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = encoded(self.function(_fresh(data), **self._fresh()))
            except BaseException as error:  # such as SystemExit: somebody else's code
                found = raised(error)
        return _with(found, _warned(caught)) if caught else found

    def _fresh(self) -> dict[str, Any]:
        """Return the setting, which a call may change for itself."""
        return {name: one if name == "rng" else _fresh(one) for name, one in self.given.items()}


def _batch(found: list[Any]) -> dict[str, Any]:
    if all(type(one) is float for one in found):
        return {"numbers": np.array(found, dtype=np.float64)}
    return {"outputs": found}


def _said(batch: dict[str, Any], said: Any, trials: int) -> dict[str, Any]:
    """Return a batch with the words of its one call, which are no outcome of each of several."""
    return {**batch, "said": said} if said and trials > 1 else batch


def raised(error: BaseException) -> Any:
    """Return an error as typed data: its type and its text."""
    try:
        text = str(error)
    except Exception:  # somebody else's __str__
        text = ""
    return ("raised", type(error).__name__, text[:_LONGEST])


def _warned(caught: Any) -> list[str]:
    # A set, sorted: how often and in which order a warning comes depends on filters and not on
    # the data.
    said = {f"{one.category.__name__}: {str(one.message)[:_LONGEST]}" for one in caught}
    return sorted(said)


def _with(found: Any, said: list[str]) -> Any:
    return ("warned", found, said) if said else found


def _fresh(data: Any) -> Any:
    """Return data that a call may change for itself."""
    if isinstance(data, np.ndarray):
        return data.copy()
    if isinstance(data, list):
        return [_fresh(one) for one in data] if _holds_more(data) else list(data)
    if isinstance(data, set):
        return set(data)
    if isinstance(data, dict):
        return {key: _fresh(one) for key, one in data.items()}
    if isinstance(data, tuple):
        return tuple(_fresh(one) for one in data)
    return data


def _holds_more(data: list[Any]) -> bool:
    return any(isinstance(one, (list, dict, tuple, set, np.ndarray)) for one in data)


# Values as typed data


def encoded(value: Any, deep: int = 0) -> Any:
    """Return a value as numbers, text, arrays of numbers, and tuples of a kind and contents.

    Examples
    --------
    >>> encoded({"mean": 1.5, "labels": {0, 1}})
    ('dict', [('mean', 1.5), ('labels', ('set', [0, 1]))])
    """
    kind = type(value)
    if isinstance(value, int) and value.bit_length() > _LARGEST:  # more than JSON may hold
        held = [("bits", value.bit_length()), ("checksum", str(zlib.crc32(hex(value).encode())))]
        return ("object", f"large {kind.__name__}", held)
    if value is None or kind in (bool, int, float, str, bytes):
        return value[:_LONGEST] if kind in (str, bytes) else value
    if kind is np.float64:
        return float(value)
    if deep == _DEEP:
        return ("other", kind.__name__, _text(value))
    if isinstance(value, enum.Enum):
        return ("other", kind.__name__, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(value, deep)
    if isinstance(value, (str, bytes, int, float)):  # of a type of its own
        # The last type but `object` is the built-in one, whose value can be sent; the name of
        # the subclass is sent with it, as it is part of what an observer sees.
        return ("of type", kind.__name__, kind.__mro__[-2](value))
    return _of_container(value, deep + 1)


def _of_array(value: Any, deep: int) -> Any:
    masked = isinstance(value, np.ma.MaskedArray)
    if value.size > _LARGEST:
        return _of_large_array(value, deep)
    if value.dtype.kind in "biufcmM" and not masked:
        return value
    items = [encoded(one, deep + 1) for one in np.asarray(value, dtype=object).reshape(-1)]
    if masked:
        mask = np.ma.getmaskarray(value).reshape(-1)
        items = [None if hidden else one for one, hidden in zip(items, mask)]  # noqa: B905
    return ("array", str(value.dtype), list(value.shape), items)


def _of_large_array(value: Any, deep: int) -> Any:
    """Return a key that tells large arrays apart: kind, first entries and a checksum."""
    flat = value.reshape(-1)
    # The bytes of an array of objects are their addresses, which differ in every process.
    content = flat.astype(str) if value.dtype.kind == "O" else flat
    held = [
        ("dtype", str(value.dtype)),
        ("shape", str(value.shape)),
        ("first", encoded(flat[:_FIRST], deep + 1)),
        ("checksum", str(zlib.crc32(np.ascontiguousarray(content).tobytes()))),
    ]
    return ("object", "large array", held)


def _of_large(value: Any, kind: str, deep: int) -> Any:
    """Return a key that tells large containers apart, as of arrays."""
    items: Any = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, (set, frozenset)):
        items = sorted(value, key=repr)
    first = list(itertools.islice(items, _FIRST))
    checksum = str(zlib.crc32(_text(list(items), None).encode("utf-8", "replace")))
    held = [("len", len(value)), ("first", encoded(first, deep)), ("checksum", checksum)]
    return ("object", f"large {kind}", held)


def _of_container(value: Any, deep: int) -> Any:
    kind = type(value).__name__
    sized = isinstance(value, (Mapping, set, frozenset, list, tuple, range))
    if sized and len(value) > _LARGEST:
        return _of_large(value, kind, deep)
    if isinstance(value, Mapping):
        return ("dict", [(encoded(k, deep), encoded(value[k], deep)) for k in value])
    if isinstance(value, (set, frozenset)):
        # The order of a set follows from hashes, and is no part of what the mechanism says.
        return ("set", sorted((encoded(one, deep) for one in value), key=repr))
    if isinstance(value, (list, tuple, range)):
        name = "list" if type(value) is list else "tuple" if type(value) is tuple else kind
        return ("items", name, [encoded(one, deep) for one in value])
    if isinstance(value, BaseException):
        return raised(value)
    if isinstance(value, complex):
        return ("items", "complex", [value.real, value.imag])
    if hasattr(value, "tolist") and hasattr(value, "index"):  # a column of pandas
        return ("object", kind, [("index", _labels(value.index)), ("values", _labels(value))])
    if hasattr(value, "columns") and hasattr(value, "iloc"):  # a table
        return _of_table(value, kind)
    if hasattr(value, "toarray"):
        return ("object", kind, [("values", _of_array(value.toarray(), deep))])
    if hasattr(value, "detach") and hasattr(value, "numpy"):  # a tensor
        return ("object", kind, [("values", _of_array(value.detach().cpu().numpy(), deep))])
    held = _attributes(value)
    if held and not callable(value):
        return ("object", kind, [(name, encoded(held[name], deep)) for name in sorted(held)])
    return ("other", kind, _text(value))


def _of_table(value: Any, kind: str) -> Any:
    names = [str(one) for one in value.columns]
    held: list[Any] = [("columns", ("items", "list", names)), ("index", _labels(value.index))]
    for place, name in enumerate(names):
        # By place, as names of columns need not be unique.
        column = value.iloc[:, place]
        held.append((f"{name} dtype", str(column.dtype)))
        held.append((name, _labels(column)))
    return ("object", kind, held)


def _labels(values: Any) -> Any:
    return ("items", "list", [encoded(one, 1) for one in values.tolist()])


def _attributes(value: Any) -> dict[str, Any]:
    """Return the public attributes of an object; of a fitted model, the learned ones."""
    held = {name: one for name, one in getattr(value, "__dict__", {}).items() if name[:1] != "_"}
    learned = {name: one for name, one in held.items() if name.endswith("_")}
    # By the convention of scikit-learn, a trailing underscore marks what was estimated from the
    # data; the other attributes repeat the caller's arguments.
    if hasattr(value, "fit") and learned:
        return learned
    return {name: one for name, one in held.items() if not callable(one)}


def _text(value: Any, longest: int | None = _LONGEST) -> str:
    try:
        # The address of an object is another one in each process, and would look like an output
        # that varies.
        return repr(value).partition(" at 0x")[0][:longest]
    except Exception:  # somebody else's __repr__
        return "no repr"
