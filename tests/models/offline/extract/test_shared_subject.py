"""A second verb without a subject of its own belongs to the first one's."""

import pytest

from keepbook.models.model import Turn
from keepbook.models.offline.extract.extract import extract

VOCABULARY = ("profile", "preference", "person", "project", "context", "fact")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I live in Turin and work as a nurse.", {"Lives in Turin": "profile", "Works as a nurse": "profile"}),
        ("I'm a teacher and play chess on Sundays.", {"Is a teacher": "profile", "Plays chess on Sundays": "profile"}),
        ("I want to live and work in Turin.", {"Wants to live and work in Turin": "profile"}),
    ],
)
def test_verbs_that_share_a_subject_are_facts_of_their_own(said: str, kept: dict[str, str]) -> None:
    found = extract([Turn(1, "user", said)], [], block=None, vocabulary=VOCABULARY, zone="UTC")
    assert {one.content: one.category for one in found if one.op == "add"} == kept
