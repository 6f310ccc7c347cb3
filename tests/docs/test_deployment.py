"""The container, compose and systemd files name only what there is: settings, commands, extras. Their own tools hold
them in `make deploy-check`."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from keepbook.doors.cli import main
from keepbook.settings import known_settings

ROOT = Path(__file__).parents[2]
FILES = ("Dockerfile", "compose.yaml", "deploy/keepbook.service", "docs/production.md")
PARAMETERS = {"KEEPBOOK_HOST"}
"""Of compose.yaml itself."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lines(pattern: str, name: str) -> list[str]:
    return re.findall(pattern, read(name), re.MULTILINE)


@pytest.mark.parametrize("name", FILES)
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"KEEPBOOK_[A-Z_]+\b(?!…)", read(name))) - PARAMETERS
    assert named <= {f"KEEPBOOK_{each.upper()}" for each in known_settings()}


def test_the_image_installs_extras_that_there_are() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    (wanted,) = re.findall(r"'\.\[([\w,]+)\]'", read("Dockerfile"))
    assert set(wanted.split(",")) <= set(extras)


def test_every_command_line_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    services = yaml.safe_load(read("compose.yaml"))["services"]
    started = [services["upgrade"]["command"], services["keepbook"]["command"]]
    started += [line.split()[1:] for line in lines(r"^ExecStart=(.*)$", "deploy/keepbook.service")]
    started += [re.findall(r'"([^"]+)"', line) for line in lines(r"^CMD (.*)$", "Dockerfile")]
    assert len(started) == 4
    for line in started:
        assert main([*line, "--help"]) == 0, capsys.readouterr().err


def test_the_server_is_no_administrator_and_writes_only_its_folder() -> None:
    server = yaml.safe_load(read("compose.yaml"))["services"]["keepbook"]
    assert "admin" not in str(server["environment"]).lower()
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert re.search(r"^USER (?!root|0\b)", read("Dockerfile"), re.MULTILINE)
