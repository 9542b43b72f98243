"""DP-SGD by the parameters of a training script: epochs, batch size, records, noise, sampler.

Each example's gradient is clipped to norm C; a step releases the sum over its batch with Gaussian
noise of standard deviation ``noise_multiplier * C``. What is proved of that depends on how batches
are made and on what neighbours differ in. Both are part of every answer, and a sampler that no
theorem covers for a relation is refused.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    ZERO_OUT,
    AllocatedGaussian,
    BatchedGaussian,
    Event,
    GaussianRelease,
    PoissonSubsampledGaussian,
    PrivateSelection,
    ShuffledGaussian,
    repeat_event,
)
from dpaudit.errors import InvalidArgument
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import ReleaseCard
from dpaudit.guarantees import rounding
from dpaudit.report.formatting import format_significant

Sampling = Literal[
    "poisson", "shuffle", "fixed", "fixed-replacement", "balls-and-bins", "cyclic", "none"
]
RelationName = Annotated[
    Literal["add-remove-record", "replace-record", "zero-out-record"],
    BeforeValidator(lambda given: _SHORT.get(given, given) if isinstance(given, str) else given),
]
Selection = Literal["all", "geometric", "logarithmic", "poisson"]

_RELATIONS = (ADD_REMOVE, REPLACE, ZERO_OUT)
_SHORT = {name.removesuffix("-record"): name for name in _RELATIONS}  # as they were once called

# What a sampler is accounted for under; the first is taken where nothing is said.
COVERED: dict[str, tuple[str, ...]] = {
    "poisson": (ADD_REMOVE, REPLACE, ZERO_OUT),
    "fixed": (REPLACE, ADD_REMOVE, ZERO_OUT),
    "fixed-replacement": (REPLACE, ADD_REMOVE, ZERO_OUT),
    "balls-and-bins": (ADD_REMOVE, ZERO_OUT),
    "shuffle": (ZERO_OUT, REPLACE),
    "cyclic": (ZERO_OUT, REPLACE),
    "none": (ADD_REMOVE, REPLACE, ZERO_OUT),
}
_WHY_NOT = {
    "balls-and-bins": "replacing is a removal and an addition: --relation add-remove-record "
    "--group 2",
    "shuffle": "with a record more or fewer the batches have other sizes",
    "cyclic": "with a record more or fewer all later records change their batches",
}
_SENTENCES = {
    "poisson": "each record is in each batch by itself, with probability {ratio}",
    "fixed": "each batch is a fresh uniform subset of {batch} of {records} records",
    "fixed-replacement": "each batch is {batch} draws of a record out of {records}",
    "shuffle": "{batches} batches an epoch, in a random order of the records",
    "balls-and-bins": "each record picks one of {batches} batches at random, once an epoch",
    "cyclic": "each record is in the same one of {batches} batches in every epoch",
    "none": "no gain by sampling: a record may be in every batch",
}


class Training(Parameters):
    """The statements of a training script about itself."""

    epochs: int = Field(1, ge=1, description="passes over the records, on average")
    batch_size: int = Field(256, ge=1, description="records of a batch; of a Poisson one, mean")
    records: int = Field(
        60_000, ge=1, description="records of the larger of two neighbouring datasets"
    )
    steps: int | None = Field(
        None, ge=1, description="number of noisy sums, in place of the epochs'"
    )
    rounds: int | None = Field(None, ge=1, description="another name for steps")
    noise_multiplier: float = Field(1.0, gt=0, description="standard deviation over clipping norm")
    sampling: Sampling = Field(
        "poisson",
        description="sampler of batches: poisson, shuffle, fixed (without replacement), "
        "fixed-replacement, balls-and-bins, cyclic or none",
    )
    relation: RelationName | None = Field(
        None,
        description="add-remove-record, replace-record or zero-out-record; by default one the "
        "sampler has",
    )

    runs: float = Field(1.0, ge=1, description="number of such trainings, on average if random")
    selection: Selection = Field(
        "all",
        description="release of several runs: all, or the best of a geometric, "
        "logarithmic or poisson number of them",
    )

    @property
    def stated(self) -> int | None:
        """Noisy sums of the whole training as they were given, or None.

        Raises
        ------
        InvalidArgument
            They were given twice, differently.
        """
        if None not in (self.steps, self.rounds) and self.steps != self.rounds:
            raise InvalidArgument("rounds", self.rounds, f"as many as steps, {self.steps}, or none")
        return self.rounds if self.steps is None else self.steps

    @property
    def sums(self) -> int:
        """Noisy sums of the whole training."""
        stated = self.stated
        # Rounded up: an incomplete last batch is a noisy sum as well.
        return -(-self.epochs * self.records // self.batch_size) if stated is None else stated

    @property
    def passes(self) -> int:
        """Epochs of a sampler that goes through the records.

        Raises
        ------
        InvalidArgument
            The steps are not those of whole epochs.
        """
        stated, each = self.stated, _count_training_batches(self)
        if stated is None:
            return self.epochs
        # Such samplers draw an order for a whole epoch; what a part of one loses no theorem says.
        if stated % each:
            below, above = stated // each * each, (stated // each + 1) * each
            whole = f"{below} or {above}" if below else f"{above}"
            expected = f"those of whole epochs of {each} batches for {self.sampling}: {whole}"
            raise InvalidArgument("steps", stated, expected)
        return stated // each

    @property
    def batches(self) -> int:
        """Noisy sums of an epoch, an incomplete one counted."""
        return -(-self.records // self.batch_size)


def relation_of(training: Training) -> str:
    """Return the relation that is accounted for.

    Raises
    ------
    InvalidArgument
        There is no theorem for the sampler under this relation.

    Examples
    --------
    >>> relation_of(Training(sampling="fixed")), relation_of(Training(relation="zero-out-record"))
    ('replace-record', 'zero-out-record')
    """
    covered = COVERED[training.sampling]
    if training.relation is None:
        return covered[0]
    if training.relation not in covered:
        expected = f"{' or '.join(covered)} for {training.sampling}: {_WHY_NOT[training.sampling]}"
        raise InvalidArgument("relation", training.relation, expected)
    return training.relation


def training_event(training: Training) -> Event:
    """Return the joint release of all runs.

    Raises
    ------
    InvalidArgument
        As `run_event`; or the number of runs does not suit what is released of them.

    Examples
    --------
    >>> training_event(Training(runs=3, batch_size=600)).count
    300
    """
    one, runs = run_event(training), training.runs
    if training.selection != "all":
        return PrivateSelection(base=one, runs=runs, law=training.selection)
    if not runs.is_integer():
        raise InvalidArgument("runs", runs, "an integer where all runs are released")
    return repeat_event(one, int(runs))


def run_event(training: Training) -> Event:
    """Return the releases of one training.

    Balls and bins have as many bins as there are complete batches.

    Raises
    ------
    InvalidArgument
        The batch is larger than the dataset, or there is no theorem for sampler and relation.

    Examples
    --------
    >>> run_event(Training(epochs=2, sampling="balls-and-bins", batch_size=600))
    AllocatedGaussian(batches=100, noise_multiplier=1.0, count=2)
    """
    if training.batch_size > training.records:
        expected = f"at most the number of records, {training.records}"
        raise InvalidArgument("batch_size", training.batch_size, expected)
    relation, noise = relation_of(training), training.noise_multiplier
    match training.sampling:
        case "poisson" | "fixed" | "fixed-replacement":
            return _build_training_event(training, relation)
        case "shuffle":
            return ShuffledGaussian(
                batches=training.batches,
                noise_multiplier=noise,
                relation=relation,
                count=training.passes,
            )
        case "balls-and-bins":
            # Fewer bins are worse, so that an incomplete batch is no bin.
            whole = training.records // training.batch_size
            return AllocatedGaussian(batches=whole, noise_multiplier=noise, count=training.passes)
    moved = 2.0 if relation == REPLACE else 1.0
    count = training.passes if training.sampling == "cyclic" else training.sums
    return GaussianRelease(sensitivity=moved, noise_scale=noise, count=count)


def _build_training_event(training: Training, relation: str) -> Event:
    noise, steps = training.noise_multiplier, training.sums
    if training.sampling == "poisson" and relation != REPLACE:
        ratio = rounding.up(Fraction(training.batch_size, training.records))
        return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=steps)
    return BatchedGaussian(
        records=training.records,
        batch_size=training.batch_size,
        noise_multiplier=noise,
        sampling=training.sampling,
        relation=relation,
        count=steps,
    )


def format_training_scope(training: Training) -> str:
    """Return the scope of an answer, in a sentence.

    Examples
    --------
    >>> format_training_scope(Training(sampling="cyclic", batch_size=600))
    'Holds for --sampling cyclic: each record is in the same one of 100 batches in every epoch; \
1 epoch.'
    """
    how = _SENTENCES[training.sampling].format(
        ratio=_format_draw_probability(training),
        batch=training.batch_size,
        records=training.records,
        batches=_count_training_batches(training),
    )
    if training.sampling in ("poisson", "fixed", "fixed-replacement", "none"):
        times = f"{training.sums} steps"
    else:
        times = f"{training.passes} epoch" + ("s" if training.passes > 1 else "")
    return f"Holds for --sampling {training.sampling}: {how}; {times}."


def _format_draw_probability(training: Training) -> str:
    """Return that of a record to be drawn; as a fraction where digits would make it 1."""
    batch, records = training.batch_size, training.records
    shown = format_significant(batch / records, _DIGITS, ROUND_CEILING)
    return f"{batch} / {records}" if shown == "1" and batch < records else shown


def _count_training_batches(training: Training) -> int:
    if training.sampling == "balls-and-bins":
        return training.records // training.batch_size
    return training.batches


_SHUFFLED = (
    "No theorem says what shuffling gains: the upper end is without any gain, as for --sampling "
    "cyclic. The lower end is certified: some neighbours attain it."
)
_BY_STEPS = ("poisson", "fixed", "fixed-replacement", "none")
_LOADER = (
    "The number of steps is the epochs times the records over the batch size, rounded up. A "
    "loader with {batches} batches in each epoch makes {loader} steps: give --steps "
    "{loader}."
)
_NOT_EPOCHS = (
    "The answer ignores the {epochs} epochs, because you also gave the steps: {steps} steps of "
    "{batch} records each go {passes} times through {records} records."
)
_ONE_RUN = (
    "For one training run. If it is one of several, tuned or repeated, of which you keep the "
    "best, every run counts: --runs, --selection."
)
_ALL_RUNS = "For {runs:g} training runs, all of them released, or the best one by any rule."
_SELECTED = (
    "For the best of a {selection} number of runs, {runs:g} on average, drawn before the first; "
    "the number and all other runs stay secret. A fixed number of runs is not covered by this."
)
_DIGITS = 6


def format_training_remarks(training: Training, delta: float) -> tuple[str, ...]:
    """Return the remarks beside the answer at ``delta``."""
    said = [_SHUFFLED] if training.sampling == "shuffle" else []
    loader = training.epochs * training.batches
    if training.sampling in _BY_STEPS and training.stated is None and loader != training.sums:
        said.append(_LOADER.format(batches=training.batches, loader=loader))
    said += _of_epochs_unused(training)
    one = training.runs == 1 and training.selection == "all"
    if one and training.sampling not in ("poisson", "none") and delta > 0:
        said += _against_poisson(training, delta)
    return (*said, _of_runs(training))


def _of_epochs_unused(training: Training) -> list[str]:
    """Return a sentence where both epochs and steps are given, and no loader makes both."""
    epochs, steps, batch = training.epochs, training.stated, training.batch_size
    if steps is None or "epochs" not in training.model_fields_set:
        return []
    if epochs * (training.records // batch) <= steps <= epochs * training.batches:
        return []
    passes = format_significant(steps * batch / training.records, 4)
    records = training.records
    return [
        _NOT_EPOCHS.format(epochs=epochs, steps=steps, batch=batch, passes=passes, records=records)
    ]


def _of_runs(training: Training) -> str:
    if training.selection != "all":
        return _SELECTED.format(selection=training.selection, runs=training.runs)
    return _ONE_RUN if training.runs == 1 else _ALL_RUNS.format(runs=training.runs)


def _against_poisson(training: Training, delta: float) -> list[str]:
    """Return a sentence where an accountant of Poisson samples certainly claims too little."""
    from dpaudit.accounting.grid.numerical import bound_attained_epsilon
    from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon

    relation = relation_of(training)
    poisson = training.model_copy(update={"sampling": "poisson", "relation": relation})
    claimed = bound_proved_epsilon(training_event(poisson), delta).upper
    least = bound_attained_epsilon(training_event(training), delta)
    # Only a certified lower end above a proved upper end shows the claim false; two estimates would
    # show nothing.
    if not least > claimed:
        return []
    claim, certified = (
        format_significant(claimed, _DIGITS, ROUND_CEILING),
        format_significant(least, _DIGITS, ROUND_FLOOR),
    )
    return [
        f"An accountant that takes these batches for Poisson samples claims {claim} at this delta; "
        f"some neighbours lose at least {certified}: the claim is false."
    ]


DP_SGD = ReleaseCard(
    name="dp-sgd",
    title="a training by noisy sums of clipped gradients, batches made as the loader makes them",
    source="Abadi et al. 2016; docs/samplers.md",
    relation="by the parameter relation; a refusal names those of the sampler",
    parameters=Training,
    event=training_event,
    count="epochs",
    counted=lambda training: "epochs" if training.stated is None else None,
    noise="noise_multiplier",
    words=format_training_scope,
    neighbours=relation_of,
    remarks=format_training_remarks,
)
