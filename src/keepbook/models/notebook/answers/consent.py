"""Turns that are nothing but an answer to what the last reply asked, recognised by closed lists."""

from collections.abc import Sequence

from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import ALL, BOTH, NO, YES, Choice, plain_choices
from keepbook.models.notebook.answers.forms import TurnAnswer
from keepbook.models.notebook.order_steps import ban_steps
from keepbook.models.notebook.values import Scene, TurnStep


def answer_steps(scene: Scene, said: TurnAnswer | None) -> list[TurnStep] | None:
    """The steps that an answer asks for; None if the turn is no answer, or there is nothing to answer."""
    if said is None:
        return None
    if scene.switching_off and said.kind in ("yes", "no"):
        return [TurnStep("answer", 0, len(scene.turn.text), proposal="off", choice=said.kind)]
    if scene.forbidding and said.kind == "yes":
        return ban_steps(scene, 0, len(scene.turn.text), scene.forbidding)
    if scene.forbidding and said.kind == "no":
        return [TurnStep("answer", 0, len(scene.turn.text), proposal="never", choice="no")]
    if not scene.questions:
        return None
    chosen = _chosen(scene, said)
    if chosen:
        return [_step(scene, question, choice) for question, choice in chosen]
    return None


def _step(scene: Scene, question: Proposal, choice: str) -> TurnStep:
    return TurnStep("answer", 0, len(scene.turn.text), proposal=question.id, choice=choice)


def _chosen(scene: Scene, said: TurnAnswer) -> list[tuple[Proposal, str]]:
    questions = scene.questions
    if said.kind == "number":
        known = numbered(questions)
        if said.number and said.number <= len(known):
            return [known[said.number - 1]]
        return []
    if len(questions) == 1:
        return _choice_of(questions[0], said, whole=questions[0].id in scene.wholes)
    if said.kind in ("all_yes", "both"):
        return [(one, YES[one.question]) for one in questions if _has_yes(one)]
    if said.kind == "all_no":
        return [(one, NO[one.question]) for one in questions]
    at = _place(said, len(questions))
    if at is None or not _has_yes(questions[at]):
        return []
    return [(questions[at], YES[questions[at].question])]


def numbered(questions: Sequence[Proposal]) -> list[tuple[Proposal, str]]:
    """What each number in a reply chooses: first every answer to a question about existing lines, then, if there are
    several questions, one number for the yes to each offer."""
    if len(questions) == 1:
        return [(questions[0], one.choice) for one in _choices(questions[0])]
    about = [one for one in questions if one.question != "keep"]
    found = [(one, choice.choice) for one in about for choice in _choices(one)]
    return found + [(one, YES["keep"]) for one in questions if one.question == "keep"]


def _choices(question: Proposal) -> Sequence[Choice]:
    return question.choices or plain_choices(question.op, question.memory_id)


def _has_yes(question: Proposal) -> bool:
    """Which of several lines is meant cannot be answered with yes."""
    return question.question != "which"


def _choice_of(question: Proposal, said: TurnAnswer, *, whole: bool) -> list[tuple[Proposal, str]]:
    """What an answer chooses of one question. `whole`: it asks about all lines of a topic, so that yes means all."""
    if said.kind == "all_yes" or (said.kind == "yes" and (whole or _has_yes(question))):
        return [(question, YES[question.question])]
    if said.kind == "yes":
        return []
    if said.kind in ("no", "all_no"):
        return [(question, NO[question.question])]
    names = [one.choice for one in _choices(question)]
    if said.kind == "both":
        wanted = next((one for one in (BOTH, ALL) if one in names), None)
        if wanted:
            return [(question, wanted)]
        return []
    at = _place(said, len(names))
    if at is not None:
        return [(question, names[at])]
    return []


def _place(said: TurnAnswer, count: int) -> int | None:
    """Which of several is meant, counted from 0."""
    places = {"first": 1, "second": 2, "third": 3, "last": count}
    at = places.get(said.kind)
    if at and 0 < at <= count:
        return at - 1
    return None
