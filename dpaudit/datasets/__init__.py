"""Real records with the papers' preprocessing, and how they are split over nodes."""

from dpaudit.datasets.arrange import (
    most_distant_records,
    replacement_pair,
    split_evenly,
    split_unevenly,
    subset,
)
from dpaudit.datasets.catalogue import CATALOGUE, breast_cancer, load
from dpaudit.datasets.census import ADULT_FEATURES, adult
from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.preprocessing import clip_rows, preprocess, scale_columns
from dpaudit.datasets.svmlight import a9a, libsvm
from dpaudit.datasets.table import csv

__all__ = [
    "ADULT_FEATURES",
    "CATALOGUE",
    "Dataset",
    "a9a",
    "adult",
    "breast_cancer",
    "clip_rows",
    "csv",
    "libsvm",
    "load",
    "most_distant_records",
    "preprocess",
    "replacement_pair",
    "scale_columns",
    "split_evenly",
    "split_unevenly",
    "subset",
]
