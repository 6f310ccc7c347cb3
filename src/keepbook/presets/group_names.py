"""What people read where a category is meant, at every door: "About you", not "Profile".

Categories and the titles of a block are words for programs and models: they are in prompts, files and arguments. People
read a group's name. A preset whose titles say more than its categories' own words is read as it says.
"""

from keepbook.presets import Preset

_NAMES = {
    "profile": "About you",
    "preference": "What you like",
    "person": "People",
    "project": "Projects",
    "context": "These days",
    "fact": "Good to know",
    "finance_context": "Money",
    "response_style": "How to answer",
}
"""Of the categories that are shipped; in a preset of one's own a title says it."""
NO_GROUP = "Everything else"


def group_name(category: str | None, preset: Preset) -> str:
    if not category:
        return NO_GROUP
    spelled = category.replace("_", " ").capitalize()
    title = preset.titles.get(category) or spelled
    if title == spelled:
        return _NAMES.get(category, title)
    return title


def names_of_titles(preset: Preset) -> dict[str, str]:
    """The group that is meant by each title of a block."""
    return {title: group_name(category, preset) for category, title in preset.titles.items()}
