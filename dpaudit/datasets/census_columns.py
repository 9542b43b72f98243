"""The columns of UCI Adult, and the values of each in its 45,222 complete records.

The table is written down rather than derived from the file at hand, so that no file can move a
feature to another column and a damaged value can be named. A test derives it again from the files.
"""

from __future__ import annotations

from types import MappingProxyType

NUMERIC = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)

# Sorted within each column. "Never-worked" is missing on purpose: none of those who never worked
# has an occupation, so no complete record holds it.
CATEGORIES = MappingProxyType(
    {
        "workclass": (
            "Federal-gov Local-gov Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
        ).split(),
        "education": (
            "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate "
            "HS-grad Masters Preschool Prof-school Some-college"
        ).split(),
        "marital-status": (
            "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
            "Separated Widowed"
        ).split(),
        "occupation": (
            "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
            "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
            "Protective-serv Sales Tech-support Transport-moving"
        ).split(),
        "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife".split(),
        "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White".split(),
        "sex": "Female Male".split(),
        "native-country": (
            "Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England "
            "France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India "
            "Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) "
            "Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand "
            "Trinadad&Tobago United-States Vietnam Yugoslavia"
        ).split(),
    }
)

# The columns as the files hold them.
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

# The columns of the feature matrix: the numbers first, then one column for each value.
ADULT_FEATURES = NUMERIC + tuple(
    f"{column}={value}" for column, values in CATEGORIES.items() for value in values
)
