"""Many certificates checked, in this process or by several that share the work.

No verdict depends on how many there are: fresh draws have the reader's seed, and what a computation
may take is counted in seconds of the processor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import dpaudit.redaction as redaction
from dpaudit.errors import DpauditError, MechanismError, what_happened
from dpaudit.verification.document import Document, Verdict
from dpaudit.verification.judge import verify
from dpaudit.verification.redrawn_counts import Reader

Checked = tuple[int, "Verdict | DpauditError"]
"""The place of a certificate among those that are asked for, and its verdict or why it has none."""


def verify_many(
    documents: Sequence[Document], reader: Reader, *, reproduce: bool = False, workers: int = 1
) -> Iterator[Checked]:
    """Yield the place and the verdict of each certificate, or why it has none, as they come.

    Parameters
    ----------
    documents, reader, reproduce
        As `verify` takes them, for several certificates.
    workers
        Processes. A mechanism of one's own, which has processes itself, is checked from here.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json", claim="c", parameters={}, quantities={}, instance={}, assumptions={}
    ... )
    >>> [(place, type(found).__name__) for place, found in verify_many([document], Reader())]
    [(0, 'UnknownName')]
    """
    import dpaudit._check as check  # takes numpy

    check.require_integer("workers", workers, least=1)
    # Certificates of counts draw an audit again and take longest by far. Started last, one of
    # them would keep a single worker busy after all others are idle.
    longest_first = sorted(enumerate(documents), key=lambda one: one[1].kind != "statistical")
    if workers == 1 or reader.mechanism is not None or len(documents) < 2:
        for place, document in enumerate(documents):
            yield _verify_certificate_at(place, document, reader, reproduce)
        return
    from joblib import Parallel, delayed

    from dpaudit.execution.parent import end_with

    ending = {"initializer": end_with, "initargs": (os.getpid(),)}
    handed = Parallel(workers, return_as="generator_unordered", batch_size=1, **ending)
    shown = redaction.are_shown()
    yield from handed(
        delayed(_verify_in_worker)(*one, reader, reproduce, shown) for one in longest_first
    )


def _verify_in_worker(
    place: int, document: Document, reader: Reader, reproduce: bool, shown: bool
) -> Checked:
    with redaction.run(shown):
        return _verify_certificate_at(place, document, reader, reproduce)


def _verify_certificate_at(
    place: int, document: Document, reader: Reader, reproduce: bool
) -> Checked:
    try:
        return place, _in_words(document, reader, reproduce)
    except DpauditError as error:
        return place, error


def _in_words(document: Document, reader: Reader, reproduce: bool) -> Verdict:
    try:
        return verify(document, reader, reproduce=reproduce)
    except (DpauditError, KeyboardInterrupt):
        raise
    except BaseException as error:  # verifiers are other people's code
        raise MechanismError(what_happened(error)) from error
