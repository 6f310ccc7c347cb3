"""`/api/memory/proposals`: what waits for the person's word, and the answers to it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import Field

from keepbook.book.memory.memories import Written
from keepbook.book.memory.proposals import Proposal
from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL

router: APIRouter = APIRouter(prefix="/api/memory", tags=["memory"], responses=USUAL, route_class=FastRoute)

ReadingProposals = Annotated[Call, permitted_call("proposals.read")]
AnswerProposalsCall = Annotated[Call, permitted_call("proposals.answer")]

ProposalIdPath = Annotated[str, Path(description="A proposal's id.", max_length=200)]
BothQuery = Annotated[bool, Query(description="Keep a change beside the line that it would change.")]


class ChosenAnswer(RequestBody):
    choice: str = Field(description="One of the proposal's `choices`.", max_length=200)


@dataclass(frozen=True)
class Proposals:
    proposals: list[Proposal]


@router.get("/proposals", response_model=Proposals)
def list_proposals(call: ReadingProposals, status: str = "waiting") -> Response:
    """What waits for the person's word."""
    return json_response(Proposals(list(call.book.proposals.list(status))))


@router.get("/proposals/{id}", response_model=Proposal)
def get_proposal(call: ReadingProposals, id: ProposalIdPath) -> Response:
    return json_response(call.book.proposals.get(id))


@router.post("/proposals/{id}/accept", response_model=Written)
def accept_proposal(call: AnswerProposalsCall, id: ProposalIdPath, both: BothQuery = False) -> Response:
    return call.write(lambda book: book.proposals.accept(id, both))


@router.post("/proposals/{id}/decline", response_model=Proposal)
def decline_proposal(call: AnswerProposalsCall, id: ProposalIdPath) -> Response:
    return call.write(lambda book: book.proposals.decline(id))


@router.post("/proposals/{id}/answer", response_model=Written | Proposal)
def answer_proposal(call: AnswerProposalsCall, id: ProposalIdPath, chosen: ChosenAnswer) -> Response:
    """Answer a question with one of its choices: what it wrote, or the proposal where nothing was to be written."""
    return call.write(lambda book: book.proposals.answer(id, chosen.choice))


@router.post("/proposals/{id}/reopen", response_model=Proposal)
def reopen_proposal(call: AnswerProposalsCall, id: ProposalIdPath) -> Response:
    """Take back a No: it waits again."""
    return call.write(lambda book: book.proposals.reopen(id))
