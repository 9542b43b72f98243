"""Values that are worth a try, worked out by hand: days, numbers, categories and texts."""

from __future__ import annotations

import datetime
import math
from datetime import date

import pytest

from dpaudit.domains import Booleans, Categories, Dates, Integers, Numbers, Texts, special, texts
from dpaudit.domains.columns import ValueSet

END, DAY = date.max, datetime.timedelta(days=1)
EIGHT = [n / 16 for n in range(1, 16, 2)]


# --- days -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ([date(2020, 2, 29)], [date(2020, 2, 29), date(2020, 2, 28), date(2020, 3, 1)]),
        (["2020-02-29"], [date(2020, 2, 29), date(2020, 2, 28), date(2020, 3, 1)]),
        ([datetime.datetime(2020, 2, 29, 12)], [date(2020, 2, 29), date(2020, 2, 28)]),
        (["9999-12-31"], [END, END - DAY]),
        (["0001-01-01"], [date.min, date.min + DAY]),
        (["soon", None, 2.5, "2020-02-30"], []),
    ],
)
def test_days_of_code_come_with_those_beside_them_that_there_are(constants, expected):
    first, last = date(2019, 1, 1), date(2019, 1, 1)
    found = list(special._of_dates(first, last, constants))
    assert found[2 : 2 + len(expected)] == expected
    assert found[2 + len(expected) :].count(first) >= 1


def test_the_last_day_of_all_in_three_numbers_of_code_is_a_day_like_others():
    found = special.special_values(Dates(first=date(9999, 1, 1), last=END), [9999, 12, 31])
    assert {END, END - DAY, date(9999, 12, 12)} <= set(found)


def test_days_are_both_ends_a_week_from_the_middle_and_two_of_every_month():
    first, last = date(2020, 1, 1), date(2021, 12, 31)
    found = list(special._of_dates(first, last, []))
    assert found[:2] == [first, last]
    assert found[2:9] == [date(2020, 12, 31) + n * DAY for n in range(7)]
    assert len(found) == 2 + 7 + 24
    last_days = [date(2020, 2, 29), date(2020, 5, 31), date(2020, 8, 31), date(2020, 11, 30)]
    starts = [(n, date(2020, n, 1)) for n in range(1, 13)]
    assert found[9::2] == [last_days[n // 3 - 1] if n % 3 == 0 else day for n, day in starts]
    assert found[10::2] == [day + 14 * DAY for _, day in starts]


def test_no_week_goes_beyond_the_last_day_of_all():
    column = Dates(first=END - 2 * DAY, last=END)
    assert special.special_values(column) == [END - 2 * DAY, END, END - DAY]


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ([2020, 2, 29], [date(2020, 2, 2), date(2020, 2, 29)]),
        ([1000, 1], [date(1000, 1, 1)]),
        ([999, 1], []),
        ([10_000, 1], []),
        ([2021, 2, 30], [date(2021, 2, 2)]),
        ([2020, 2.0, True], []),
        ([*range(100, 112), 2020, 1], []),
        ([*range(100, 110), 2020, 1], [date(2020, 1, 1)]),
    ],
)
def test_three_whole_numbers_say_a_day_of_four_digits(constants, expected):
    assert list(special._days_of_numbers(constants)) == expected


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ([3], [3, -3]),
        ([0], [0]),
        ([True, None, "word"], []),
        (["2.5", "1e3"], [2.5, -2.5, 1000.0, -1000.0]),
        (["0" * 23 + "7"], [7.0, -7.0]),
        (["0" * 24 + "7"], []),
        ([math.inf, -math.inf, math.nan, "nan", "inf"], []),
        ([10**308, 10**309, -(10**400)], [10**308, -(10**308)]),
    ],
)
def test_numbers_of_code_are_finite_and_have_either_sign(constants, expected):
    assert list(special._get_constant_numbers(constants)) == expected


@pytest.mark.parametrize("column", [Numbers(low=0, high=1), Integers(low=0, high=9), Dates()])
def test_an_integer_beyond_all_doubles_is_no_value_of_a_column(column):
    assert special.special_values(column, [10**400]) == special.special_values(column)


def test_both_neighbours_of_a_number_of_code_come_with_it():
    found = list(special._of_numbers(-1.0, 1.5, [0.5, 0]))
    down, up = math.nextafter(0.5, 0), math.nextafter(0.5, 1)
    assert found[:8] == [-1.0, 1.5, 0.5, down, up, -0.5, -up, -down]
    assert found[8:12] == [0.25, 0.0, 1.0, -1.0]
    assert found[12:] == [-1.0 + 2.5 * share for share in EIGHT]
    assert list(special._of_numbers(0.0, 2.0, []))[2:4] == [1.0, 0.0]
    assert len(list(special._of_numbers(0.0, 2.0, []))) == 4 + 8


def test_integers_of_code_come_with_the_two_beside_them():
    found = list(special._of_integers(-10, 30, [2.5]))
    assert found[:2] == [-10, 30]
    assert found[2:8] == [2, 1, 3, -3, -4, -2]
    assert found[8:12] == [10, 0, -9, 29]
    assert found[12:] == [-8, -3, 2, 7, 12, 17, 22, 27]


# --- categories and values of any kind ------------------------------------------------------------


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        (["b"], ["b"]),
        (["zz"], []),
        (["in"], ["pine", "mint"]),  # two at most, in their order
        ([12], ["no 12"]),
        ([1], []),  # one digit is no word
        (["n"], []),
        (["^w.ne$"], ["wine"]),
        (["b", "mint"], ["b", "mint", "mint"]),
    ],
)
def test_categories_of_code_come_first_then_such_as_hold_a_word_of_it(constants, expected):
    values = ("b", "pine", "mint", "wine", "no 12")
    assert list(special._find_special_categories(values, constants)) == expected


def test_words_are_texts_and_whole_numbers_of_two_signs_or_more_and_not_many():
    assert list(special._get_category_words(["ab", "a", 12, 3, 1.25, None, True])) == ["ab", "12"]
    assert list(special._get_category_words(range(10, 40))) == [str(n) for n in range(10, 22)]


def test_of_values_that_records_hold_the_ends_come_first_then_constants_of_their_kind():
    column = ValueSet(values=("a", "b", "c", "other"), has_other=True)
    assert special.special_values(column, ["x", 3]) == ["a", "other", "x", "b", "c"]
    assert special.special_values(ValueSet(values=()), ["x"]) == []
    many = ValueSet(values=tuple(range(20)))
    assert special.special_values(many) == [0, 19, *range(1, 12)]


def test_equal_values_of_two_types_are_two_and_what_has_no_hash_is_told_apart():
    assert special.special_values(ValueSet(values=(1, True, 1.0, 1))) == [1, True, 1.0]
    lists = ValueSet(values=([1], [2], [1], (1, [2]), (1, [2])))
    assert special.special_values(lists) == [[1], (1, [2]), [2]]


@pytest.mark.parametrize(
    ("column", "first"),
    [
        (Numbers(low=2, high=3), 2.0),
        (Integers(low=3, high=9), 3),
        (Categories(values=("b", "a")), "b"),
        (ValueSet(values=("d", "c")), "d"),
        (Texts(), ""),
        (Dates(), date(2000, 1, 1)),
        (Booleans(), False),
    ],
)
def test_the_first_value_is_the_low_end(column, first):
    assert special.first_value(column) == first


@pytest.mark.parametrize("kind", [Integers, Categories, Texts, Dates, Booleans, ValueSet])
def test_what_is_missing_comes_last_and_only_where_it_may(kind):
    given = {"values": ("a", "b")} if kind in (Categories, ValueSet) else {}
    assert special.special_values(kind(missing=True, **given))[-1] is None
    assert None not in special.special_values(kind(**given))


# --- texts ----------------------------------------------------------------------------------------


def test_words_come_as_they_are_in_other_cases_and_inside_of_longer_ones():
    assert list(texts._of_words(["aB c", ""], "z")) == [
        "aB c", "", "AB C", "", "ab c", "", "Ab C", "", "aB cz", "zaB c", "z aB c z",
    ]  # fmt: skip
    many = [f"w{n}" for n in range(20)]
    found = list(texts._of_words(many, "z"))
    assert len(found) == 20 + 3 * 12 + 3 * 12
    assert (found[:20], found[20], found[31]) == (many, "W0", "W11")


@pytest.mark.parametrize(
    ("alphabet", "kinds"),
    [
        ("abAB01 _", ["a", "A", "0", " ", "_"]),
        ("a\N{LATIN SMALL LETTER E WITH ACUTE}", ["a", "\N{LATIN SMALL LETTER E WITH ACUTE}"]),
        (
            "\N{GREEK SMALL LETTER ALPHA}\N{LATIN SMALL LETTER SHARP S}",
            ["\N{GREEK SMALL LETTER ALPHA}", "\N{LATIN SMALL LETTER SHARP S}"],
        ),  # one letter and two, in capitals
        ("a\N{GREEK SMALL LETTER ALPHA}b", ["a", "\N{GREEK SMALL LETTER ALPHA}"]),
        ("zz", ["z"]),
    ],
)
def test_one_character_stands_for_each_kind(alphabet, kinds):
    assert texts._find_character_kinds(alphabet) == kinds


def test_kinds_stand_alone_twice_and_beside_one_another():
    assert list(texts._of_kinds(Texts(alphabet="bcA0"))) == [
        "b", "A", "0", "bb", "AA", "00", "bA", "Ab", "b0", "0b", "A0", "0A",
    ]  # fmt: skip


def test_lengths_are_ends_numbers_of_code_and_those_beside_them():
    found = list(texts.special_texts(Texts(longest=6, alphabet="xy"), [4]))
    assert found[:5] == ["", "x", "y", "x" * 6, "y" * 6]
    lengths = [len(one) for one in found[-14::2]]
    assert lengths == [1, 2, 6, 5, 4, 3, 5]
    assert found[-2:] == ["x" * 5, "y" * 5]
    assert list(texts.special_texts(Texts(longest=0), [3])) == ["", "", "", "", ""]


def test_texts_of_other_characters_or_longer_ones_are_left_out():
    found = list(texts.special_texts(Texts(longest=2, alphabet="ab"), ["ab", "aba", "ac"]))
    assert "ab" in found
    assert all(len(one) <= 2 and set(one) <= {"a", "b"} for one in found)


def test_patterns_are_a_few_of_the_texts_that_read_as_one():
    found = texts.find_patterns(["a.c", "^a", "(", 3, "b+", "[c]", "d|e", "f*"])
    assert [one.pattern for one in found] == ["^a", "b+", "[c]", "d|e"]


def test_texts_that_a_pattern_matches_are_of_the_alphabet_and_no_longer_than_may_be():
    found = list(texts._of_patterns([r"\Ab+\Z", "plain"], Texts(longest=3, alphabet="ab")))
    assert found
    assert set(found) <= {"b", "bb", "bbb"}
    assert len(set(found)) == len(found) <= 4
    assert list(texts._of_patterns([r"\Ac+\Z"], Texts(longest=3, alphabet="ab"))) == []
    assert list(texts._of_patterns([r"\Aa{5}\Z"], Texts(longest=3, alphabet="ab"))) == []
