"""One name for a group, at every door where people read."""

from pathlib import Path

from keepbook.presets import load_preset
from keepbook.presets.group_names import NO_GROUP, group_name, names_of_titles


def test_a_shipped_category_is_read_as_people_say_it_in_every_preset() -> None:
    for name in ("advisor", "assistant", "coach", "general"):
        preset = load_preset(name)
        assert group_name("profile", preset) == "About you"
        assert group_name("finance_context", preset) == "Money"
        assert group_name(None, preset) == group_name("", preset) == NO_GROUP


def test_the_titles_of_a_block_are_read_as_groups() -> None:
    assert names_of_titles(load_preset("advisor"))["Finance context"] == "Money"


def test_a_preset_of_ones_own_is_read_as_its_titles_say(tmp_path: Path) -> None:
    shipped = Path(load_preset.__code__.co_filename).with_name("advisor.toml").read_text(encoding="utf-8")
    own = shipped.replace('name = "advisor"', 'name = "own"', 1).replace('fact = "Fact"', 'fact = "Odds and ends"')
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    assert group_name("fact", load_preset("own", (tmp_path,))) == "Odds and ends"
    assert group_name("garden_beds", load_preset("own", (tmp_path,))) == "Garden beds"
