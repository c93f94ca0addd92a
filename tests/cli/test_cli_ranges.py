import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from mingru.cli.ranges import expand, refuse_bad_values
from mingru.cli.refusal import Refusal

ITEMS = st.tuples(st.integers(0, 60), st.integers(0, 6), st.booleans())


def values(override: str) -> list[int]:
    """What Hydra makes of an override."""
    parsed = OverridesParser.create().parse_override(override)
    return list(parsed.sweep_iterator()) if parsed.is_sweep_override() else [parsed.value()]


def naive(text: str) -> list[int]:
    """An independent reading of the range grammar, by counting up."""
    numbers = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        number = int(first)
        numbers.append(number)
        while last and number < int(last):
            number += 1
            numbers.append(number)
    return numbers


def spell(items: list[tuple[int, int, bool]]) -> str:
    return ",".join(f"{first}-{first + more}" if more or hyphen else str(first) for first, more, hyphen in items)


@given(st.lists(ITEMS, min_size=1, max_size=6))
def test_an_expansion_has_the_values_that_counting_up_gives_unless_one_comes_twice(items):
    text = spell(items)
    wanted = naive(text)
    if len(set(wanted)) < len(wanted):
        with pytest.raises(Refusal, match="twice"):
            expand(f"seed={text}")
    else:
        assert values(expand(f"seed={text}")) == wanted


@given(st.lists(ITEMS, min_size=1, max_size=6))
def test_expanding_again_changes_nothing(items):
    try:
        once = expand(f"length={spell(items)}")
    except Refusal:
        return
    assert expand(once) == once


@given(st.text(alphabet="0123456789-,x .", max_size=8))
def test_any_text_either_expands_to_distinct_whole_numbers_or_is_refused_by_name(text):
    try:
        expanded = expand(f"seed={text}")
    except Refusal as refusal:
        message = str(refusal)
    else:
        numbers = values(expanded)
        message = f"seed={text}: " if len(set(numbers)) == len(numbers) >= 1 else "values named twice came through"
    assert message.startswith(f"seed={text}: ")


@pytest.mark.parametrize(
    ("typed", "for_hydra"),
    [
        ("seed=0-35", "seed=range(0,36)"),
        ("seed=0-3,7,10-12", "seed=0,1,2,3,7,10,11,12"),
        ("length=32-33", "length=range(32,34)"),
        ("length=32-33,64", "length=32,33,64"),
        ("seed=range(0,36)", "seed=range(0,36)"),
        ("seed=1,5,9", "seed=1,5,9"),
        ("seed=4", "seed=4"),
        ("seed=3-3", "seed=3"),
        ("++seed=0-3", "seed=range(0,4)"),
        ("hydra.sweeper.params.seed=0-3", "++hydra.sweeper.params.seed='range(0,4)'"),
        ("+hydra.sweeper.params.length='0-3,7'", "++hydra.sweeper.params.length='0,1,2,3,7'"),
    ],
)
def test_the_integer_keys_expand(typed, for_hydra):
    assert expand(typed) == for_hydra


@pytest.mark.parametrize("override", ["task=0-35", "outputs=2-1", "name=-3", "evaluation.select_length=5-2", "mixer.seed=0-3", "~seed"])
def test_the_value_of_any_other_key_stays_as_it_is(override):
    assert expand(override) == override


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("seed=5-2", "runs backwards (did you mean 2-5?)"),
        ("seed=0-", "has no end"),
        ("seed=1-x", "'1-x' is no whole number and no range"),
        ("seed=-3", "-3 is negative"),
        ("seed=1,-3", "-3 is negative"),
        ("seed=1,1", "names 1 twice"),
        ("seed=0-3,2", "names 2 twice"),
        ("seed=0-3,2-5", "names 2 twice"),
        ("length=7,07", "names 7 twice"),
        ("seed=", "no value"),
        ("seed=1,,2", "an empty item"),
        ("seed=1,", "an empty item"),
        ("seed=1.5", "no whole number"),
        ("seed=٣", "no whole number"),
        ("seed=4294967296", "too large"),
        ("seed=0-99999999", "more than 100000 values"),
        ("hydra.sweeper.params.seed=5-2", "runs backwards"),
    ],
)
def test_a_bad_range_is_refused_by_name(override, complaint):
    with pytest.raises(Refusal) as refused:
        expand(override)
    assert str(refused.value).startswith(f"{override}: ")
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    "override",
    [
        "seed=range(5,2)",
        "seed=range(-2,2)",
        "seed=range(0,1,0.5)",
        "seed=range(0,1000000000)",
        "seed=choice(1,2,1)",
        "seed=choice(a,b)",
        "seed=[0,1]",
        "seed='0-3'",
        "seed={a:1}",
        "seed=null",
        "seed=true",
    ],
)
def test_what_hydras_own_grammar_makes_of_a_sweep_key_is_held_to_the_same_rules(override):
    parsed = OverridesParser.create().parse_override(override)
    with pytest.raises(Refusal):
        refuse_bad_values(parsed, override)


@pytest.mark.parametrize("override", ["seed=range(0,6,2)", "seed=shuffle(range(0,3))", "seed=choice(1,2)", "length=${seed}", "seed=7"])
def test_hydras_own_grammar_is_taken_where_it_gives_whole_numbers(override):
    refuse_bad_values(OverridesParser.create().parse_override(override), override)
