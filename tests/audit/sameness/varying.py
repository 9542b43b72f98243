"""Mechanisms that are not 1-DP and whose outputs vary, whatever they read: none may be missed."""

import collections
import configparser
import importlib.util
import json
import math
import os
import pickle
import random
import secrets
import socket
import sqlite3
import subprocess
import threading
import time
import tomllib
import uuid
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
VARYING = {}
COUNTER = [0]


def varying(function):
    """Register a function of the data that is not private, though its outputs vary."""
    VARYING[function.__name__] = function
    return function


def total(data):
    return float(np.sum(data))


def file(name):
    return HERE / name


# Scales that stand in files, and elsewhere


@varying
def scale_of_json(data, rng):
    return total(data) + rng.laplace(scale=json.loads(file("scale.json").read_text())["scale"])


@varying
def scale_of_toml(data, rng):
    return total(data) + rng.laplace(scale=tomllib.loads(file("scale.toml").read_text())["scale"])


@varying
def scale_of_an_ini(data, rng):
    parser = configparser.ConfigParser()
    parser.read(file("scale.ini"))
    return total(data) + rng.laplace(scale=float(parser["noise"]["scale"]))


@varying
def scale_of_a_pickle(data, rng):
    return total(data) + rng.laplace(scale=pickle.loads(file("scale.pickle").read_bytes()))


@varying
def scale_of_an_array(data, rng):
    return total(data) + rng.laplace(scale=np.load(file("scale.npy"))[0])


@varying
def scale_of_a_database(data, rng):
    with closing(sqlite3.connect(file("scale.sqlite"))) as held:
        return total(data) + rng.laplace(
            scale=held.execute("select scale from noise").fetchone()[0]
        )


@varying
def scale_of_mapped_memory(data, rng):
    return total(data) + rng.laplace(scale=float(np.load(file("scale.npy"), mmap_mode="r")[0]))


AT_IMPORT = json.loads(file("scale.json").read_text()) if file("scale.json").exists() else {}


@varying
def scale_read_at_import(data, rng):
    return total(data) + rng.laplace(scale=AT_IMPORT["scale"])


@varying
def scale_of_the_environment(data, rng):
    return total(data) + rng.laplace(scale=float(os.environ["VARYING_SCALE"]))


@varying
def scale_of_a_program(data, rng):
    return total(data) + rng.laplace(scale=float(subprocess.check_output(["echo", "0.1"])))


@varying
def scale_of_a_server(data, rng):
    with socket.create_connection(("127.0.0.1", int(file("port.txt").read_text()))) as held:
        held.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return total(data) + rng.laplace(scale=0.1 if held.recv(1) else 0.2)


@varying
def scale_of_a_package(data, rng):
    licence = Path(np.__file__).with_name("version.py").read_text()
    return total(data) + rng.laplace(scale=0.1 if licence else 1.0)


@varying
def table_of_a_package(data, rng):
    package = Path(importlib.util.find_spec("sklearn").origin).parent
    lines = (package / "datasets" / "data" / "iris.csv").read_text().splitlines()
    return total(data) + rng.laplace(scale=0.1 * len(lines) / 151)


@varying
def a_library_that_is_imported_late(data, rng):
    import mpmath

    return total(data) + rng.laplace(scale=float(mpmath.mpf(1) / 10))


# Exact values beside what varies


def count():
    COUNTER[0] += 1
    return COUNTER[0]


@varying
def exact_beside_the_time(data):
    return {"value": total(data), "at": time.time()}


@varying
def exact_beside_a_date(data):
    return {"value": total(data), "on": datetime.now().isoformat()}


@varying
def exact_beside_a_moment(data):
    return {"value": total(data), "at": datetime.now()}


@varying
def exact_beside_a_counter(data):
    return {"value": total(data), "number": count()}


@varying
def exact_beside_a_random_name(data):
    return {"value": total(data), "id": uuid.uuid4().hex}


@varying
def exact_beside_a_token(data):
    return total(data), secrets.token_hex(4)


@varying
def exact_beside_noise(data, rng):
    return [total(data), rng.normal()]


@varying
def exact_in_a_tuple_with_a_counter(data):
    return count(), total(data)


@varying
def exact_beside_how_long_it_took(data):
    began = time.perf_counter()
    return {"value": total(data), "seconds": time.perf_counter() - began}


@dataclass
class Release:
    value: float
    jitter: float


@varying
def exact_in_an_object(data, rng):
    return Release(total(data), rng.random())


@varying
def noise_beside_a_counter(data, rng):
    return {"value": total(data) + rng.laplace(scale=0.1), "number": count()}


@varying
def noise_beside_the_time(data, rng):
    return total(data) + rng.laplace(scale=0.1), time.time()


@varying
def noise_beside_the_version_of_a_file(data, rng):
    size = len(file("scale.json").read_bytes())
    return {"value": total(data) + rng.laplace(scale=0.1), "version": size}


@varying
def noise_beside_the_host(data, rng):
    return {"value": total(data) + rng.laplace(scale=0.1), "host": socket.gethostname()}


@varying
def one_entry_of_a_table_without_noise(data, rng):
    table = np.array([total(data), 1.0, 2.0])
    table[1:] += rng.laplace(scale=5.0, size=2)
    return table


# Leaks in some of the outputs


@varying
def leak_in_some(data, rng):
    value = total(data) + rng.laplace()
    return 100 * total(data) if rng.random() < 0.2 else value


@varying
def leak_in_some_of_a_text(data, rng):
    return f"sum {total(data):.0f}" if rng.random() < 0.3 else "sum withheld"


@varying
def leak_by_what_is_missing(data, rng):
    found = {"a": rng.normal(), "b": rng.normal()}
    if total(data) > 5.5 and rng.random() < 0.3:
        del found["b"]
    return found


@varying
def leak_by_nan(data, rng):
    return math.nan if total(data) > 5.5 and rng.random() < 0.3 else rng.normal()


@varying
def leak_in_the_lowest_digits(data, rng):
    return math.floor(rng.laplace()) + total(data) / 64


@varying
def leak_by_the_length(data, rng):
    return rng.normal(size=int(total(data))).tolist()


# Noise of every source, too small


@varying
def noise_of_numpy(data):
    return total(data) + np.random.laplace(scale=0.2)  # noqa: NPY002


@varying
def noise_of_python(data):
    return total(data) + random.choice([-1, 1]) * random.expovariate(5)


@varying
def noise_of_the_system(data):
    return total(data) + random.SystemRandom().gauss(0, 0.2)


@varying
def noise_of_urandom(data):
    return total(data) + int.from_bytes(os.urandom(4), "big") / 2**32


@varying
def noise_of_secrets(data):
    return total(data) + secrets.randbelow(1000) / 2000


@varying
def noise_of_a_generator_of_its_own(data):
    return total(data) + np.random.default_rng().laplace(scale=0.2)


@varying
def noise_of_nanoseconds(data):
    return total(data) + np.random.default_rng(time.perf_counter_ns()).laplace(scale=0.2)


@varying
def noise_of_a_thread(data, rng):
    found = []
    thread = threading.Thread(target=lambda: found.append(rng.laplace(scale=0.2)))
    thread.start()
    thread.join()
    return total(data) + found[0]


@varying
def noise_of_another_process(data):
    text = subprocess.check_output(["od", "-An", "-N2", "-tu2", "/dev/urandom"])
    return total(data) + int(text) / 2**16


@varying
def noise_of_a_device(data):
    with open("/dev/urandom", "rb", buffering=0) as held:
        return total(data) + int.from_bytes(held.read(4), "big") / 2**32


@varying
def noise_of_many(data, trials, rng):
    return total(data) + rng.laplace(scale=0.2, size=trials)


# Laws that are wrong


@varying
def half_the_noise(data, rng):
    return total(data) + rng.laplace(scale=0.3)


@varying
def noise_of_one_sign(data, rng):
    return total(data) + rng.exponential()


@varying
def noise_within_bounds(data, rng):
    return total(data) + rng.uniform(-1, 1)


@varying
def noise_that_is_clipped(data, rng):
    return total(data) + np.clip(rng.laplace(), -0.5, 0.5)


@varying
def noise_that_is_rounded(data, rng):
    return total(data) + round(rng.laplace(scale=0.3))


@varying
def noise_without_the_record_alone(data, rng):
    return total(data) + (rng.laplace() if total(data) < 5.5 else rng.laplace(scale=0.05))


@varying
def noise_that_is_averaged(data, rng):
    return total(data) + rng.laplace(size=100).mean()


@varying
def twice_the_sensitivity(data, rng):
    return 3 * total(data) + rng.laplace()


@varying
def a_scale_that_follows_the_data(data, rng):
    return rng.laplace(scale=0.01 if total(data) > 5.5 else 1.0)


@varying
def a_coin_too_honest(data, rng):
    return (total(data) > 5.5) == (rng.random() < 0.95)


@varying
def a_word_too_honest(data, rng):
    truth = "many" if total(data) > 5.5 else "few"
    return truth if rng.random() < 0.9 else rng.choice(["many", "few"])


@varying
def a_sample_of_the_records(data, rng):
    return float(rng.choice(data))


@varying
def a_shuffle_of_the_records(data, rng):
    return rng.permutation(data).tolist()


@varying
def counts_of_the_records(data, rng):
    counts = collections.Counter(np.asarray(data).tolist())
    return {str(key): one + rng.laplace(scale=0.2) for key, one in sorted(counts.items())}


@varying
def noise_by_a_wrong_transform(data, rng):
    return total(data) + math.log(1 - rng.random()) * rng.choice([-1, 1]) * 0.2
