"""An audit from settings to result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from numpy.random import default_rng
from pydantic import ValidationError

import dpaudit.audit.black_box as black_box
import dpaudit.audit.white_box as white_box
import dpaudit.registry as registry
from dpaudit.audit.assemble import privacy_result, sensitivity_result
from dpaudit.audit.draws import Drawer
from dpaudit.audit.evidence import Evidence
from dpaudit.case import Case, PrivacyCase, SensitivityCase
from dpaudit.claims import Claim
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.execution import Executor, one_thread, stream
from dpaudit.mechanism import Tiltable
from dpaudit.report.schema import Result
from dpaudit.settings import Settings


def audit_claim(name: str, settings: Settings, executor: Executor | None = None) -> Result:
    """Audit an installed claim.

    Parameters
    ----------
    name
        The claim.
    settings
        What is asked of the audit.
    executor
        Who computes; never changes a number.

    Raises
    ------
    UnknownName, InvalidArgument, DataError, MechanismError
        One line each, naming what has to change.

    Examples
    --------
    >>> result = audit_claim("huang2020-theorem6", Settings(trials=500))
    >>> result.verdict, round(result.proved.epsilon, 4)
    ('not refuted', 0.751)
    >>> result.measured.lower < 0.751 < result.measured.upper
    True
    """
    claim = registry.claim(name)
    parameters = parsed_parameters(claim.load_parameters(), settings.parameters)
    with one_thread():
        case = claim.load()(settings, parameters)
    return audit_case(claim, case, settings, executor or Executor(), rerun_command(name, settings))


def audit_case(
    claim: Claim, case: Case, settings: Settings, executor: Executor, rerun: str
) -> Result:
    """Audit a case that is already prepared; ``rerun`` goes into the report."""
    trials = case.default_trials if settings.trials is None else settings.trials
    match case:
        case PrivacyCase():
            drawer = Drawer.probing(case.mechanism, case.pair, executor, settings.seed)
            evidence = _privacy_evidence(case, drawer, settings, trials)
            return privacy_result(claim, case, evidence, settings, rerun)
        case SensitivityCase():
            executor.progress.start("searching", trials)
            with one_thread():
                attained = case.attain(trials, default_rng(stream(settings.seed, "search")))
            executor.progress.advance(trials)
            return sensitivity_result(claim, case, attained, settings, trials, rerun)


def _privacy_evidence(
    case: PrivacyCase, drawer: Drawer, settings: Settings, trials: int
) -> Evidence:
    alpha = 1 - settings.confidence
    tiltable = isinstance(case.mechanism, Tiltable)
    if settings.estimator == "exact-loss" and not tiltable:
        given = Shown("exact-loss")
        expected = "event: the law of these outputs is not known, or cannot be drawn tilted"
        raise InvalidArgument("estimator", given, expected)
    exact = settings.estimator == "exact-loss" or (
        settings.estimator == "auto" and tiltable and case.at_delta > 0
    )
    if exact:
        if settings.attack is not None:
            raise InvalidArgument("attack", settings.attack, "none, or the estimator event")
        return white_box.exact_loss(case, drawer, trials, alpha)
    return black_box.event(case, drawer, trials, alpha, settings.attack)


def parsed_parameters(model: Any, given: Mapping[str, Any]) -> Any:
    """Return the model of ``given``, or raise `InvalidArgument` on the first thing wrong."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "parameters"
        if first["type"] == "extra_forbidden":
            expected = "one of: " + ", ".join(model.model_fields)
            raise InvalidArgument("parameter", name, expected) from None
        raise InvalidArgument(name, first["input"], _sentence(first["msg"])) from None


def _sentence(message: str) -> str:
    text = message.removeprefix("Input should be ")
    return text[:1].lower() + text[1:]


def rerun_command(name: str, settings: Settings) -> str:
    """Return the command line that repeats an audit.

    Examples
    --------
    >>> rerun_command("c", Settings(parameters={"nodes": 3}))
    'dpaudit audit c --epsilon 1.0 --delta 1e-05 --data worst-case --confidence 0.95 --seed 0 \
--set nodes=3'
    """
    words = ["dpaudit", "audit", name, "--epsilon", repr(settings.epsilon)]
    words += ["--delta", repr(settings.delta), "--data", settings.data]
    if settings.trials is not None:
        words += ["--trials", str(settings.trials)]
    words += ["--confidence", repr(settings.confidence), "--seed", str(settings.seed)]
    optional = {"--data-path": settings.data_path, "--attack": settings.attack}
    if settings.estimator != "auto":
        optional["--estimator"] = settings.estimator
    words += [word for flag, value in optional.items() if value for word in (flag, value)]
    for flag, values in (("--data-option", settings.data_options), ("--set", settings.parameters)):
        words += [word for key, value in values.items() for word in (flag, f"{key}={_toml(value)}")]
    return shlex.join(words)


def _toml(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)
