import subprocess
import sys

import numpy as np
import pytest

import dpaudit.datasets
from dpaudit.datasets import CATALOGUE, Dataset, load
from dpaudit.errors import DataError, InvalidArgument, UnknownName


@pytest.mark.parametrize("name", ["breast-cancer", "breast_cancer"])
def test_a_dataset_is_loaded_by_name(name):
    data = load(name)
    assert isinstance(data, Dataset)
    assert data.features.shape == (569, 30)


@pytest.mark.parametrize("name", ["adult", "a9a"])
def test_real_records_by_name(raw_files, name):
    data = load(name, path=raw_files)
    assert np.linalg.norm(data.features, axis=1).max() <= 1 + 1e-9
    data.require_unit_rows()


def test_options_reach_the_loader(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b\n1,yes\n2,no\n")
    data = load("csv", path=path, label_column="b", positive="yes")
    assert data.labels.tolist() == [1, -1]


def test_the_path_reaches_the_loader(tmp_path):
    with pytest.raises(DataError, match=f"{tmp_path}: no file a9a.t"):
        load("a9a", path=tmp_path, split="test")


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(UnknownName, match="dataset: got 'iris', expected one of: a9a, adult, br"):
        load("iris")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("breast-cancer", {"path": "/anywhere"}),
        ("adult", {"split": "train"}),
        ("libsvm", {}),
        ("csv", {"path": "file.csv"}),
    ],
)
def test_arguments_the_loader_does_not_take_are_refused(name, options):
    with pytest.raises(InvalidArgument, match=f"dataset {name}: got .* expected arguments among"):
        load(name, **options)


def test_the_catalogue_cannot_be_changed():
    with pytest.raises(TypeError):
        CATALOGUE["mine"] = load


def test_every_exported_name_is_there_and_in_order():
    names = dpaudit.datasets.__all__
    assert names == sorted(names)
    assert all(hasattr(dpaudit.datasets, name) for name in names)


def test_importing_the_package_stays_light():
    code = "import sys, dpaudit.datasets; print({'sklearn', 'pandas', 'scipy'} & set(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() == "set()"
