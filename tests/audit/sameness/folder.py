"""A folder with modules of mechanisms and the files, the server and the memory that they reach."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import pickle
import py_compile
import secrets
import shutil
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np

from dpaudit.execution.keeper import the_keeper

HERE = Path(__file__).parent
NOISE = 500
# What the modules import: every process has these from the start, as it has numpy.
STANDARD = (
    *("configparser", "gzip", "multiprocessing.shared_memory", "shelve", "sqlite3", "subprocess"),
    *("http.client", "tomllib", "urllib.request", "uuid", "zipfile"),
)


@contextmanager
def reached(folder: Path, modules=("kept", "varying")) -> Iterator[Path]:
    """Yield a folder with modules and what they reach, all drawn for this folder alone."""
    for name in modules:
        shutil.copy(HERE / f"{name}.py", folder)
        py_compile.compile(str(folder / f"{name}.py"))  # once, and not in each of the processes
    _files(folder, secrets.token_bytes(16))
    the_keeper().preload(STANDARD)
    with _server(folder), _memory(folder):
        yield folder


def _files(folder: Path, key: bytes) -> None:
    text = key.hex()
    (folder / "key.bin").write_bytes(key)
    for name in (".secret", "key.txt"):
        (folder / name).write_text(f"{text}\n")
    (folder / "key.json").write_text(json.dumps({"key": text}))
    (folder / "key.toml").write_text(f'key = "{text}"\n')
    (folder / "key.ini").write_text(f"[secret]\nkey = {text}\n")
    (folder / "key.pickle").write_bytes(pickle.dumps(key))
    np.save(folder / "key.npy", np.frombuffer(key, dtype=np.uint8))
    with zipfile.ZipFile(folder / "key.zip", "w") as held:
        held.writestr("key", key)
    with gzip.open(folder / "key.gz", "wb") as held:
        held.write(key)
    (folder / "names").mkdir()
    (folder / "names" / text).touch()
    (folder / "link").symlink_to(text)
    np.savetxt(folder / "noise.csv", np.random.default_rng().laplace(size=NOISE))
    (folder / "scale.json").write_text('{"scale": 0.1}')
    (folder / "scale.toml").write_text("scale = 0.1\n")
    (folder / "scale.ini").write_text("[noise]\nscale = 0.1\n")
    (folder / "scale.pickle").write_bytes(pickle.dumps(0.1))
    np.save(folder / "scale.npy", np.array([0.1]))
    _database(folder / "key.sqlite", "create table secret (key text)", "secret", text)
    _database(folder / "scale.sqlite", "create table noise (scale real)", "noise", 0.1)


def _database(path: Path, create: str, table: str, value) -> None:
    with closing(sqlite3.connect(path)) as held, held:
        held.execute(create)
        held.execute(f"insert into {table} values (?)", (value,))


@contextmanager
def _server(folder: Path) -> Iterator[None]:
    key = secrets.token_bytes(16)

    class Key(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(key)

        def log_message(self, *_):
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """Say nothing where a process of a mechanism ended before it was answered."""

    with Quiet(("127.0.0.1", 0), Key) as server:
        (folder / "port.txt").write_text(str(server.server_address[1]))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@contextmanager
def _memory(folder: Path) -> Iterator[None]:
    import hashlib

    name = f"kept{abs(int(hashlib.sha256(str(folder).encode()).hexdigest()[:10], 16))}"
    held = shared_memory.SharedMemory(name, create=True, size=16)
    held.buf[:16] = os.urandom(16)
    try:
        yield
    finally:
        held.close()
        held.unlink()
