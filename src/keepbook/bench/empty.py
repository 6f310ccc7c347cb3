"""The bare side of `keepbook bench http`: a FastAPI route that does nothing, served the same way."""

import socket

import uvicorn
from fastapi import FastAPI
from fastapi.responses import Response

app: FastAPI = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)


@app.get("/")
def nothing() -> Response:
    return Response(b"{}", media_type="application/json")


def main() -> None:
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # as the server itself does
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # before the address is told: who asks at once is not refused
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listening])


if __name__ == "__main__":
    main()
