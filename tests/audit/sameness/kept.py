"""Private mechanisms whose noise, or its key, is kept outside of the call: none may be accused.

Each is a sum of records, or says something of it, with noise that is enough for a claim of 1 over
the law of what is kept. Files lie beside this module, which is copied to a folder for that
(`folder.py`); a server of this machine answers on a port that a file names.
"""

import configparser
import contextvars
import functools
import gzip
import hashlib
import json
import linecache
import math
import mmap
import os
import pickle
import platform
import random
import secrets
import shelve
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import tomllib
import urllib.request
import zipfile
from contextlib import closing
from datetime import date, datetime
from multiprocessing import shared_memory
from os import environ
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
KEPT = {}


def kept(function):
    """Register a function of the data that is private over what is kept."""
    KEPT[function.__name__] = function
    return function


def uniform(key, data):
    """Return a number in (0, 1) that follows from a key and the data."""
    key = key if isinstance(key, bytes) else str(key).encode()
    text = key + np.asarray(data, dtype=float).tobytes()
    word = hashlib.blake2b(text, digest_size=8).digest()
    return (int.from_bytes(word, "big") + 0.5) / 2**64


def laplace(key, data):
    u = uniform(key, data) - 0.5
    return -math.copysign(math.log1p(-2 * abs(u)), u)


def noisy(key, data):
    return float(np.sum(data)) + laplace(key, data)


def file(name):
    return HERE / name


# Files


@kept
def key_of_a_file(data):
    return noisy(file("key.bin").read_bytes(), data)


@kept
def key_of_a_hidden_file(data):
    return noisy(file(".secret").read_text(), data)


AT_IMPORT = file("key.bin").read_bytes() if file("key.bin").exists() else b""


@kept
def key_of_a_file_read_at_import(data):
    return noisy(AT_IMPORT, data)


@kept
def key_of_json(data):
    return noisy(json.loads(file("key.json").read_text())["key"], data)


@kept
def key_of_toml(data):
    return noisy(tomllib.loads(file("key.toml").read_text())["key"], data)


@kept
def key_of_an_ini(data):
    parser = configparser.ConfigParser()
    parser.read(file("key.ini"))
    return noisy(parser["secret"]["key"], data)


@kept
def key_of_a_pickle(data):
    return noisy(pickle.loads(file("key.pickle").read_bytes()), data)


@kept
def key_of_an_array(data):
    return noisy(np.load(file("key.npy")).tobytes(), data)


@kept
def key_of_mapped_memory(data):
    return noisy(np.memmap(file("key.bin"), dtype=np.uint8, mode="r").tobytes(), data)


@kept
def key_of_a_map(data):
    with (
        open(file("key.bin"), "rb") as held,
        mmap.mmap(held.fileno(), 0, access=mmap.ACCESS_READ) as found,
    ):
        return noisy(found[:], data)


@kept
def key_of_a_descriptor(data):
    handle = os.open(file("key.bin"), os.O_RDONLY)
    try:
        return noisy(os.read(handle, 16), data)
    finally:
        os.close(handle)


@kept
def key_of_a_zip(data):
    with zipfile.ZipFile(file("key.zip")) as held:
        return noisy(held.read("key"), data)


@kept
def key_of_gzip(data):
    with gzip.open(file("key.gz")) as held:
        return noisy(held.read(), data)


@kept
def key_of_a_line(data):
    return noisy(linecache.getline(str(file("key.txt")), 1), data)


@kept
def key_of_a_name(data):
    return noisy(sorted(os.listdir(file("names")))[0], data)


@kept
def key_of_a_time_of_change(data):
    return noisy(os.stat(file("key.bin")).st_mtime_ns, data)


@kept
def key_of_a_link(data):
    return noisy(os.readlink(file("link")), data)


@kept
def key_of_a_database(data):
    with closing(sqlite3.connect(file("key.sqlite"))) as held:
        return noisy(held.execute("select key from secret").fetchone()[0], data)


@kept
def table_of_noise(data):
    table = np.loadtxt(file("noise.csv"))
    return float(np.sum(data)) + table[int(uniform("place", data) * len(table))]


@kept
def noise_that_a_file_keeps(data, rng):
    held = file(f"noise-{uniform('name', data)}.txt")
    if not held.exists():
        held.write_text(repr(rng.laplace()))
    return float(np.sum(data)) + float(held.read_text())


@kept
def noise_that_a_database_keeps(data, rng):
    with closing(sqlite3.connect(file("noise.sqlite"))) as held, held:
        held.execute("create table if not exists noise (name text primary key, value real)")
        name = str(uniform("name", data))
        held.execute("insert or ignore into noise values (?, ?)", (name, float(rng.laplace())))
        found = held.execute("select value from noise where name = ?", (name,)).fetchone()
    return float(np.sum(data)) + found[0]


@kept
def noise_that_a_shelf_keeps(data, rng):
    with shelve.open(str(file("shelf"))) as held:
        name = str(uniform("name", data))
        if name not in held:
            held[name] = float(rng.laplace())
        return float(np.sum(data)) + held[name]


@kept
def noise_in_the_temporary_folder(data, rng):
    held = Path(tempfile.gettempdir(), f"{HERE.name}-{uniform(str(HERE), data)}.txt")
    if not held.exists():
        held.write_text(repr(rng.laplace()))
    return float(np.sum(data)) + float(held.read_text())


# Environment, processes, connections, the machine


@kept
def key_of_the_environment(data):
    return noisy(os.environ["KEPT_KEY"], data)


@kept
def key_of_getenv(data):
    return noisy(os.getenv("KEPT_KEY", "none"), data)


@kept
def key_of_bytes_of_the_environment(data):
    return noisy(os.environb[b"KEPT_KEY"], data)


@kept
def key_of_all_the_environment(data):
    return noisy(dict(os.environ)["KEPT_KEY"], data)


@kept
def key_of_an_imported_environment(data):
    return noisy(environ["KEPT_KEY"], data)


OF_THE_ENVIRONMENT = os.environ.get("KEPT_KEY", "none")


@kept
def key_of_the_environment_at_import(data):
    return noisy(OF_THE_ENVIRONMENT, data)


@kept
def key_of_a_program(data):
    return noisy(subprocess.check_output(["cat", file("key.bin")]), data)


@kept
def key_of_a_shell(data):
    with os.popen("printenv KEPT_KEY") as held:
        return noisy(held.read(), data)


@kept
def key_of_a_server(data):
    port = int(file("port.txt").read_text())
    with socket.create_connection(("127.0.0.1", port)) as held:
        held.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return noisy(b"".join(iter(functools.partial(held.recv, 999), b""))[-16:], data)


PORT = int(file("port.txt").read_text()) if file("port.txt").exists() else 0


@kept
def key_of_the_web(data):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/") as held:
        return noisy(held.read(), data)


@kept
def key_of_shared_memory(data):
    held = shared_memory.SharedMemory(environ_free_name())
    try:
        return noisy(bytes(held.buf[:16]), data)
    finally:
        held.close()


def environ_free_name():
    """Return the name of the shared memory of this folder."""
    return f"kept{abs(int(hashlib.sha256(str(HERE).encode()).hexdigest()[:10], 16))}"


@kept
def key_of_the_boot(data):
    return noisy(Path("/proc/sys/kernel/random/boot_id").read_text(), data)


@kept
def key_of_the_host(data):
    return noisy(socket.gethostname(), data)


@kept
def key_of_the_machine(data):
    return noisy(platform.uname()[1], data)


@kept
def key_of_the_parent(data):
    return noisy(os.getppid(), data)


@kept
def key_of_the_day(data):
    return noisy(date.today().isoformat(), data)


@kept
def key_of_the_hour(data):
    return noisy(datetime.now().strftime("%Y-%m-%d %H"), data)


@kept
def key_of_the_clock(data):
    return noisy(int(time.time() // 86400), data)


@kept
def key_of_the_week(data):
    return noisy(time.strftime("%Y %W"), data)


@kept
def key_of_hashes(data):
    return noisy(hash("a text"), data)


# Drawn at import, in a constructor, or the first time, and kept by the process

BYTES, TOKEN = os.urandom(16), secrets.token_hex()
OF_NUMPY, OF_PYTHON = np.random.default_rng().integers(2**60), random.random()
CACHE, LOCAL, CONTEXT = {}, threading.local(), contextvars.ContextVar("kept")


@kept
def key_drawn_at_import(data):
    return noisy(BYTES, data)


@kept
def token_drawn_at_import(data):
    return noisy(TOKEN, data)


@kept
def seed_of_numpy_drawn_at_import(data):
    return noisy(OF_NUMPY, data)


@kept
def seed_of_python_drawn_at_import(data):
    return noisy(OF_PYTHON, data)


@kept
def key_of_a_default(data, *, key=BYTES):
    return noisy(key, data)


@kept
def noise_of_a_dictionary(data, rng):
    return float(np.sum(data)) + CACHE.setdefault(uniform("name", data), rng.laplace())


@functools.lru_cache
def noise_of(name):
    return np.random.default_rng().laplace()


@kept
def noise_of_a_cache(data):
    return float(np.sum(data)) + noise_of(uniform("name", data))


@kept
def key_of_a_thread(data):
    if not hasattr(LOCAL, "key"):
        LOCAL.key = os.urandom(16)
    return noisy(LOCAL.key, data)


@kept
def key_of_a_context(data):
    if CONTEXT.get(None) is None:
        CONTEXT.set(os.urandom(16))
    return noisy(CONTEXT.get(), data)


class _Service:
    key = os.urandom(16)
    cache = CACHE

    @functools.cached_property
    def own(self):
        return os.urandom(16)


SERVICE = _Service()


@kept
def key_of_a_class(data):
    return noisy(_Service.key, data)


@kept
def noise_of_a_class(data, rng):
    return float(np.sum(data)) + _Service.cache.setdefault(uniform("name", data), rng.laplace())


@kept
def key_of_a_property(data):
    return noisy(SERVICE.own, data)


# What is kept, beside what varies, or as something else than a number


@kept
def kept_beside_the_time(data):
    return {"value": key_of_a_file(data), "at": time.time()}


@kept
def kept_beside_fresh_noise(data, rng):
    return {"value": key_of_a_file(data) / 2, "other": rng.normal()}


@kept
def kept_in_a_list(data, rng):
    return [rng.normal(), key_of_a_file(data), rng.normal()]


@kept
def kept_coin(data):
    truth = float(np.sum(data)) > 5.5
    return truth if uniform(file("key.bin").read_bytes(), data) < 0.731 else not truth


@kept
def kept_word(data):
    return "many" if key_of_a_file(data) > 5.5 else "few"


@kept
def kept_threshold(data, rng):
    """Return nothing below a threshold that is crossed by kept noise, else a number of no data."""
    return rng.normal() if key_of_a_file(data) > 5.5 else None


@kept
def kept_with_last_bits_that_vary(data, rng):
    return key_of_a_file(data) * (1 + 1e-14 * rng.normal())
