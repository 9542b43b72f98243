"""The schema of the NIST/OpenDP registry of deployments, as facts: fields, tiers and choices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from dpaudit.deployments.documents import DocumentScalar

ADDRESS = "https://github.com/opendp/deployments-registry-data"
# Addresses name a commit, since a later version of a record may state other numbers.
COMMIT = "3e9c812a924cf01d228f26f6c462c59c391c3f2a"

_STATUS = (
    "Converted",
    "Draft",
    "Pending",
    "Changes Required",
    "Approved",
    "Approved (Update Requested)",
    "Approved (Pending)",
)
# Tier from which on a field is asked for; 0: never.
FIELDS: Mapping[str, int] = {
    "url_slug": 1,
    "status": 1,
    "tier": 1,
    "deployment.basic.name": 1,
    "deployment.basic.data_curators": 1,
    "deployment.basic.intended_use": 1,
    "deployment.basic.data_product_type": 1,
    "deployment.basic.data_product_region": 1,
    "deployment.basic.description": 1,
    "deployment.basic.publication_date": 1,
    "deployment.basic.data_product_sector": 0,
    "deployment.dp_variant.variant_name": 2,
    "deployment.dp_variant.data_domain": 3,
    "deployment.dp_variant.unprotected_quantities": 3,
    "deployment.privacy_loss.privacy_unit": 2,
    "deployment.privacy_loss.privacy_unit_details": 3,
    "deployment.privacy_loss.privacy_parameters": 2,
    "deployment.privacy_loss.privacy_parameters.epsilon": 0,
    "deployment.privacy_loss.privacy_parameters.delta": 0,
    "deployment.privacy_loss.privacy_parameters.rho": 0,
    "deployment.privacy_loss.privacy_parameters_details": 0,
    "deployment.deployment_model.model_name": 2,
    "deployment.deployment_model.model_name_details": 0,
    "deployment.deployment_model.actors": 3,
    "deployment.deployment_model.release_type": 2,
    "deployment.deployment_model.release_type_details": 0,
    "deployment.deployment_model.data_source_type": 2,
    "deployment.deployment_model.data_source_type_details": 0,
    "deployment.deployment_model.access_type": 2,
    "deployment.deployment_model.access_type_details": 0,
    "deployment.accounting.post_processing": 3,
    "deployment.accounting.composition": 3,
    "deployment.implementation.preprocessing_and_hyperparameter_tuning": 3,
    "deployment.implementation.mechanisms": 3,
    "deployment.implementation.justification": 3,
    "deployment.administrative.sources": 1,
    "deployment.administrative.notes": 0,
    "deployment.administrative.registry_authors": 1,
}
_REQUIRED = (
    "url_slug",
    "status",
    "tier",
    "deployment.basic.name",
    "deployment.basic.data_curators",
    "deployment.basic.intended_use",
    "deployment.basic.data_product_type",
    "deployment.basic.data_product_region",
    "deployment.basic.description",
    "deployment.basic.publication_date",
)
CHOICES: Mapping[str, Sequence[str]] = {
    "status": _STATUS,
    "tier": ("1", "2", "3"),
    "deployment.basic.data_product_type": (
        "Summary statistics",
        "Machine learning model",
        "Dataset",
        "Synthetic data",
        "Interactive API",
        "SQL queries",
    ),
    "deployment.basic.data_product_sector": (
        "Technology",
        "Healthcare",
        "Education",
        "Government",
        "Energy",
        "Finance",
    ),
    "deployment.dp_variant.variant_name": (
        "Pure DP",
        "Approximate DP",
        "Zero-concentrated DP",
        "Renyi DP",
        "Custom",
    ),
    "deployment.deployment_model.model_name": (
        "Local",
        "Central",
        "Shuffle",
        "Federated",
        "Varies",
    ),
    "deployment.deployment_model.release_type": ("One release", "Many releases"),
    "deployment.deployment_model.data_source_type": ("Static", "Dynamic"),
    "deployment.deployment_model.access_type": ("Interactive", "Non-interactive"),
}
PARAMETERS = "deployment.privacy_loss.privacy_parameters"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def is_registry(entries: Sequence[DocumentScalar]) -> bool:
    """Return whether a record follows the registry's layout, if loosely."""
    return any(one.keys[:1] == ("deployment",) and len(one.keys) > 2 for one in entries)


def field_of(entry: DocumentScalar) -> str:
    """Return the field that an entry is of: its path, without places in lists."""
    return ".".join(key for key in entry.keys if not key.isdecimal())


def deviations_of(entries: Sequence[DocumentScalar]) -> Iterator[str]:
    """Yield the fields that the schema refuses, with the reason."""
    found = {field_of(one): one for one in entries}
    for name in _REQUIRED:
        if name not in found:
            yield f"{name}: required, not there"
    for name, entry in found.items():
        if name not in FIELDS:
            yield f"{entry.path}: not in the schema"
        if name in CHOICES and entry.text not in CHOICES[name]:
            yield f"{name}: not one of {', '.join(CHOICES[name])}"
        if name == "deployment.basic.publication_date" and not _is_date(entry):
            yield f"{name}: no quoted date YYYY-MM-DD"
        is_number = not entry.quoted and _NUMBER.fullmatch(entry.text) is not None
        if name in (f"{PARAMETERS}.epsilon", f"{PARAMETERS}.rho") and not is_number:
            yield f"{name}: no number"


def _is_date(entry: DocumentScalar) -> bool:
    try:
        date.fromisoformat(entry.text)
    except ValueError:
        return False
    # fromisoformat also takes 20310102 and 2031-W01-4. Without quotes, YAML makes a date of the
    # text.
    return entry.quoted and len(entry.text) == 10


def absent_of(entries: Sequence[DocumentScalar], tier: int) -> list[str]:
    """Return the fields that a record of its tier should have, and has not, or has empty."""
    filled = {field_of(one) for one in entries if one.text.strip()}
    # The parameters are a mapping, which no entry is of: they are there once one of them is.
    if any(name.startswith(f"{PARAMETERS}.") for name in filled):
        filled.add(PARAMETERS)
    return [name for name, least in FIELDS.items() if 0 < least <= tier and name not in filled]
