"""The dependence of each value of a program, and the places where noise hides records.

A program is read once, in order. Noise travels (`dpaudit.proving.events.forms`) until it is added
to what depends on records; the sum is a release as soon as somebody looks at it, that is, as soon
as an operation uses it that noise does not travel through, or two operations do. From then on it is
public: a function of it tells nothing that it does not tell.

**Theorem.** Let every atom of noise be used by one release at most, or be looked at and then be
used by none. Then the outputs are a function of the releases and of coins that do not depend on
records, and the law of each release, given those before it, depends on records through its centre
alone. *Proof.* By induction over the program every public node is a function of releases and coins
before it, and an output is a public node. A release's noise is independent of all that precedes it,
as none of its atoms occurs there. So the density of all releases is the product of theirs given
the ones before: this is adaptive composition, and whatever bounds each factor's ratio for all
histories bounds the whole.

Whatever is not of that form is refused: a value that depends on records and is shown, noise that is
used twice, a coin that is looked at and hides something too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

import dpaudit.faults.codes as codes
from dpaudit.proving.events.draft import Draft, is_known
from dpaudit.proving.events.forms import Atlas, Atoms, NoiseForm, check_complete, form_of
from dpaudit.proving.events.noise_laws import IndependentNoise, noise_of
from dpaudit.proving.events.release_forms import Additive, RecordDraw, ReleaseMatch, Selection
from dpaudit.proving.events.usage import check_draws, count_uses, live_nodes
from dpaudit.proving.program import Node, PathProgram, Shape
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import NodeKind

# What an atom does.
_FRESH = 0
_SEEN = 1
_HIDES = 2
_OF_SCALE = "the scale of noise depends on records"
_CURE_OF_SCALE = "use public bounds"
# Only for the message: which draws a reader would call noise whose scale is private.
_ADDITIVE = frozenset("laplace normal logistic cauchy gumbel exponential".split())
_CHOICES = frozenset({"argmax", "argmin"})


@dataclass(eq=False)
class ReleaseReading:
    """The releases of a program.

    Parameters
    ----------
    draft
        The program, with the centres and scales of releases after it.
    kinds
        Of every node of the draft.
    releases
        In order.
    """

    draft: Draft
    kinds: list[NodeKind]
    releases: list[object] = field(default_factory=list)


def classify_nodes(program: PathProgram) -> tuple[NodeKind, ...]:
    """Return the dependence of each node.

    Raises
    ------
    NotProved
        Records are shown without noise, or noise is used twice.

    Examples
    --------
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(3,), part="")
    >>> noise = program.add("draw", shape=(), law="laplace", number=0)
    >>> total = program.add("sum", [x], shape=(), axis=None)
    >>> program.outputs = (program.add("add", [total, noise], shape=()),)
    >>> [one.value for one in classify_nodes(program)]
    ['private', 'noise', 'private', 'noisy']
    """
    return tuple(ReleaseReader(program).read().kinds[: len(program.nodes)])


class ReleaseReader:
    """A pass over a program that finds its releases.

    Parameters
    ----------
    program
        What is read.
    """

    def __init__(self, program: PathProgram) -> None:
        check_draws(program)
        self.draft = Draft(program)
        self.live = live_nodes(program)
        self.users = program.uses()
        self.counts = count_uses(program, self.live)
        self.kinds: list[NodeKind] = []
        self.forms: dict[int, NoiseForm] = {}
        self.public: set[int] = set()
        self.atlas = Atlas()
        self.releases: list[object] = []
        self.noise = {
            one.index: self.atlas.enter(one)
            for one in program.nodes
            if one.index in self.live and _is_noise(one)
        }
        self._states = np.zeros(self.atlas.size, dtype=np.int8)
        self._heads: dict[int, ReleaseMatch] = {}
        self._hidden: set[int] = set()
        self._claimed_before: set[int] = set()

    def claim(self, claims: Iterable[ReleaseMatch]) -> None:
        """Have parts of the program be releases by theorems of their own."""
        for claim in claims:
            self._heads.update(dict.fromkeys(claim.heads, claim))
            self._hidden |= claim.hidden

    def read(self) -> ReleaseReading:
        """Return the releases and kinds.

        Raises
        ------
        NotProved
            Something is shown that no release covers.
        """
        for node in self.draft.program.nodes[: self.draft.own]:
            self.kinds.append(self._kind_of(node))
            is_pending = self.kinds[-1] is NodeKind.NOISY and node.index in self.forms
            # Two uses of a noisy value have its noise in common; once it is released, both are
            # functions of something public.
            if is_pending and self.counts[node.index] > 1:
                self.publish(node.index)
        for one in self.draft.program.outputs:
            self.publish(one)
        return ReleaseReading(self.draft, self.all_kinds(), self.releases)

    def _kind_of(self, node: Node) -> NodeKind:
        # What no output and no decision depends on is never seen, and must not cost anything.
        if node.index not in self.live:
            return NodeKind.PRIVATE if node.operation in ("data", "size") else NodeKind.PUBLIC
        if node.index in self._heads:
            return self._claimed(node)
        if node.index in self._hidden:
            return NodeKind.NOISY
        # A theorem that claims several nodes as one release keeps the nodes in between secret;
        # a use outside would show them.
        if any(one in self._hidden and one not in self.public for one in node.operands):
            raise NotProved.at(node.place, "the code uses a value that a release hides")
        if node.operation == "draw":
            return self._draw(node)
        if node.operation in ("data", "size"):
            return NodeKind.PRIVATE
        if not any(one in self.forms for one in node.operands):
            return self._without_noise(node)
        # In this order: noise travels as far as it can, and only then is something shown.
        ways = self._travel, self._choose, self._toss, self._look
        return next(kind for way in ways if (kind := way(node)) is not None)

    def _draw(self, node: Node) -> NodeKind:
        for one in node.operands:
            self._publish_noisy(one)
        if not is_known(node.shape):  # one for each record: how many there are is no public fact
            if node.operands:
                raise NotProved.at(
                    node.place, "the odds of a record's draw depend on other records"
                )
            return NodeKind.PRIVATE
        if any(self.kinds[one] is NodeKind.PRIVATE for one in node.operands):
            self.releases.append(RecordDraw(node))
            return self._open(node.index)
        if node.index not in self.noise:
            return self._open(node.index)
        self.forms[node.index] = self.noise[node.index]
        return NodeKind.NOISE

    def _claimed(self, node: Node) -> NodeKind:
        claim = self._heads[node.index]
        # A claim may have several heads, and costs once.
        if id(claim) not in self._claimed_before:
            self._claimed_before.add(id(claim))
            self.use(claim.atoms, node)
            self.releases.append(claim.release)
        return self._open(node.index)

    def _open(self, index: int) -> NodeKind:
        """Have a node be public from here on."""
        self.public.add(index)
        # What is public carries no noise that could still hide something.
        self.forms.pop(index, None)
        return NodeKind.PUBLIC

    def _without_noise(self, node: Node) -> NodeKind:
        is_private = any(self.is_private(one) for one in node.operands)
        # The way that a function takes is seen, so the condition would be an output without
        # noise.
        if node.operation == "decide" and is_private:
            cure = "add noise before you compare"
            raise NotProved.at(
                node.place, "a branch on a record", cure, fault=codes.BRANCH_ON_RECORD
            )
        # The length of a value of unknown shape tells how many records there are.
        if is_private or not is_known(node.shape):
            return NodeKind.PRIVATE
        return self._open(node.index)

    def is_private(self, index: int) -> bool:
        """Return whether a node depends on records that no release covers."""
        return index not in self.public and self.kinds[index] is not NodeKind.NOISE

    def _travel(self, node: Node) -> NodeKind | None:
        """Return the kind of a value to which the noise of its operands travels."""
        if not self._may_travel(node):
            return None
        forms = [self.forms.get(one, NoiseForm(one)) for one in node.operands]
        found = form_of(self.draft, node, forms)
        if found is None:
            return None
        self.forms[node.index] = found
        return NodeKind.NOISE if self._is_free(found.centre) else NodeKind.NOISY

    def _may_travel(self, node: Node) -> bool:
        if node.operation not in ("multiply", "divide"):
            return True
        kinds = [self.kinds[one] for one in node.operands if one in self.forms]
        if sorted(one.value for one in kinds) == ["noise", "noisy"]:  # a scale that is released
            self.publish(node.operands[kinds.index(NodeKind.NOISY)])
        return all(one in self.public for one in node.operands if one not in self.forms)

    def _is_free(self, centre: int | None) -> bool:
        """Return whether a centre depends on no record."""
        if centre is None:
            return True
        pending, seen = [centre], {centre}
        while pending:
            at = pending.pop()
            if at < self.draft.own:
                if self.is_private(at):
                    return False
                continue
            fresh = [one for one in self.draft.node(at).operands if one not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return True

    def _choose(self, node: Node) -> NodeKind | None:
        """Return that the place of the largest of noisy values is public, if it is a release."""
        if node.operation not in _CHOICES or self.kinds[node.operands[0]] is not NodeKind.NOISY:
            return None
        scores = node.operands[0]
        if not is_along_one_axis(node, self.draft.shape(scores)):
            return None
        self.publish(scores)
        last = self.releases[-1]
        # The place of the largest is a function of the release, and may cost less than the
        # values themselves.
        if isinstance(last, Additive) and last.node.index == scores:
            self.releases[-1] = Selection(node, last)
        return self._open(node.index)

    def _toss(self, node: Node) -> NodeKind | None:
        """Return that a uniform draw below private odds is public, where somebody looks at that."""
        draws = [one for one in node.operands if self._is_uniform(one)]
        if node.operation not in ("less", "less_equal") or len(draws) != 1:
            return None
        if self.draft.shape(draws[0]) != node.shape:  # one draw for several coins
            return None
        (odds,) = [one for one in node.operands if one != draws[0]] or [draws[0]]
        users = [one for one in self.users[node.index] if one in self.live]
        is_seen = any(self.draft.node(one).operation == "decide" for one in users)
        is_seen = is_seen or node.index in self.draft.program.outputs
        # A coin that nobody sees may be randomised response, which hides more than its odds
        # show.
        if odds in self.forms or not self.is_private(odds) or not is_seen:
            return None
        self.use(self.forms[draws[0]].atoms(), node)
        given = {"law": "bernoulli", "number": -1}
        made = Node(node.index, "draw", (odds,), given, node.shape, "bool", node.place)
        self.releases.append(RecordDraw(made))
        return self._open(node.index)

    def _is_uniform(self, index: int) -> bool:
        """Return whether a node is entries of uniform draws, and nothing is made of them."""
        form = self.forms.get(index)
        if form is None or form.centre is not None or len(form.terms) != 1:
            return False
        (term,) = form.terms
        draws = self.atlas.draws_of(term.atoms)
        laws = {self.draft.node(one).parameters["law"] for one in draws}
        # A scaled or shifted uniform draw below odds p is a coin with other odds.
        return laws == {"uniform"} and term.scale is None and not term.is_negative

    def _look(self, node: Node) -> NodeKind:
        for one in node.operands:
            self._publish_noisy(one)
        return self._without_noise(node)

    def _publish_noisy(self, index: int) -> None:
        if index in self.forms:
            self.publish(index)

    def publish(self, index: int) -> None:
        """Have somebody look at a node.

        Raises
        ------
        NotProved
            It depends on records that no noise hides, or its noise is used elsewhere.
        """
        if index in self.public:
            return
        node, form = self.draft.node(index), self.forms.get(index)
        if form is None:
            raise self._make_noiseless_error(node)
        if self.kinds[index] is NodeKind.NOISE:
            self._see_coin(node, form)
        else:
            self._release(node, form)
        self._open(index)
        if self.kinds[index] is NodeKind.NOISE:
            self.kinds[index] = NodeKind.PUBLIC

    def _make_noiseless_error(self, node: Node) -> NotProved:
        """Return the error of a private value that is shown, at noise whose scale is private."""
        for one in reversed(self._private_slice(node.index)):
            made = self.draft.node(one)
            if made.operation in ("multiply", "divide") and self._is_private_scale(made):
                return _of_scale(made)
        reason = "the code releases, without noise, a value that depends on records"
        fault = None if self._meets_draw(node.index) else codes.WITHOUT_NOISE
        return NotProved.at(node.place, reason, "add noise to it", fault=fault)

    def _meets_draw(self, index: int) -> bool:
        """Return whether a node is made with any draw, which may be noise that no rule knows."""
        pending, seen = [index], {index}
        while pending:
            node = self.draft.node(pending.pop())
            if node.operation == "draw":
                return True
            fresh = [one for one in node.operands if one not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return False

    def _private_slice(self, index: int) -> list[int]:
        """Return the private nodes on which a node depends through private ones, in order."""
        pending, seen = [index], {index}
        while pending:
            at = pending.pop()
            fresh = [k for k in self.draft.node(at).operands if self.is_private(k)]
            pending.extend(k for k in fresh if k not in seen)
            seen.update(fresh)
        return sorted(seen)

    def _is_private_scale(self, node: Node) -> bool:
        """Return whether a product is a draw of additive noise times something private."""
        draws = [self.draft.node(one) for one in node.operands]
        laws = [one.parameters["law"] for one in draws if one.operation == "draw"]
        return any(one in _ADDITIVE for one in laws) and any(map(self.is_private, node.operands))

    def _see_coin(self, node: Node, form: NoiseForm) -> None:
        atoms = form.atoms()
        # Whoever sees the noise subtracts it from what it hides.
        if (self._states[atoms] == _HIDES).any():
            raise NotProved.at(
                node.place,
                "the code reads noise that hides a value",
                "draw noise for each use",
                fault=codes.NOISE_USED_TWICE,
            )
        self._states[atoms] = _SEEN

    def _release(self, node: Node, form: NoiseForm) -> None:
        """Append the release of a noisy value, or of the noisy values of which it is made."""
        try:
            check_complete(form, node)
            assert form.centre is not None
            noise = noise_of(self.draft, self.atlas, form, node)
            self._check_scale(noise, node)
            self.use(form.atoms(), node)
        # The value as a whole may be no release and still be a function of noisy values that
        # are; if those do not work either, the first reason is the one that helps.
        except NotProved as refusal:
            self._release_operands(node, refusal)
        else:
            self.releases.append(Additive(node, form.centre, noise))

    def _release_operands(self, node: Node, refusal: NotProved) -> None:
        # A private operand without noise cannot be released by itself.
        if any(self.is_private(one) and one not in self.forms for one in node.operands):
            raise refusal
        if not node.operands or not any(one in self.forms for one in node.operands):
            raise refusal
        for one in node.operands:
            self._publish_noisy(one)

    def _check_scale(self, noise: IndependentNoise, node: Node) -> None:
        if not self._is_free(noise.scale):
            raise _of_scale(node)

    def use(self, atoms: Atoms, node: Node) -> None:
        """Mark atoms as the noise that hides a release.

        Raises
        ------
        NotProved
            Some hide another one, or were looked at.
        """
        # Noise that hides two values is taken away by their difference.
        if (self._states[atoms] != _FRESH).any() or len(np.unique(atoms)) < len(atoms):
            cure = "draw noise for each value"
            raise NotProved.at(
                node.place, "noise is used twice", cure, fault=codes.NOISE_USED_TWICE
            )
        self._states[atoms] = _HIDES

    def all_kinds(self) -> list[NodeKind]:
        """Return the kinds, those of centres and scales included."""
        for node in self.draft.program.nodes[len(self.kinds) :]:
            own = [one for one in node.operands if one < self.draft.own]
            hidden = [one for one in own if one not in self.public]
            # A centre that moves with other noise has no distance that holds for every history.
            if any(self.kinds[one] in (NodeKind.NOISE, NodeKind.NOISY) for one in hidden):
                raise NotProved.at(
                    node.place,
                    "the centre of a release contains noise that the code does not release",
                )
            is_private = any(
                self.is_private(one)
                if one < self.draft.own
                else self.kinds[one] is NodeKind.PRIVATE
                for one in node.operands
            )
            self.kinds.append(NodeKind.PRIVATE if is_private else NodeKind.PUBLIC)
        return self.kinds


def _of_scale(node: Node) -> NotProved:
    """Return the error of noise whose scale is private."""
    return NotProved.at(node.place, _OF_SCALE, _CURE_OF_SCALE, fault=codes.SCALE_FROM_DATA)


def is_along_one_axis(node: Node, shape: Shape) -> bool:
    """Return whether a reduction goes over all entries, and gives one."""
    axis = node.parameters["axis"]
    return axis is None or (len(shape) == 1 and axis in (0, -1))


def _is_noise(node: Node) -> bool:
    return node.operation == "draw" and not node.operands and is_known(node.shape)
