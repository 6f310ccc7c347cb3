"""`POST /undo`: take back one entry of the ledger and look again at the page it was undone from."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.doors.http.web.frame.visit import Changing, own_path

router = APIRouter(include_in_schema=False)


@router.post("/undo")
def undo(visit: Changing, event: Annotated[int, Form()], back: Annotated[str, Form()] = "/") -> Response:
    return visit.back(own_path(back), undo=visit.writing().undo(event).event)
