"""``dpaudit audit --outputs``: files of outputs that somebody drew, and how they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpaudit.cli.streams as streams
from dpaudit.cli.batch import Batch
from dpaudit.cli.formats import Formats

if TYPE_CHECKING:
    from dpaudit.auditing.samples.output_audit import PreparedOutputs
    from dpaudit.cli.accepting import Acceptances
    from dpaudit.cli.description import AuditCommand
    from dpaudit.cli.output import OutputOptions
    from dpaudit.execution import Executor


def run_outputs(
    described: AuditCommand,
    overrides: dict[str, Any],
    executor: Executor,
    output: OutputOptions,
    acceptances: Acceptances,
) -> int:
    """Audit files of outputs and return the exit status.

    Raises
    ------
    InvalidArgument
        An option means nothing to outputs that are there already.
    """
    from dpaudit.auditing.samples.output_audit import settings_for_outputs
    from dpaudit.files import prepare_directory

    given = {**overrides, **described.own}
    # Called for its refusals: an option that no drawn output has fails here, before large files
    # are read.
    settings_for_outputs(given)
    places = [None] if output.formats != Formats() else []
    batch = Batch(
        names=["drawn outputs"],
        places=places,
        baselines=[acceptances.of_audit(None)],
        named=[{"outputs": described.targets}],
        executor=executor,
        output=output,
    )
    ready = {}
    with batch.attempt(0):
        ready[0] = _prepare_described_outputs(described, given)
        if not output.quiet and output.formats.shown is None:
            for line in (*ready[0].pair.found, *ready[0].pair.left_out):
                streams.write_to_stderr(line)
    if output.directory is not None and ready:
        prepare_directory(output.directory)
    return batch.run(ready)


def _prepare_described_outputs(described: AuditCommand, given: dict[str, Any]) -> PreparedOutputs:
    from dpaudit.auditing.repeat.plan import CommandPlan
    from dpaudit.auditing.samples.output_audit import prepare_output_audit, settings_for_outputs

    plan = CommandPlan(given, tuple(described.targets), outputs=True)
    ignore = given.get("ignore", ())
    return prepare_output_audit(described.targets, settings_for_outputs(given), plan, ignore)
