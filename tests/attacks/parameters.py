"""The parameters of a study, whatever their class is called."""

import inspect


def make_parameters(study, **given):
    """Return what the study's ``run`` takes first."""
    kind = inspect.signature(study.run, eval_str=False).parameters["parameters"].annotation
    return getattr(study, kind)(**given)
