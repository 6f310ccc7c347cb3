"""The one way out: addresses inside networks are not asked for by a server, names are resolved once, nobody is
followed elsewhere, and TLS checks the name."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest
from tests.models.wire import Say, Status, Wire

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.errors import ModelFailed
from keepbook.models.embedders import choose_embedder
from keepbook.models.model import DialogueTurn
from keepbook.models.outward import OutwardDoor, is_inside
from keepbook.models.providers import session
from keepbook.models.providers.address import Address
from keepbook.models.providers.nearby import answers_at, find_servers
from keepbook.models.providers.remote import RemoteModel
from keepbook.settings import Settings, Several

TURNS = (DialogueTurn(1, "user", "I moved to Oslo."),)
Names = dict[str, list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """What names under .test resolve to; each asking takes one answer away until the last is left."""
    known: Names = {}
    really = socket.getaddrinfo

    def resolve(host: Any, port: Any, *more: Any, **others: Any) -> Any:
        if not str(host).endswith(".test"):
            return really(host, port, *more, **others)
        answers = known[str(host)]
        return really(answers.pop(0) if len(answers) > 1 else answers[0], port, *more, **others)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("OLLAMA_HOST")  # it would name a host
    return known


@pytest.fixture
def served(names: Names) -> Iterator[Callable[..., Keepbook]]:
    """An installation behind a server, with a model that its file names."""
    opened: list[Keepbook] = []

    def serve(url: str, *, local: bool = False, hosts: tuple[str, ...] = ()) -> Keepbook:
        settings = Settings.of_nobody(model="openai:x", openai_base_url=url, model_hosts=Several(hosts))
        opened.append(Keepbook(":memory:", settings=settings))
        create_app(opened[-1], local=local)
        return opened[-1]

    yield serve
    for kb in opened:
        kb.close()


def title(kb: Keepbook) -> str:
    return asyncio.run(kb.models.chat.title(TURNS))[0]


def narrowed(*named: str, loopback: bool = False) -> OutwardDoor:
    door = OutwardDoor()
    door.narrow(named, loopback=loopback)
    return door


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
        "100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0",
        "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1",
        "fec0::1", "192.88.99.1", "::ffff:192.88.99.1", "2606:4700::5efe:a00:1", "2606:4700::200:5efe:7f00:1",
        "fe80::5efe:a00:1", "64:ff9b:1::a00:1",
    ],
)  # fmt: skip
def test_an_address_inside_a_network_is_known(address: str) -> None:
    assert is_inside(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "104.18.6.192", "2606:4700::6812:6c0", "64:ff9b::101:101", "2606:4700::1:5efe:5efe:1"]
)
def test_a_public_address_is_none(address: str) -> None:
    assert not is_inside(address)


def test_a_server_asks_nobody_inside_a_network_unless_it_was_named(served: Any, names: Names) -> None:
    names["box.test"] = ["127.0.0.1"]
    with Wire("openai", lambda _: Say("Oslo move")) as wire:
        named = wire.url.replace("127.0.0.1", "box.test")
        for url in (wire.url, named, wire.url.replace("127.0.0.1", "2130706433"), "http://169.254.169.254/v1"):
            with pytest.raises(ModelFailed, match="KEEPBOOK_MODEL_HOSTS") as refused:
                title(served(url))
            assert refused.value.details["cause"] == "inside"
        with pytest.raises(ModelFailed, match="KEEPBOOK_MODEL_HOSTS"):
            title(served(named, local=True))
        assert wire.received == []
        assert title(served(named, hosts=("Box.test",))) == "Oslo move"
        assert title(served(wire.url, local=True)) == "Oslo move", "on loopback alone loopback is named"
        assert title(served(wire.url, hosts=("127.0.0.1",))) == "Oslo move"


@pytest.mark.parametrize("name", ["KEEPBOOK_OPENAI_BASE_URL", "OLLAMA_HOST"])
def test_what_the_environment_names_is_the_operators(served: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with Wire("openai", lambda _: Say("Oslo move")) as wire:
        monkeypatch.setenv(name, wire.url)
        assert title(served(wire.url)) == "Oslo move"


def test_lists_of_models_and_vectors_go_the_same_way(served: Any, names: Names) -> None:
    with Wire("openai") as wire:
        wire.models = ["llama3.2:3b"]
        place = wire.url.removesuffix("/v1")
        assert find_servers(place, narrowed()) == []
        assert not answers_at(wire.url, narrowed())
        assert answers_at(wire.url, narrowed(loopback=True))
        embedder = choose_embedder("openai:small", base_url=wire.url, outward=narrowed())
        assert embedder is not None
        with pytest.raises(ModelFailed, match="KEEPBOOK_MODEL_HOSTS"):
            embedder.embed(["Oslo"])
        assert wire.received == []


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_nobody_is_followed_elsewhere(kind: Any, names: Names) -> None:
    with Wire(kind, lambda _: Say("Oslo move")) as other, Wire(kind) as wire:
        path = "/v1/chat/completions" if kind == "openai" else "/v1/messages"
        there = other.url.removesuffix("/v1") + path
        wire.script += [Status(code, headers={"Location": there}) for code in (307, 308, 302)]
        model = RemoteModel(Address(kind, "x", wire.url, "key", 5))
        for _ in range(3):
            with pytest.raises(ModelFailed, match="points to another address"):
                asyncio.run(model.title(TURNS))
        assert (len(wire.received), other.received) == (3, [])


def test_a_list_of_models_and_vectors_are_not_followed_elsewhere(names: Names) -> None:
    with Wire("openai") as other, Wire("openai") as wire:
        other.models = ["llama3.2:3b"]
        wire.script.append(Status(307, headers={"Location": f"{other.url}/models"}))
        embedder = choose_embedder("openai:small", base_url=wire.url)
        assert embedder is not None
        with pytest.raises(ModelFailed, match="HTTP 307"):
            embedder.embed(["Oslo"])
        assert (len(wire.received), other.received) == (1, [])


def test_a_name_is_resolved_once_and_that_address_is_asked(served: Any, names: Names) -> None:
    """A name with another answer for whoever asks again: a check and a connection that both ask would part."""
    with Wire("openai", lambda _: Say("Oslo move")) as wire:
        port = wire.url.rpartition(":")[2]
        names["rebind.test"] = ["127.0.0.1", "192.0.2.1"]
        assert title(served(f"http://rebind.test:{port}", hosts=("rebind.test",))) == "Oslo move"
        assert wire.received[0].headers["host"] == f"rebind.test:{port.removesuffix('/v1')}"


@pytest.mark.parametrize("scheme", ["ftp", "file", "data", "x"])
def test_only_web_addresses_are_asked(served: Any, names: Names, scheme: str) -> None:
    """Python's own way of asking over ftp resolves the name once more, and may go elsewhere then."""
    names["model.test"] = ["8.8.8.8", "127.0.0.1"]
    with pytest.raises(ModelFailed, match="http or https"):
        OutwardDoor().open(Request(f"{scheme}://model.test/v1"), timeout=1)
    assert names["model.test"] == ["8.8.8.8", "127.0.0.1"], "it was not even looked up"


def test_a_name_that_nobody_knows_is_told_in_a_sentence(served: Any) -> None:
    with pytest.raises(ModelFailed, match="cannot be reached at http://nobody") as failed:
        title(served("http://nobody.invalid/v1"))
    assert failed.value.details["cause"] == "unreachable"


def certificate(folder: Path, name: str) -> Path:
    """A certificate for a name, with its key, that vouches for itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, called = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(called, called, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    own = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(own + signed.public_bytes(pem))
    return file


def test_tls_checks_the_name_and_not_the_address(
    served: Any, names: Names, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path, "model.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    session._ssl_context.cache_clear()
    names["model.test"] = names["other.test"] = ["127.0.0.1"]
    try:
        with Wire("openai", lambda _: Say("Oslo move")) as wire:
            wire.models = ["llama3.2:3b"]
            wire.over_tls(file)
            port = wire.url.rpartition(":")[2]
            door = narrowed("model.test", "other.test")
            assert title(served(f"https://model.test:{port}", hosts=("model.test",))) == "Oslo move"
            assert answers_at(f"https://model.test:{port}", door)
            with pytest.raises(ModelFailed):
                title(served(f"https://other.test:{port}", hosts=("other.test",)))
            assert not answers_at(f"https://other.test:{port}", door)
            assert len(wire.received) == 1
    finally:
        session._ssl_context.cache_clear()


def test_a_proxy_of_the_environment_is_gone_through(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy")
    with Wire("openai", lambda _: Say("Oslo move")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        model = RemoteModel(Address("openai", "x", "http://far.invalid/v1", "key", 5))
        assert asyncio.run(model.title(TURNS))[0] == "Oslo move"
        names["near.test"] = ["10.0.0.1"]
        with pytest.raises(ModelFailed, match="KEEPBOOK_MODEL_HOSTS"):
            narrowed().find("http://near.test/v1")
        assert len(proxy.received) == 1
