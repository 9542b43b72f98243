"""Names of readers of files, folders, programs, networks and clocks, by which code is read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

# Calls that read the file of their first argument.
READERS = {
    *("open", "builtins.open", "io.open", "_io.open", "codecs.open", "gzip.open", "bz2.open"),
    *("lzma.open", "tarfile.open", "zipfile.ZipFile", "sqlite3.connect", "numpy.load", "h5py.File"),
    *("numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap", "joblib.load"),
    *("torch.load", "scipy.io.loadmat", "ctypes.CDLL", "ctypes.PyDLL", "os.open", "posix.open"),
    *("numpy.ctypeslib.load_library", "ctypes.cdll.LoadLibrary", "tomllib.load", "shelve.open"),
    *("gzip.GzipFile", "bz2.BZ2File", "lzma.LZMAFile", "tarfile.TarFile", "zipfile.Path"),
    *("dbm.open", "linecache.getline", "linecache.getlines", "fileinput.input", "wave.open"),
    *("fileinput.FileInput", "xml.etree.ElementTree.parse", "netrc.netrc", "os.stat", "os.lstat"),
    *("os.access", "posix.stat", "posix.lstat", "posix.access", "numpy.lib.format.open_memmap"),
    *("logging.config.fileConfig", "runpy.run_path"),
    *(
        f"{home}.{name}"
        for home in ("posixpath", "genericpath", "os.path")
        for name in ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime")
    ),
}
FOLDERS = {
    *("os.listdir", "os.scandir", "os.walk", "os.fwalk", "posix.listdir", "posix.scandir"),
    *("glob.glob", "glob.iglob", "?.glob", "?.rglob", "?.iterdir"),
}
# Calls of something that makes a file, or of one that is of no concern.
MAKES = re.compile(
    r"(write|save|dump|to_|mk|make|unlink|remove|rename|replace|rmtree|touch|print|log|copy|join)"
    r"|(debug|info|warning|error|FileHandler|format|append|add)$"
)
LOOKS = {"exists", "is_file", "is_dir", "stat"}  # of a path
METHODS = {"read_text": 0, "read_bytes": 0, "open": 0, "LoadLibrary": 1}
STREAMS = {"tomllib.load"}  # read what is open already
PROGRAMS = {"subprocess", "pexpect", "pty", "_posixsubprocess"}
ASYNC_PROGRAMS = ("asyncio.create_subprocess", "asyncio.subprocess.")
ASYNC_NETWORKS = ("asyncio.open_connection", "asyncio.streams.", "asyncio.open_unix_connection")
OTHERS = tuple(
    f"multiprocessing.{name}"
    for name in "shared_memory connection managers Manager context.BaseContext.Manager".split()
)
TYPED = {
    *("builtins.input", "sys.stdin", "getpass.getpass", "getpass.unix_getpass"),
    *("getpass.win_getpass", "getpass.fallback_getpass"),
}
HELD = {
    *("sys._getframe", "inspect.stack", "inspect.currentframe", "gc.get_objects"),
    *("gc.get_referrers", "gc.get_referents"),
}
GETTERS = {"operator.attrgetter", "operator.methodcaller"}
DOLLARS = re.compile(r"\$(?:(\w+)|\{([^}]*)\})")
OF_SYSTEM = ("system", "popen", "exec", "spawn", "posix_spawn")
NETWORKS = {
    *("socket", "urllib", "http", "requests", "httpx", "aiohttp", "urllib3", "ftplib", "smtplib"),
    *("xmlrpc", "telnetlib", "websocket", "websockets", "boto3", "grpc", "paramiko"),
}
MODULES = {"importlib.import_module", "builtins.__import__", "__import__"}
LOADERS = ("importlib.util.", "importlib.metadata.", "importlib.resources.", "runpy.", "pkgutil.")
CLOCKS = (
    *(f"time.{name}" for name in "time monotonic perf_counter process_time ctime".split()),
    *("time.localtime", "time.gmtime", "time.clock_gettime", "datetime.date.today"),
    *(f"datetime.datetime.{name}" for name in ("now", "today", "utcnow")),
)
HERE = (
    *("platform.", "socket.gethostname", "_socket.gethostname", "getpass.getuser"),
    *("tempfile.gettempdir", "os.process_cpu_count"),
    *(
        f"{home}.{name}"
        for home in ("os", "posix")
        for name in ("getpid", "cpu_count", "uname", "getcwd", "getlogin")
    ),
)
SAFE_OF_NETWORKS = ("urllib.parse.", "http.HTTPStatus", "socket.gethostname")
NAMESPACES = {"globals", "eval", "exec", "vars", "locals"}


def name_of(value: Any) -> str:
    """Return the name by which a function or class is imported, if it is one of those above.

    Of others, and of what has another home than its package says, the name it gives itself.

    Examples
    --------
    >>> import sqlite3
    >>> name_of(sqlite3.connect), sqlite3.connect.__module__, name_of(len)
    ('sqlite3.connect', '_sqlite3', 'builtins.len')
    """
    last = str(value.__name__) if hasattr(value, "__name__") else ""
    for name in _BY_LAST.get(last, ()):
        home = sys.modules.get(name.rpartition(".")[0])
        if home is not None and vars(home).get(last) is value:
            return name
    return f"{value.__module__}.{value.__qualname__}"


def _by_last(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


_BY_LAST = _by_last(READERS | FOLDERS)
