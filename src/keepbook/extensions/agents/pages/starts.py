"""What the form of a new agent offers: templates that fill it, and a picker of schedules.

A template says whether it needs a model or a rule computes its card, and the form shows that before anything is saved.
The picker has the usual schedules; any other is written as cron.
"""

from dataclasses import dataclass

from keepbook.patterns import regex


@dataclass(frozen=True, slots=True)
class Template:
    """What the form is filled with, and how the template is described: by `words`, and by `card` (what it ends in)."""

    key: str
    name: str
    words: str
    instructions: str
    prompt: str
    card_type: str
    card: str
    needs_model: bool = True
    when: str = "hand"
    """A key of `WHEN`."""
    at: str = "07:00"
    review: bool = False

    @property
    def runs(self) -> str:
        """When it runs, unless that is changed in the form."""
        return f"{WHEN[self.when]} at {self.at}"


TEMPLATES = (
    Template(
        "planner", "Weekly planner", "What matters this week, from what the book knows about you.",
        "Once a week you go through what is known about the person: dates, projects, promises. Say what this week asks "
        "for, in ten lines at most, the nearest date first. Invent nothing.",
        "What does this week ask for?", "note", "a note", when="1",
    ),
    Template(
        "reading", "Reading list", "Keeps what you want to read and what you noted about it.",
        "You keep the person's reading list. Name what they wanted to read and what they noted about it, newest first, "
        "and one thing they may have forgotten. Invent no title.",
        "What is on my reading list, and what did I note?", "note", "a note", when="0", at="18:00",
    ),
    Template(
        "research", "Research with forecasts", "One question at a time, answered with a probability.",
        "You research one question of the person's at a time and end with a forecast: a question that time answers, "
        "a probability, and by when. Look at your own earlier forecasts before you make a new one.",
        "Which forecast can you make today?", "forecast", "a forecast", when="weekdays", review=True,
    ),
    Template(
        "desk", "Trading desk", "One idea a day, or the reason to wait. Advice only; it places no order.",
        "You look at one market a day and answer with a trade, or with the reason to wait. Say what proves you wrong. "
        "You watch: BTC/USDT.",
        "Look at BTC/USDT.", "trade-decision", "a decision card", when="weekdays", review=True,
    ),
    Template(
        "drift", "Desk by rule", "A paper trade a day by one stated rule, where prices are loaded. No model is asked.",
        "Trades on paper by the rule of its card, to have something to hold other agents against. Watches BTC/USDT.",
        "Look at the market whose turn it is.", "drift-trade", "a card that a rule computes",
        needs_model=False, when="weekdays",
    ),
)  # fmt: skip
BY_KEY = {one.key: one for one in TEMPLATES}

HAND, CRON = "hand", "cron"
DAYS = {
    "1": "Every Monday", "2": "Every Tuesday", "3": "Every Wednesday", "4": "Every Thursday", "5": "Every Friday",
    "6": "Every Saturday", "0": "Every Sunday",
}  # fmt: skip
WHEN = {HAND: "Only by hand", "daily": "Every day", "weekdays": "Monday to Friday", **DAYS, CRON: "As written below"}
"""What the picker offers, by the value that the form sends: never an empty one, which a form leaves out."""
_WEEKDAY_FIELDS = {"daily": "*", "weekdays": "1-5", **{day: day for day in DAYS}}
"""The fifth field of a cron schedule, by the choice in the picker."""
_SIMPLE = regex(r"(?P<minute>[0-5]?\d) (?P<hour>[01]?\d|2[0-3]) \* \* (?P<weekday>\*|1-5|[0-6])")
"""A cron schedule that the picker can show: one time a day, every day or on some weekdays."""


def to_cron(when: str, at: str, written: str) -> str:
    """The cron schedule for a choice in the picker and a time; empty for none, and `written` for any other choice."""
    if when == HAND:
        return ""
    hour, _, minute = at.partition(":")
    if when in _WEEKDAY_FIELDS and hour.isdecimal() and minute[:2].isdecimal():
        return f"{int(minute)} {int(hour)} * * {_WEEKDAY_FIELDS[when]}"
    return written


def to_words(schedule: str) -> tuple[str, str]:
    """The choice in the picker and the time that show a cron schedule."""
    if not schedule.strip():
        return HAND, "07:00"
    found = _SIMPLE.fullmatch(" ".join(schedule.split()))
    if found is None:
        return CRON, "07:00"
    when = next(when for when, field in _WEEKDAY_FIELDS.items() if field == found["weekday"])
    return when, f"{int(found['hour']):02}:{int(found['minute']):02}"
