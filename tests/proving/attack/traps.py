"""Traps: what a reader of code may take for something else, and what breaks privacy for certain."""

from __future__ import annotations

from collections.abc import Callable

from .writing import Writer


def _alias(writer: Writer) -> None:
    base = writer.array()
    writer.trap("view")
    copy = writer.let("a", f"{base} * 1.0")
    view = writer.let("a", f"{copy}[1:]" if writer.choices.happens(60) else f"{copy}[::-1]")
    writer.lines.append(
        writer.choices.one_of(
            (
                f"{view} += {writer.constant()}",
                f"{view}[:] = {writer.constant()}",
                f"{view} *= {writer.constant()}",
                f"{view}[{view} > {writer.constant()}] = {writer.constant()}",
                f"np.multiply({view}, {writer.constant()}, out={view})",
                f"np.clip({view}, 0, 1, out={view})",
                f"{view}[0] = {copy}[0]",
            )
        )
    )
    writer.arrays[-2:] = [view, copy]


def _in_place(writer: Writer) -> None:
    writer.trap("in place")
    name = writer.let("a", f"np.array({writer.array()}, dtype=float)")
    other, constant = writer.array(), writer.constant()
    writer.lines.append(
        writer.choices.one_of(
            (
                f"{name} += {other}",
                f"np.add({name}, {constant}, out={name})",
                f"np.minimum({name}, {constant}, out={name})",
                f"{name}[{name} < {constant}] = 0",
                f"{name}[0] = {constant}",
                f"{name}[1:] = {name}[:-1]",
                f"{name}[...] = {other}",
                f"np.cumsum({name}, axis=0, out={name})",
                f"{name}.sort(axis=0)",
                f"np.copyto({name}, 0.5, where={name} > {constant})",
                f"np.putmask({name}, {name} > {constant}, 0.0)",
                f"{name}.fill({constant})",
            )
        )
    )


def _written_data(writer: Writer) -> None:
    """Write into what was given: a second call sees it."""
    writer.trap("the dataset is written into")
    writer.lines.append(writer.choices.one_of(("data *= 0.5", "data[0] = 1", "data.sort(axis=0)")))


def _loop(writer: Writer) -> None:
    writer.trap("loop")
    name, base = writer.name("s"), writer.array()
    update = writer.choices.one_of(
        (
            f"{name} += value",
            f"{name} = {name} + value * value",
            f"{name} = max({name}, value)",
            f"{name} += min(max(value, 0.0), 1.0)",
            f"{name} = {name} * 0.5 + value",
        )
    )
    writer.lines += [f"{name} = 0.0", f"for value in {base}:", f"    {update}"]
    writer.numbers.append(name)


def _try(writer: Writer) -> None:
    writer.trap("try", is_false=False)
    name, base = writer.name("s"), writer.array()
    body = writer.choices.one_of(
        (
            f"{name} = {base}.sum() if {base}.sum() > {writer.constant()} else 0.0",
            f"{name} = float({base}[0])",
            f"{name} = 1.0 / int({base}.sum())",
            f"{name} = {base}.sum()",
            f"{name} = float(str({base}.sum()))",
        )
    )
    writer.lines += ["try:", f"    {body}", "except Exception:", f"    {name} = 0.0"]
    writer.numbers.append(name)


def _isinstance(writer: Writer) -> None:
    writer.trap("isinstance")
    base = writer.array()
    condition = writer.choices.one_of(
        (
            f"isinstance({base}, np.ndarray)",
            f"type({base}) is np.ndarray",
            f"hasattr({base}, '__array_interface__')",
            f"type({base}).__module__ == 'numpy'",
            f"{base}.__class__.__name__ == 'ndarray'",
            f"isinstance({base}.sum(), np.floating)",
        )
    )
    writer.let("s", f"{base}.sum() * 100 if {condition} else 0.0")


def _state(writer: Writer) -> None:
    writer.trap("state between calls")
    form = writer.choices.below(4)
    base = writer.array()
    if form == 0:
        writer.before.append("CALLS = [0]")
        writer.lines.append("CALLS[0] += 1")
        writer.let("s", f"{base}.sum() * CALLS[0]")
    elif form == 1:
        writer.before.append("SEEN = []")
        writer.lines.append(f"SEEN.append({base}.sum())")
        writer.let("s", "SEEN[0] + SEEN[-1]")
    elif form == 2:
        writer.before.append("MEMORY = {}")
        writer.let("s", f"MEMORY.setdefault('sum', {base}.sum())")
    else:
        writer.before += ["def grown(value, before=[]):", "    before.append(value)"]
        writer.before += ["    return sum(before)"]
        writer.let("s", f"grown({base}.sum())")


def _noisy_branch(writer: Writer) -> None:
    if not writer.noisy:
        return
    writer.trap("branch on a noisy value")
    noisy, base, name = writer.noisy[-1], writer.array(), writer.name("s")
    writer.lines += [
        f"if np.max({noisy}) > {writer.constant()}:",
        f"    {name} = {base}.sum()",
        "else:",
        f"    {name} = {writer.choices.one_of((f'{base}.max()', '0.0', f'2 * {base}.sum()'))}",
    ]
    writer.numbers.append(name)
    writer.let("r", f"{name} + rng.laplace(scale={writer.scale()})")


def _noisy_scale(writer: Writer) -> None:
    if not writer.noisy:
        return
    writer.trap("a scale from a noisy value")
    noisy, base = writer.noisy[-1], writer.array()
    scale = writer.choices.one_of((f"np.abs(np.max({noisy}))", f"np.abs(np.max({noisy})) + 1.0"))
    writer.let("r", f"{base}.sum() + {scale} * rng.laplace()")


def _noisy_factor(writer: Writer) -> None:
    if not writer.noisy:
        return
    writer.trap("a noisy value in a statistic")
    noisy, base = writer.noisy[-1], writer.array()
    form = writer.choices.one_of(
        (
            "{b}.sum() * np.max({n})",
            "({b} - np.max({n})).sum()",
            "({b} > np.max({n})).sum()",
            "np.clip({b}, 0, np.abs(np.max({n}))).sum()",
            "({b} * np.clip(np.max({n}), -1, 1)).sum()",
        )
    )
    writer.let("s", form.format(b=base, n=noisy))


def _private_branch(writer: Writer) -> None:
    writer.trap("branch on a record")
    base = writer.array()
    writer.let("s", f"1.0 if {base}.sum() > {writer.constant()} else 0.0")


# --- what breaks privacy whatever the data


def _reuse(writer: Writer) -> None:
    writer.trap("noise is used twice", is_false=True)
    noise, base = writer.name("z"), writer.array()
    writer.lines.append(f"{noise} = rng.laplace(scale={writer.scale()})")
    writer.let("r", f"np.sum(data) + {noise}")
    writer.let(
        "r", writer.choices.one_of((f"np.sum(data) * 2 + {noise}", f"{noise}", f"{noise} * 3"))
    )
    assert base


def _bare(writer: Writer) -> None:
    writer.trap("a statistic without noise", is_false=True)
    form = writer.choices.one_of(
        ("np.sum(data)", "data[0]", "np.max(data)", "float(np.mean(data))", "[np.sum(data)]")
    )
    writer.let("r", form)


def _seeded(writer: Writer) -> None:
    writer.trap("noise of a seed in the code", is_false=True)
    form = writer.choices.one_of(
        (
            "np.sum(data) + np.random.default_rng(0).laplace(scale=5.0)",
            "np.sum(data) + np.random.RandomState(3).laplace(scale=5.0)",
            "np.sum(data) + random.Random(1).gauss(0, 5.0)",
        )
    )
    writer.let("r", form)


def _copied(writer: Writer) -> None:
    writer.trap("a copy of the generator", is_false=True)
    writer.lines.append("twin = copy.deepcopy(rng)")
    writer.let("r", "np.sum(data) + rng.laplace(scale=5.0)")
    writer.let("r", "2 * np.sum(data) + twin.laplace(scale=5.0)")


def _no_scale(writer: Writer) -> None:
    writer.trap("noise of scale 0", is_false=True)
    writer.let(
        "r",
        writer.choices.one_of(
            (
                "np.sum(data) + rng.laplace(scale=0.0)",
                "np.sum(data) + 0 * rng.normal()",
                "np.sum(data) + (lambda z: z - z)(rng.laplace())",
                "np.sum(data) + rng.normal(scale=1e-320) * 0.0",
            )
        ),
    )


def _masked_noise(writer: Writer) -> None:
    writer.trap("noise on one entry alone", is_false=True)
    name = writer.name("z")
    writer.lines += [f"{name} = np.zeros(2)", f"{name}[0] = rng.laplace(scale=5.0)"]
    writer.let("r", f"np.array([np.sum(data), np.sum(data)]) + {name}")


def _shared_noise(writer: Writer) -> None:
    writer.trap("one noise for all entries", is_false=True)
    writer.let("r", "np.array([np.sum(data), 0.0]) + rng.laplace(scale=5.0)")


def _written_over(writer: Writer) -> None:
    writer.trap("what had noise is written over", is_false=True)
    name = writer.let(
        "r", "np.array([np.sum(data), np.sum(data)]) + rng.laplace(scale=5.0, size=2)"
    )
    writer.lines.append(f"{name}[0] = np.sum(data)")


def _key(writer: Writer) -> None:
    writer.trap("a record says a key", is_false=True)
    writer.let("r", "{str(np.sum(data)): rng.laplace(scale=5.0)}")


def _length(writer: Writer) -> None:
    writer.trap("a record says how much is drawn", is_false=True)
    writer.let("r", "rng.laplace(scale=5.0, size=int(np.sum(np.abs(data))) + 1)")


def _seen_noise(writer: Writer) -> None:
    writer.trap("noise is looked at", is_false=True)
    name = writer.name("z")
    writer.lines.append(f"{name} = rng.laplace(scale=5.0)")
    writer.let("r", f"np.sum(data) + {name} if {name} > 0 else np.sum(data) * 1.0")


def _raising(writer: Writer) -> None:
    writer.trap("a record decides whether it fails", is_false=True)
    writer.lines += ["if np.max(data) > 0.9:", "    raise ValueError('large')"]


HARMLESS: tuple[Callable[[Writer], None], ...] = (
    _alias,
    _alias,
    _in_place,
    _in_place,
    _written_data,
    _loop,
    _try,
    _isinstance,
    _state,
    _noisy_branch,
    _noisy_scale,
    _noisy_factor,
    _noisy_factor,
    _private_branch,
)
FALSE: tuple[Callable[[Writer], None], ...] = (
    _reuse,
    _bare,
    _seeded,
    _copied,
    _no_scale,
    _masked_noise,
    _shared_noise,
    _written_over,
    _key,
    _length,
    _seen_noise,
    _raising,
)
