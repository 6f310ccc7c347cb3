"""The names of categories that people read at every door: "About you" and not "Profile".

Categories and the titles of a block are words for programs and models, in prompts, files and arguments. People read the
name of the group. If a preset's titles are more than its categories with a capital, people read these titles.
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
"""The names of the shipped categories. For categories of other presets, their title is shown."""
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
    """The name of the group for each title of a block."""
    return {title: group_name(category, preset) for category, title in preset.titles.items()}
