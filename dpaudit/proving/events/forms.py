"""A value as a centre plus noise: which entry of which draw hides which entry of a value.

Noise travels through operations that move entries, change signs and multiply by public numbers.
What becomes of it is followed entry by entry: every entry of every draw of a program has a number
of its own, an *atom*, so that noise that hides two values is seen, however it was copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit.faults.codes as codes
from dpaudit.proving.events.draft import Draft, is_known, size_of
from dpaudit.proving.program import Node, Shape, open_mesh
from dpaudit.proving.refusals import NotProved

Atoms = NDArray[np.int64]
NONE = -1
"""The atom of an entry without noise."""


@dataclass(frozen=True, eq=False)
class NoiseTerm:
    """One atom in each entry of a value, times a public number.

    Parameters
    ----------
    atoms
        Their numbers, of the shape of the value; `NONE` where an entry has none.
    scale
        The node of the public numbers, which broadcasts to the shape; None is 1.
    is_negative
        Whether it is subtracted.
    """

    atoms: Atoms
    scale: int | None = None
    is_negative: bool = False


@dataclass(frozen=True, eq=False)
class NoiseForm:
    """A value that is a centre plus terms of noise.

    Parameters
    ----------
    centre
        A node; None is 0.
    terms
        What is added to it.
    """

    centre: int | None
    terms: tuple[NoiseTerm, ...] = ()

    def atoms(self) -> Atoms:
        """Return the atoms of all terms, those that occur twice twice."""
        # Repetitions stay in: an atom that occurs twice is what `check_complete` looks for.
        found = [one.atoms.reshape(-1) for one in self.terms]
        joined = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
        return np.asarray(joined[joined != NONE])


@dataclass(eq=False)
class Atlas:
    """The atoms that stem from each draw."""

    starts: list[int] = field(default_factory=list)
    draws: list[int] = field(default_factory=list)
    size: int = 0

    def enter(self, node: Node) -> NoiseForm:
        """Give the entries of a draw their numbers, and return the form of that noise."""
        count = size_of(node.shape)
        self.starts.append(self.size)
        self.draws.append(node.index)
        atoms = np.arange(self.size, self.size + count).reshape([one or 0 for one in node.shape])
        self.size += count
        return NoiseForm(None, (NoiseTerm(atoms),))

    def draws_of(self, atoms: Atoms) -> list[int]:
        """Return the nodes of the draws from which atoms stem, in order."""
        # Each draw owns a run of consecutive numbers, so the last start at or below an atom is
        # its draw.
        places = np.searchsorted(self.starts, np.unique(atoms), side="right") - 1
        return [self.draws[one] for one in dict.fromkeys(places.tolist())]


Rule = Callable[[Draft, Node, Sequence[NoiseForm]], "NoiseForm | None"]


def _add_noise_forms(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm:
    centres = [one.centre for one in forms]
    negative = node.operation == "subtract"
    left, right = (_broadcast_terms(one, node.shape) for one in forms)
    terms = (*left, *(_negate_term(one) if negative else one for one in right))
    return NoiseForm(_add_centres(draft, node, centres, negative), terms)


def _add_centres(
    draft: Draft, node: Node, centres: Sequence[int | None], is_negative: bool
) -> int | None:
    left, right = centres
    if left is None and right is None:
        return None
    if left is not None and right is not None:
        return draft.apply(node.operation, [left, right], place=node.place)
    if right is None:
        assert left is not None
        return draft.broadcast(left, node.shape)
    found = draft.broadcast(right, node.shape)
    return draft.apply("negative", [found], place=node.place) if is_negative else found


def _broadcast_terms(form: NoiseForm, shape: Shape) -> list[NoiseTerm]:
    """Return terms whose atoms have the shape of a result; scales broadcast as they are."""
    return [
        replace(one, atoms=np.broadcast_to(one.atoms, _to_plain_shape(shape))) for one in form.terms
    ]


def _to_plain_shape(shape: Shape) -> tuple[int, ...]:
    return tuple(one or 0 for one in shape)


def _negate_term(term: NoiseTerm) -> NoiseTerm:
    return replace(term, is_negative=not term.is_negative)


def _negate_form(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm:
    (form,) = forms
    centre = None if form.centre is None else draft.apply("negative", [form.centre])
    return NoiseForm(centre, tuple(_negate_term(one) for one in form.terms))


def _multiply_noise_form(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm | None:
    """Return noise times public numbers; a centre only times one constant."""
    by_terms = [bool(one.terms) for one in forms]
    # A product of noise with noise, or a quotient by noise, is noise of an unknown law.
    if all(by_terms) or (node.operation == "divide" and by_terms[1]):
        return None
    noisy, public = forms if by_terms[0] else reversed(forms)
    assert public.centre is not None
    # A factor for each entry would have to scale every centre by its own number; the release
    # before the factor is found by itself.
    if noisy.centre is not None and not _is_one_factor(draft.value(public.centre)):
        return None
    centre = noisy.centre
    if centre is not None:
        centre = draft.apply(node.operation, [centre, public.centre], place=node.place)
        centre = draft.broadcast(centre, node.shape)
    terms = (
        _scale_term(draft, node, one, public.centre) for one in _broadcast_terms(noisy, node.shape)
    )
    return NoiseForm(centre, tuple(terms))


def _is_one_factor(value: NDArray[Any] | None) -> bool:
    """Return whether all numbers are one, which is not 0."""
    if value is None or not value.size:
        return False
    first = value.flat[0]
    # Times 0, noise hides nothing.
    return bool(np.isfinite(first) and first != 0 and np.all(value == first))


def _scale_term(draft: Draft, node: Node, term: NoiseTerm, factor: int) -> NoiseTerm:
    if term.scale is None and node.operation == "multiply":
        return replace(term, scale=factor)
    before = draft.constant(1.0) if term.scale is None else term.scale
    return replace(term, scale=draft.apply(node.operation, [before, factor], place=node.place))


def _move_form(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm:
    """Return the form after a reshape, a transpose, a broadcast or a take."""
    (form,) = forms
    before = draft.shape(node.operands[0])
    centre = None
    if form.centre is not None:
        whole = draft.broadcast(form.centre, before)
        centre = draft.move(node, [whole], node.shape)
    return NoiseForm(centre, tuple(_move_term(draft, node, one, before) for one in form.terms))


def _move_term(draft: Draft, node: Node, term: NoiseTerm, before: Shape) -> NoiseTerm:
    atoms = _MOVES[node.operation](term.atoms, node)
    scale = term.scale
    # A scalar is the same wherever its entries go.
    if scale is not None and draft.shape(scale):
        scale = draft.move(node, [draft.broadcast(scale, before)], node.shape)
    return replace(term, atoms=atoms, scale=scale)


_MOVES: Mapping[str, Callable[[Atoms, Node], Atoms]] = {
    "reshape": lambda atoms, node: atoms.reshape(_to_plain_shape(node.shape)),
    "broadcast": lambda atoms, node: np.broadcast_to(atoms, _to_plain_shape(node.shape)),
    "transpose": lambda atoms, node: np.transpose(atoms, node.parameters["axes"]),
    "take": lambda atoms, node: atoms[open_mesh(node.parameters["key"], atoms.shape)],
}


def _concatenate_forms(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm | None:
    # A part without noise, laid beside noisy ones, would be released bare.
    if any(not one.terms for one in forms):
        return None
    shapes = [draft.shape(one) for one in node.operands]
    axis = node.parameters["axis"]

    def join(arrays: Sequence[Atoms]) -> Atoms:
        return np.concatenate(arrays, axis=axis)

    return _join_forms(draft, node, forms, shapes, join)


def _assign_form(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm | None:
    shapes = [draft.shape(node.operands[0]), draft.shape(node.operands[1])]

    def join(arrays: Sequence[Atoms]) -> Atoms:
        found = np.array(arrays[0])
        found[open_mesh(node.parameters["key"], found.shape)] = arrays[1]
        return found

    return _join_forms(draft, node, forms, shapes, join)


def _join_forms(
    draft: Draft,
    node: Node,
    forms: Sequence[NoiseForm],
    shapes: Sequence[Shape],
    join: Callable[[Sequence[Atoms]], Atoms],
) -> NoiseForm | None:
    """Return the form of joined values: first terms with first terms, and so on."""
    centres = [
        _broadcast_node(draft, one.centre, shape) for one, shape in zip(forms, shapes, strict=True)
    ]
    centre = (
        draft.move(node, centres, node.shape)
        if any(one.centre is not None for one in forms)
        else None
    )
    terms = []
    for k in range(max(len(one.terms) for one in forms)):
        pieces = [one.terms[k] if k < len(one.terms) else None for one in forms]
        terms.append(_join_terms(draft, node, pieces, shapes, join))
    return NoiseForm(centre, tuple(terms))


def _broadcast_node(draft: Draft, index: int | None, shape: Shape, otherwise: float = 0.0) -> int:
    found = draft.constant(otherwise) if index is None else index
    return draft.broadcast(found, shape)


def _join_terms(
    draft: Draft,
    node: Node,
    pieces: Sequence[NoiseTerm | None],
    shapes: Sequence[Shape],
    join: Callable[[Sequence[Atoms]], Atoms],
) -> NoiseTerm:
    empty = [np.full(_to_plain_shape(shape), NONE) for shape in shapes]
    atoms = join([e if one is None else one.atoms for e, one in zip(empty, pieces, strict=True)])
    known = [one for one in pieces if one is not None]
    # With one scale for all, the law of the joined noise is that of its parts.
    if all(is_same(draft, one, known[0]) for one in known[1:]):
        return replace(known[0], atoms=atoms)
    signed = [None if one is None else get_signed_scale(draft, one) for one in pieces]
    wholes = [_broadcast_node(draft, one, s, 1.0) for one, s in zip(signed, shapes, strict=True)]
    return NoiseTerm(atoms, draft.move(node, wholes, node.shape))


def is_same(draft: Draft, one: NoiseTerm, other: NoiseTerm) -> bool:
    """Return whether two terms have one scalar for their scale, and one sign."""
    return one.is_negative == other.is_negative and is_same_scale(draft, one, other)


def is_same_scale(draft: Draft, one: NoiseTerm, other: NoiseTerm) -> bool:
    """Return whether two terms have one scalar for their scale."""
    if one.scale == other.scale:
        return one.scale is None or not draft.shape(one.scale)
    values = [np.asarray(1.0) if t.scale is None else draft.value(t.scale) for t in (one, other)]
    first, second = values
    return (
        first is not None
        and second is not None
        and first.shape == () == second.shape
        and (bool(first == second))
    )


def get_signed_scale(draft: Draft, term: NoiseTerm) -> int:
    """Return the node of a term's scale with its sign."""
    scale = draft.constant(1.0) if term.scale is None else term.scale
    return draft.apply("negative", [scale]) if term.is_negative else scale


_RULES: Mapping[str, Rule] = {
    "add": _add_noise_forms,
    "subtract": _add_noise_forms,
    "negative": _negate_form,
    "multiply": _multiply_noise_form,
    "divide": _multiply_noise_form,
    "reshape": _move_form,
    "transpose": _move_form,
    "take": _move_form,
    "broadcast": _move_form,
    "concatenate": _concatenate_forms,
    "assign": _assign_form,
}


def form_of(draft: Draft, node: Node, forms: Sequence[NoiseForm]) -> NoiseForm | None:
    """Return a node's centre and noise from those of its operands, None where no rule has them.

    Parameters
    ----------
    draft
        What centres and scales are appended to.
    node
        An operation, of which an operand at least has noise.
    forms
        Of its operands: one without terms has itself for its centre.
    """
    rule = _RULES.get(node.operation)
    if rule is None or not is_known(node.shape):
        return None
    return rule(draft, node, forms)


def check_complete(form: NoiseForm, node: Node) -> None:
    """Refuse noise that leaves an entry out, or hides two.

    Raises
    ------
    NotProved
        Some entry has no noise, or an atom occurs twice.
    """
    # One entry without noise shows its centre exactly.
    if any((one.atoms == NONE).any() for one in form.terms):
        reason = "the code releases some entries without noise"
        raise NotProved.at(node.place, reason, fault=codes.WITHOUT_NOISE)
    atoms = form.atoms()
    # The difference of two values with the same noise is exact.
    if len(np.unique(atoms)) < len(atoms):
        raise NotProved.at(
            node.place,
            "noise is used twice",
            "draw noise for each value, with size= or another call",
            fault=codes.NOISE_USED_TWICE,
        )
