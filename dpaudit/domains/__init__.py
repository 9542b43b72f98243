"""Domains of datasets, whatever records there are: a search looks for neighbours in them."""

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Texts,
)
from dpaudit.domains.domain import Domain
from dpaudit.domains.reading import domain_of
from dpaudit.domains.schemas import Schema

__all__ = [
    "Booleans",
    "Categories",
    "Column",
    "Dates",
    "Domain",
    "Integers",
    "Numbers",
    "Schema",
    "Texts",
    "domain_of",
]
