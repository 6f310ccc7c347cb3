"""The container, compose and systemd files name only what there is: settings, commands, extras. Their own tools hold
them in `make deploy-check`."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from keepbook.doors.cli import main
from keepbook.settings import known_settings

ROOT = Path(__file__).parents[2]
FILES = ("Dockerfile", "compose.yaml", "deploy/keepbook.service", "deploy/kubernetes.yaml", "docs/production.md")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lines(pattern: str, name: str) -> list[str]:
    return re.findall(pattern, read(name), re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"KEEPBOOK_[A-Z_]+\b(?!…)", read(name)))
    assert named <= {f"KEEPBOOK_{each.upper()}" for each in known_settings()}


def pins(name: str) -> dict[str, str]:
    return dict(line.split(" ")[0].split("==") for line in lines(r"^[a-z0-9-]+==\S+", name))


def test_the_image_installs_by_hash_what_the_extras_of_a_server_need_as_it_was_tested() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    ours = pins("deploy/requirements.lock")
    assert ours.items() <= pins("requirements.lock").items()
    for name in ("serve", "postgres", "models", "embed", "build"):
        assert {re.split(r"[^\w-]", one)[0] for one in extras[name]} <= ours.keys()
    installs = lines(r"pip install (.*)$", "Dockerfile")
    assert all("--require-hashes" in one or "--no-deps --no-build-isolation" in one for one in installs), installs
    assert len(installs) == 2


def test_every_command_line_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    services = yaml.safe_load(read("compose.yaml"))["services"]
    started = [services["upgrade"]["command"], services["keepbook"]["command"]]
    started += [line.split()[1:] for line in lines(r"^ExecStart=(.*)$", "deploy/keepbook.service")]
    started += [re.findall(r'"([^"]+)"', line) for line in lines(r"^CMD (.*)$", "Dockerfile")]
    started += [yaml.safe_load(line) for line in lines(r"^ +args: (.*)$", "deploy/kubernetes.yaml")]
    assert len(started) == 6
    for line in started:
        assert main([*line, "--help"]) == 0, capsys.readouterr().err


def test_the_server_is_no_administrator_and_writes_only_its_folder() -> None:
    server = yaml.safe_load(read("compose.yaml"))["services"]["keepbook"]
    assert "admin" not in str(server["environment"]).lower()
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert re.search(r"^USER (?!root|0\b)", read("Dockerfile"), re.MULTILINE)


def test_the_server_knows_its_proxy_by_address() -> None:
    services = yaml.safe_load(read("compose.yaml"))["services"]
    told = services["keepbook"]["environment"]
    assert told["KEEPBOOK_PROXY_HEADERS"] == "true"
    assert told["KEEPBOOK_FORWARDED_ALLOW_IPS"] == services["proxy"]["networks"]["front"]["ipv4_address"]
    assert "front" in services["keepbook"]["networks"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd's own tool is not here")
def test_systemd_finds_little_left_open() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager"]
    judged = subprocess.run(
        [*command, str(ROOT / "deploy/keepbook.service")], check=False, capture_output=True, text=True
    )
    assert judged.returncode == 0, [*judged.stdout.splitlines()[-1:], judged.stderr]
