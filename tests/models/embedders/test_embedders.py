"""Embedders: the right one by name, weights only as they should be, and no endpoint holds up a question."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keepbook import Invalid, ModelFailed
from keepbook.models.embedders import choose_embedder
from keepbook.models.embedders.bundled import BundledEmbedder
from keepbook.models.embedders.local import OnnxEmbedder
from keepbook.models.minilm import inference, weight_files
from keepbook.models.minilm.inference import MiniLM


def test_none_is_words_alone() -> None:
    assert choose_embedder("none") is None


@pytest.mark.parametrize("name", ["", "onnx", "onnx:", "openai:", "best", "torch:x"])
def test_an_unknown_embedder_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(Invalid, match="auto, none") as refused:
        choose_embedder(name)
    assert refused.value.field == "embedder"


def test_a_folder_without_a_model_is_refused_by_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"model\.onnx"):
        choose_embedder(f"onnx:{tmp_path}")


@pytest.fixture(scope="module")
def auto() -> Any:
    found = choose_embedder("auto")
    assert found is not None, "keepbook[embed] is part of the development install"
    return found


def test_what_means_the_same_is_more_alike_than_what_does_not(auto: Any) -> None:
    dog, pet, fund = auto.embed(["The dog is called Bamse", "What is our pet's name?", "Prefers index funds"])
    assert float(dog @ pet) > 0.3 > float(fund @ pet)


def test_a_text_has_the_same_direction_alone_and_in_company(auto: Any) -> None:
    texts = ["tea", "A much longer sentence about tea in the garden behind the house", "Oslo"]
    rows = auto.embed(texts)
    assert rows.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(auto.ask(text), row)


def test_weights_that_are_not_the_ones_looked_at_are_not_used(tmp_path: Path) -> None:
    held = weight_files.find_base()
    assert held is not None
    changed = tmp_path / "model.onnx"
    changed.write_bytes(held.weights.read_bytes()[:-1] + b"x")
    for embedder in (
        BundledEmbedder(MiniLM(held._replace(weights=changed))),
        OnnxEmbedder(changed, held.words, sums=held.sums),
    ):
        with pytest.raises(ModelFailed, match="install it anew"):
            embedder.ask("tea")


def test_a_graph_that_is_not_the_one_shipped_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    held = weight_files.find_base()
    assert held is not None
    monkeypatch.setitem(inference.SHA256, "plain.onnx", "0" * 64)
    with pytest.raises(ModelFailed, match="install keepbook anew"):
        BundledEmbedder(MiniLM(held)).ask("tea")


def test_weights_of_another_size_are_as_good_as_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_files, "WEIGHTS", weight_files.WEIGHTS._replace(size=1))
    assert choose_embedder("auto") is None


def test_a_folder_of_ones_own_is_a_space_of_its_own(tmp_path: Path, auto: Any) -> None:
    for pinned, name in ((weight_files.WEIGHTS, "model.onnx"), (weight_files.WORDS, "tokenizer.json")):
        found = pinned.path()
        assert found is not None
        (tmp_path / name).symlink_to(found)
    mine = choose_embedder(f"onnx:{tmp_path}")
    assert mine is not None
    assert mine.space != auto.space
    texts = ["tea", "What is our pet's name?", "Never invests in tobacco, and has not since 2019. " * 30, "…", ""]
    alike = (mine.embed(texts) * auto.embed(texts)).sum(axis=1)
    assert alike.min() > 0.999, "rounded rows times whole numbers are nearly what the floats would be"


# --- an endpoint


class Endpoint(BaseHTTPRequestHandler):
    said: dict[str, Any]
    answer: Any

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        type(self).said = json.loads(self.rfile.read(length)) | {"key": self.headers["Authorization"]}
        body = json.dumps(type(self).answer(type(self).said["input"])).encode()
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # the one who asked may have gone
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[tuple[str, type[Endpoint]]]:
    handler = type("Handler", (Endpoint,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", handler
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_asked_as_openai_is(endpoint: Any) -> None:
    url, handler = endpoint
    handler.answer = lambda texts: {
        "data": [{"index": at, "embedding": [3.0 * (at == 0), 4.0]} for at in reversed(range(len(texts)))]
    }
    embedder = choose_embedder("openai:small", base_url=url, key="secret")
    assert embedder is not None
    rows = embedder.embed(["one", "two"])

    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 1]], rtol=1e-6)
    assert (handler.said["model"], handler.said["key"]) == ("small", "Bearer secret")
    assert "small" in embedder.space


@pytest.mark.parametrize("answer", [{}, {"data": []}, {"data": [{"index": 0, "embedding": ["x"]}]}, []])
def test_a_strange_answer_is_a_failure_with_a_name(endpoint: Any, answer: Any) -> None:
    url, handler = endpoint
    handler.answer = lambda _: answer
    embedder = choose_embedder("openai:small", base_url=url)
    assert embedder is not None
    with pytest.raises(ModelFailed):
        embedder.ask("tea")


def test_an_endpoint_that_dawdles_is_not_waited_for(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url, handler = endpoint
    for limit in ("ANSWER_WITHIN", "FILL_WITHIN"):
        monkeypatch.setattr(f"keepbook.models.embedders.remote.{limit}", 0.1)
    given_up = threading.Event()
    handler.answer = lambda _: {"data": [{"index": 0, "embedding": [1.0]}]} if given_up.wait(60) else {}
    embedder = choose_embedder("openai:small", base_url=url)
    assert embedder is not None
    for asked in (lambda: embedder.ask("tea"), lambda: embedder.embed(["tea"])):
        with pytest.raises(ModelFailed):
            asked()
    given_up.set()


def test_nobody_at_the_endpoint_is_a_failure_with_a_name() -> None:
    embedder = choose_embedder("openai:small", base_url="http://127.0.0.1:9")
    assert embedder is not None
    with pytest.raises(ModelFailed, match="did not answer"):
        embedder.ask("tea")
