"""Functions and methods of numpy: the program of each gives what the function gives."""

import numpy as np
import pytest
from scipy import special

from dpaudit.proving.refusals import NotProved
from tests.proving.arrays import assert_same, trace

RNG = np.random.default_rng(0)
WEIGHTS = np.arange(1.0, 7.0)
GIVEN = {
    "x": RNG.normal(size=6),
    "X": RNG.normal(size=(5, 3)),
    "S": RNG.normal(size=(3, 3)),
    "T": RNG.normal(size=(2, 3, 2)),
    "k": RNG.integers(0, 4, size=8),
    "b": RNG.random(6) < 0.5,
}
ENTRIES = """
3 * x - 1 / (x * x + 2)
np.clip(x, -.5, .5) + x.clip(0, None) + np.clip(x, a_min=None, a_max=1) + np.clip(x, min=0)
np.clip(x, 1, -1)
((x > 0) & (x < 1)) | ~(x >= -1)
(x > 0) ^ (x <= 1)
x ** 2 + x ** 3 - np.square(x) + 2 ** x
np.abs(x) ** .5 + np.sqrt(abs(x)) + np.fabs(x)
x // .3 + x % .3
divmod(x, .7)
np.fmod(x, .7)
np.logaddexp(x, 2 * x) + np.hypot(x, 1.) + np.hypot(3, x)
np.copysign(2., x) + np.heaviside(x, .5) + np.sign(x)
np.exp(x) + np.expm1(x) + np.exp2(x) + np.log(x * x) + np.log1p(x * x)
np.log2(x * x) + np.log10(x * x)
np.sin(x) + np.cos(x) + np.tan(x) + np.arctan(x) + np.tanh(x)
np.degrees(x) + np.radians(x) + np.deg2rad(x) + np.rad2deg(x)
special.expit(x), special.logit(abs(x) / 9), special.xlogy(abs(x), 2.0), special.softmax(x)
special.log_softmax(x), special.logsumexp(x), special.softmax(X, axis=1)
special.logsumexp(X, axis=0)
np.floor(x) + np.ceil(x) + np.rint(x) + np.trunc(x)
np.round(x, 2) + x.round() + np.around(x, 1) + np.round(100 * x, -1) + round(x[0], 1)
np.maximum(x, 0) + np.minimum(0, x) + np.fmax(x, 1) + np.fmin(x, 1)
np.where(x > 0, x, 0), np.where(x > 0, 1, 0), np.where(x > 0, True, False), np.where(x, 1., x)
np.where(np.isnan(x), 0, x), np.isfinite(x), np.isinf(x), np.nan_to_num(x)
np.select([x < 0, x < 1], [x, x ** 2], 9.)
np.isclose(x, x + 1e-9), np.isclose(x, 0, atol=.5), np.allclose(x, x)
np.polyval([1, 2, 3.], x), np.reciprocal(x), np.positive(x), -x, +x, np.negative(x)
np.logical_and(x, x > 0), np.logical_not(x), np.logical_xor(x, 0)
np.float_power(abs(x), 2), np.power(abs(x), 1.5), 1.5 ** x
np.add(x, 1, dtype=float), np.conjugate(x), x.conj(), np.real(x), x.real
x + [1, 2, 3, 4, 5, 6], x * np.arange(6), np.arange(6) - x, x[:, None] * np.arange(3)
np.subtract.outer(x, x), np.add.outer(x, [1, 2]), np.multiply.outer(x, 2)
np.vectorize(lambda v: v * 2 + 1)(x)
np.equal(x, 0), x != 0, np.greater(x, 1), np.less_equal(x, 1), 0 < x, 1 >= x
"""
SUMS = """
x.sum(), np.sum(x), sum(x), np.add.reduce(x), np.nansum(x), np.sum(list(x))
x.mean(), np.mean(x), np.average(x), np.nanmean(x), x.sum() / len(x), x.sum() / x.size
x.var(), x.std(), x.var(ddof=1), np.std(x, ddof=2), np.nanstd(x), np.var(x, correction=1)
x.max(), x.min(), np.ptp(x), np.max(x, initial=5), np.min(x, initial=-9), np.maximum.reduce(x)
x.prod(), np.prod(x), np.multiply.reduce(x)
np.median(x), np.nanmedian(x), np.quantile(x, .3), np.quantile(x, [.1, .9]), np.percentile(x, 25)
np.percentile(x, [25, 75], method="lower"), np.quantile(x, .5, method="nearest")
np.sort(x), np.cumsum(x), x.cumsum(), np.add.accumulate(x), np.sort(x)[::-1]
np.argmax(x), np.argmin(x), x.argmax(), x.argmin()
np.any(x > 1), np.all(x > -9), (x > 0).any(), (x > 0).all(), np.logical_or.reduce(x > 0)
(x > 0).sum(), np.count_nonzero(x > 0), np.count_nonzero(x), (x > 0).mean(), sum(x > 0)
np.average(x, weights=[1, 2, 3, 4, 5, 6]), np.average(x, weights=abs(x))
np.sum(x, where=x > 0), np.max(x, where=x > 0, initial=0.), np.sum(x, initial=3)
np.sum(x, keepdims=True), np.mean(x, keepdims=True), x.max(keepdims=True)
np.trapezoid(x), np.trapezoid(x, np.arange(6)), np.trapezoid(x, dx=.5)
np.diff(x), np.diff(x, n=2), np.diff(x > 0), np.ediff1d(x)
np.histogram(x, bins=4, range=(-1, 1)), np.histogram(x, bins=[-1, 0, 1])
np.histogram(x, [-1., 0., .5, 1.], weights=np.arange(6.)), np.histogram(x, bins=(-2, 2))
np.histogram2d(x, x ** 2, bins=[[-1, 0, 1], [0., 1., 2.]])
np.histogramdd(X, bins=[[-1, 0, 1.]] * 3)
np.histogram2d(x, x ** 2, bins=[2, 3], range=[(-1, 1), (0, 2)])
np.digitize(x, [-1, 0, 1.]), np.digitize(x, [0., 1.], right=True)
np.searchsorted([-1., 0, 1], x), np.searchsorted([0., 1.], x, side="right")
np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, 2), np.linalg.norm(x, np.inf)
np.linalg.norm(x, 0), np.linalg.norm(x, -np.inf), np.linalg.vector_norm(x)
np.sqrt(np.sum(x ** 2)), np.sqrt(x @ x), np.sqrt(np.dot(x, x)), np.sqrt((x * x).sum())
np.dot(x, np.arange(6)), np.arange(6) @ x, np.vdot(x, x), np.inner(x, x), np.outer(x, x)
np.convolve(x, [1, 2, 3.]), np.convolve(x, [1, 2, 3.], "same"), np.convolve([1, 2.], x, "valid")
np.corrcoef(x, x ** 2), np.cov(x), np.cov(x, x ** 2), np.cov(x, bias=True)
x * min(1.0, 2.0) / np.maximum(1, np.linalg.norm(x) / 3), np.sum([x[0], x[1]]), np.mean([x, x])
"""
AXES = """
X.sum(0), X.sum(axis=1), X.sum(axis=(0, 1)), X.sum(-1, keepdims=True), np.add.reduce(X)
X.mean(0), X.mean(axis=1, keepdims=True), X.std(axis=0), X.var(1, ddof=1)
np.median(X, axis=1), np.quantile(X, [.1, .5], axis=0), np.quantile(X, .2, axis=1, keepdims=True)
np.sort(X), np.sort(X, axis=0), np.sort(X, axis=None), X.argmax(1), X.argmax(), np.argmin(X, axis=0)
np.cumsum(X), np.cumsum(X, 0), np.cumsum(X, axis=1), np.diff(X, axis=0), np.diff(X)
np.ptp(X, 0), X.min(1, keepdims=True), X.max(axis=(0, 1)), np.any(X > 1, axis=0), (X > 0).sum(1)
np.average(X, axis=0, weights=np.arange(1., 6)), np.average(X, axis=1), np.prod(X, axis=1)
np.linalg.norm(X), np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=0, keepdims=True)
np.linalg.norm(X, "fro"), np.linalg.norm(X, 1, axis=1), np.linalg.norm(X, np.inf, 1)
X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
X * np.minimum(1, 2 / np.linalg.norm(X, axis=1))[:, None]
X.T @ X, np.dot(X.T, X), np.matmul(X.T, X), X @ X.T, X @ np.arange(3.), np.arange(5.) @ X
np.einsum("ij,ik->jk", X, X), np.einsum("ij,j->i", X, np.arange(3.)), np.einsum("ij->j", X)
np.einsum("ij,ij->i", X, X), np.einsum("ij,ij", X, X), np.einsum("ij->ji", X)
np.einsum("i,j,ij->", X[:, 0], X[0], X), np.tensordot(X, X, axes=([0], [0]))
np.tensordot(X, X.T, 1), np.tensordot(X, X)
np.cov(X.T), np.cov(X, rowvar=False), np.corrcoef(X.T), np.inner(X, X), np.outer(X[0], X[:, 0])
np.trace(S), S.trace(), np.kron(S, S), np.einsum("ii", S), np.einsum("ii->i", S), np.vdot(S, S)
np.linalg.multi_dot([X, S, S]), S @ S @ S, T @ np.ones((2, 1)), np.matmul(T, T.swapaxes(1, 2))
np.tensordot(T, S, axes=([1], [0])), T.sum(axis=(0, 2)), T.mean(1), np.einsum("abc,bd->acd", T, S)
(X - X.mean(0)) / X.std(0), X - X.mean(axis=1)[:, None], X + np.arange(3), X * X[:, :1]
np.apply_along_axis(lambda row: row.sum() * 2, 1, X), np.apply_along_axis(np.sort, 0, X)
np.apply_along_axis(lambda row: np.outer(row[:2], row[:2]), 0, X)
np.count_nonzero(X > 0, axis=1), np.where(X > 0, X, 0).sum(0), np.clip(X, [0, 1, 2], 3)
"""
PLACES = """
X[:, 1], X[1], X[1:3, ::2], X[[0, 2]], X[[0, 1], [1, 2]], X[None], X[..., 0], X[-1, -1], X[::-1]
X.T[0], X.ravel()[3], X.reshape(3, -1), X.reshape(-1), X.flatten(), X.reshape((3, 5)), X.reshape(15)
X[np.array([True, False, True, False, True])], X[np.eye(5, 3) > 0], X[np.arange(2), 0], X[2:2]
X[:, [2, 0]], X[[1], :], X[np.ix_([0, 1], [2, 0])], X[1, None, :], X[[[0, 1], [2, 3]]], X[..., None]
np.roll(X, 1), np.roll(X, 1, axis=0), np.roll(x, -2), np.flip(X), np.flip(X, 0), np.fliplr(X)
np.tile(x, 2), np.tile(X, (2, 1)), np.repeat(x, 2), np.repeat(X, 2, axis=1), X.repeat([1, 2, 0], 1)
np.delete(X, 1, 0), np.delete(x, [0, 2]), np.take(X, [0, 2], axis=1), X.take(3), x.take([1, 1])
np.rot90(X), np.split(X, [2]), np.array_split(x, 4), np.hsplit(X, 3), np.vsplit(X, 5), np.flipud(X)
np.diag(x), np.diag(X), np.diag(x, 1), np.diag(X, -1), np.diagonal(X), np.tril(X), np.triu(X, 1)
np.moveaxis(T, 0, 1), np.moveaxis(T, [0, 1], [-1, 0]), np.swapaxes(T, 0, 2)
np.transpose(T, (1, 0, 2))
T.transpose(2, 0, 1), T.T, T.swapaxes(0, 1), np.squeeze(X[:, :1]), X[:1].squeeze(0)
np.ravel(T, "F")
np.expand_dims(x, 0), np.expand_dims(X, (0, 3)), np.atleast_2d(x), np.atleast_3d(X)
np.atleast_1d(x[0])
np.stack([x, 2 * x]), np.stack([x, x], axis=1), np.vstack([x, x]), np.hstack([x, x])
np.hstack([X, X])
np.concatenate([x, [1., 2.]]), np.concatenate([X, X], axis=1), np.concatenate([X, X], axis=None)
np.column_stack([x, x, np.ones(6)]), np.dstack([x, x]), np.append(x, 3), np.append(X, X, axis=0)
np.r_[x, 1, x], np.c_[x, x], np.array([x[0], 1, x[1]]), np.asarray([x, x]), np.array([[x[0], 2.]])
np.broadcast_to(x, (2, 6)), np.zeros_like(x), np.ones_like(X), np.full_like(x, 7), np.full(3, x[0])
x.tolist(), x.item(2), X.item(1, 2), list(X), [row.sum() for row in X], x[2:].copy(), np.copy(X)
X.shape, X.ndim, X.size, len(X), np.shape(X), np.size(X, 1), np.ndim(x), X.dtype == float
np.empty_like(x) * 0, np.empty((2, 3)).shape, np.empty(3, dtype=int) * 0
x[0] + x[-1], x[1:] - x[:-1], x[::2] * x[1::2], x[x.argmax()], X[np.argmax(X[:, 0])], x[[True] * 6]
np.broadcast_arrays(x, 1.0), np.reshape(X, (3, 5), order="F"), X.reshape(1, 15, copy=True)
"""
CHOSEN = """
x[x > 0].sum(), (x[x > 0] * 2 + 1).sum(), np.clip(x[x > 0], 0, .5).sum(), np.sum(x[x > 9])
X[X[:, 0] > 0].sum(axis=0), X[X > 0].sum(), X[X[:, 0] > 0].sum(), X[X[:, 0] > 0, 1].sum()
np.linalg.norm(X[X[:, 0] > 0], 1, axis=1).sum(), X[X[:, 0] > 0].sum(1).sum()
X[X[:, 0] > 0][:, 1:].sum(0), np.linalg.norm(X[X[:, 0] > 0], axis=1).sum()
x[x > 0].max(initial=0), np.any(x[x > 0] > 1), np.all(x[x > 0] > .1), np.min(x[x > 0], initial=9)
np.count_nonzero(x[x > 0]), x[x > 0].size, x[x > 0].shape[0], x[x > 0][x[x > 0] < 1].sum()
np.histogram(x[x > 0], bins=[0, .5, 1., 2.])[0], np.bincount(k[k > 1], minlength=4)
np.bincount(k, minlength=5), np.bincount(k, weights=k * 2., minlength=5), np.isin(k, [1, 2])
np.isin(k, 3, invert=True), (k == np.arange(4)[:, None]).sum(axis=1), np.sum(k == 2)
np.arange(6.)[np.argmax(x)], np.eye(6)[x.argmax()] @ x, np.linspace(0, 1, 6)[np.argmin(x)]
b & (x > 0), ~b, b | True, b.sum(), b + b, b * b, x[b].sum(), b.astype(int).sum(), b.mean()
np.minimum.reduce(X, axis=1), (x[x > 0] - x.mean()).sum(), abs(x[x < 0]).sum(), (x[x > 0] > 1).sum()
"""
EVERY = [
    line for text in (ENTRIES, SUMS, AXES, PLACES, CHOSEN) for line in text.strip().split("\n")
]
UNCOUNTED = """
x.sum()
x.mean() + x.var() + np.std(x, ddof=1)
np.clip(x, 0, 1).sum() / x.shape[0]
X.sum(axis=0) / X.shape[0]
X.mean(0)
X.T @ X
np.dot(x, x)
(X - X.mean(0)).T @ X
np.linalg.norm(X, axis=1)
(X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))).sum(axis=0)
(X * np.minimum(1, 1 / np.linalg.norm(X, axis=1))[:, None]).sum(0)
X[:, 0] * X[:, 1]
X[:, [0, 2]].sum(1)
np.column_stack([X, X[:, :1]]).sum(0)
np.histogram(x, bins=4, range=(-1, 1))[0]
np.histogram(x, bins=[0., 1.], weights=abs(x))[0]
np.bincount(k, minlength=4)
np.bincount(k, weights=k * .5, minlength=4)
x[x > 0].sum()
(x > 0).sum()
np.count_nonzero(x > 0)
X[X[:, 0] > 0].sum(axis=0)
np.median(x)
np.quantile(x, [.25, .75])
np.where(x > 0, x, 0).max(initial=0)
np.any(x > 1)
np.all(x > 1)
(x[:, None] >= np.arange(3)).sum(axis=0)
np.cov(X, rowvar=False)
np.sort(x)
x.reshape(-1, 1).T @ x
np.einsum("ij,ik->jk", X, X)
X.reshape(X.shape[0], -1).sum(0)
np.zeros_like(x).sum() + np.ones_like(X).sum()
np.linalg.norm(x)
X.size + X.shape[0] + np.size(X, 0)
X[::1][:, ::-1].sum(0)
np.isin(k, [1, 2]).sum()
np.eye(4)[k].sum(axis=0)
np.histogram2d(X[:, 0], X[:, 1], bins=[[-1, 0, 1.]] * 2)[0]
x[:, None].sum(0)
np.squeeze(x[:, None]).sum()
"""
REFUSED = """
x.argsort()
np.unique(x)
np.nonzero(x > 0)
np.where(x > 0)
np.histogram(x)
np.histogram(x, bins="auto")
np.histogram(x, bins=4)
np.bincount(k)
np.linalg.svd(X)
np.argsort(x)
np.fft.fft(x)
np.array2string(x)
np.interp(x, [0, 1], [0, 1])
x[x > 0].mean()
x[x > 0].max()
x[x > 0][0]
len(x[x > 0])
list(x[x > 0])
np.sort(x[x > 0])
x[x > 0] + x[x < 0]
x[x > 0] * np.arange(2)
x if x[0] > 0 else -x
range(k[0])
np.zeros(k[0])
float(x[0])
int(x[0])
f"{x[0]}"
x[:k[0]]
x[int(x[0])]
{x[0]: 1}
x[0] in [1, 2]
x[0] in x
max(x)
np.asarray(x[0]).view(int)
np.float64(x[0])
x.tobytes()
x.dtype.type(x[0])
np.bitwise_and(k, 1)
k << 1
x.choose([1, 2])
np.partition(x, 2)
np.save("x", x)
np.median(x, overwrite_input=True)
np.arcsin(x)
np.add(x, 1, where=x > 0)
[1, 2] * k[0]
(1,) * k.sum()
np.linalg.norm(X[X[:, 0] > 0], 1)
np.clip(x[x > 0], 0, 1, out=x[x > 0])
x[[x.argmax(), 0]]
x[np.argmax(x):]
"""
OF_RECORDS = """
x[0]
x[:3]
x[-1]
[v for v in x]
x + np.arange(6)
x[1:] - x[:-1]
X + np.arange(5)[:, None]
np.stack([x, np.arange(6.)])
np.concatenate([x, [1.]])
x.reshape(2, 3)
X.ravel()
X @ X.T
np.subtract.outer(x, x)
np.roll(x, 1)
np.flip(x)
np.repeat(x, 2)
np.tile(x, 2)
np.diff(x)
x @ np.arange(6.)
X.T @ np.arange(5.)
np.zeros(len(x))
np.zeros(x.shape)
range(x.shape[0])
x[[0, 1]]
x[np.arange(6) % 2 == 0]
np.sort(x)[0]
np.broadcast_to(3., x.shape)
np.split(x, 2)
x if len(x) > 3 else 0
x.tolist()
zip(x, x)
np.linalg.inv(X)
"""


def made(text):
    """Return the function of the arrays that an expression names."""
    names = [name for name in GIVEN if name in set(text.replace("_", "").translate(_SPLIT).split())]
    code = f"lambda {', '.join(names)}: ({text})"
    return eval(code, {"np": np, "special": special, "__name__": "shown"}), [
        GIVEN[name] for name in names
    ]


_SPLIT = str.maketrans(dict.fromkeys("()[]{},.:+-*/=<>!@&|^~% \"'", " "))


@pytest.mark.parametrize("text", EVERY)
def test_program_gives_what_the_expressions_give(text):
    function, arrays = made(text)
    assert_same(function, *arrays)


@pytest.mark.parametrize("text", UNCOUNTED.strip().split("\n"))
def test_number_of_records_is_not_asked_for(text):
    function, arrays = made(text)
    assert_same(function, *arrays, uncounted=True)


@pytest.mark.parametrize("text", REFUSED.strip().split("\n"))
def test_what_no_program_says_is_refused_at_its_line(text):
    function, arrays = made(text)
    assert_refused(function, arrays, uncounted=False)


@pytest.mark.parametrize("text", OF_RECORDS.strip().split("\n"))
def test_what_tells_the_number_of_records_is_refused(text):
    function, arrays = made(text)
    assert_refused(function, arrays, uncounted=True)


def assert_refused(function, arrays, *, uncounted):
    with pytest.raises(NotProved) as caught:
        trace(function, *arrays, uncounted=uncounted)
    assert caught.value.refusal.place.startswith("<string>:1 in ")


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("np.unique(k)", "minlength="),
        ("np.argsort(x)", "noise first"),
        ("np.nonzero(x > 0)", "numpy.where"),
        ("np.linalg.inv(S)", "compute after"),
        ("np.histogram(x)", "range="),
        ("np.bincount(k)", "minlength="),
        ("x[x > 0].mean()", "noisy number"),
        ("x[x > 0].max()", "initial="),
        ("x if x[0] > 0 else 0", "numpy.where"),
        ("np.zeros(k[0])", "public length"),
    ],
)
def test_a_refusal_says_what_helps(text, cure):
    function, arrays = made(text)
    with pytest.raises(NotProved) as caught:
        trace(function, *arrays)
    assert cure in caught.value.refusal.cure
