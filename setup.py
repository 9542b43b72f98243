"""Which folder holds which package; everything else stands in pyproject.toml.

The folders ``algorithms/`` and ``attacks/`` are installed inside ``dpaudit``, so that an installed
wheel takes one top-level name.
"""

from setuptools import find_packages, setup

INSIDE = ("algorithms", "attacks")

setup(
    packages=[
        *find_packages(include=["dpaudit", "dpaudit.*"]),
        *(f"dpaudit.{name}" for top in INSIDE for name in find_packages(include=[top, f"{top}.*"])),
    ],
    package_dir={f"dpaudit.{name}": name for name in INSIDE},
)
