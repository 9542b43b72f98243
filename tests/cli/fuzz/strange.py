"""Changes that make text, bytes and command lines strange."""

import re

WORDS = (
    "0", "-1", "1", "0.5", "-0.0", "1e308", "1e-320", "1e999", "nan", "NaN", "Infinity", "-inf",
    "9" * 400, "9" * 5000, str(2**63), str(-(2**70)), "100000000000000000000",
    '""', '"x"', '"nan"',
    '"\\ud800"', '"\\u0000"', '"\u202e\u00e9"', '"\\\\"', "null", "true", "false", "[]", "{}",
    "[[]]",
    "[1, [2]]",
    '{"a": 1}', "{a = 1}", '[""]', "[nan]", "0x10", "1_000", "2026-01-01", '"""', "'", "#", "\x00",
    "\ufeff", "\u2028", "\x1b[31m", "\U0001f600", "a" * 300, "[" * 3000, "[" * 60 + "]" * 60,
    "{" * 3000, "None", "1+2j", "%s", "{0}", "$(id)",
)  # fmt: skip
OPTIONS = (
    "--epsilon", "--delta", "--data", "--data-path", "--data-option", "--trials", "--confidence",
    "--seed", "--workers", "--out", "--estimator", "--distinguisher", "--until-refuted", "--pairs",
    "--watch", "--set", "--unit", "--in-process", "--timeout", "--memory", "--json", "--quiet",
    "--show-records", "--help", "--group", "--reproduce", "--bogus", "-h", "--", "-", "",
)  # fmt: skip
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s+|.', re.DOTALL)


def changed_text(rng, text):
    """Return a text with one token replaced, left out, doubled, or two exchanged."""
    tokens = TOKEN.findall(text)
    telling = [place for place, one in enumerate(tokens) if not one.isspace()] or [0]
    place, other, how = rng.choice(telling), rng.choice(telling), rng.randrange(6)
    if not tokens:
        return rng.choice(WORDS)
    if how <= 2:
        tokens[place] = rng.choice(WORDS)
    elif how == 3:
        tokens[place] = ""
    elif how == 4:
        tokens[place], tokens[other] = tokens[other], tokens[place]
    else:
        return _with_a_line_twice(rng, text)
    return "".join(tokens)


def _with_a_line_twice(rng, text):
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return "".join(lines)


def changed_bytes(rng, data):
    """Return bytes that are cut, in another encoding, or hold what no text does."""
    place = rng.randrange(len(data) + 1)
    foreign = rng.choice((b"\xff", b"\x00", b"\xed\xa0\x80", b"\r", b"\xc3", b"\x1a", b"\xf0\x9f"))
    text = data.decode("utf-8", "replace")
    return rng.choice((
        data[:place],
        data[place:],
        data[:place] + foreign + data[place:],
        data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :],
        text.encode("utf-16"),
        text.encode("utf-8-sig"),
        text.encode("latin-1", "replace"),
        data.replace(b"\n", b"\r\n"),
        data * 2,
        b"",
    ))  # fmt: skip


def changed_file(rng, text):
    """Return the bytes of a file after one change or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        text = changed_text(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    return changed_bytes(rng, data) if rng.random() < 0.25 else data


def changed_line(rng, arguments):
    """Return a command line after one change or a few."""
    words = list(arguments)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, how = rng.randrange(1, len(words) + 1), rng.randrange(6)
        if how == 0:
            words.insert(place, rng.choice(OPTIONS))
        elif how == 1:
            words[place:place] = [rng.choice(OPTIONS), _word(rng)]
        elif how == 2 and place < len(words):
            words[place] = _word(rng)
        elif how == 3 and len(words) > 2:
            del words[place - 1]
        elif how == 4:
            words.insert(place, rng.choice(words))
        else:
            words[place - 1] = changed_text(rng, words[place - 1])
    return words


def _word(rng):
    key = rng.choice(("", "", "", "nodes=", "noise_scale=", "count=", "claim=", "x="))
    return key + rng.choice((*WORDS, "\udcff", "audit.toml", "huang2020-theorem6", "out", "."))
