"""A service of compose.yaml as a process of this machine, for `deploy_check.py`.

What a container gives it, the kernel gives it here: a network of its own with its address, a root file system that
holds only the system's programs and this checkout, the service's environment, user, capabilities and volumes. It needs
root, and a Linux that lets root make namespaces; no network outside is reached.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev")
"""What an image brings; here it is this machine's."""
BRIDGE = "keepbook0"


def system(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make_network(subnet: str) -> None:
    """The networks of compose.yaml, as one; this program has its first address."""
    first, bits = subnet.replace(".0/", ".1/").split("/")
    system("ip", "link", "set", "lo", "up")
    system("ip", "link", "add", BRIDGE, "type", "bridge")
    system("ip", "address", "add", f"{first}/{bits}", "dev", BRIDGE)
    system("ip", "link", "set", BRIDGE, "up")


@dataclass
class Process:
    """A service: how it is started, and what is asked whether it is well."""

    name: str
    address: str
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    path: str
    user: str | None = None
    service: Mapping[str, Any] = field(default_factory=dict)
    health: Sequence[str] | None = None
    _running: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self._running = self._begin(self.command)

    def _begin(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        self._prepare()
        log = (self.folder / "log").open("ab")
        return subprocess.Popen(self._line(command), stdout=subprocess.PIPE, stderr=log)

    def run(self, command: Sequence[str] | None = None, seconds: float = 120) -> str:
        """Run it, or another command in its place, to its end, which must be 0; returns what it said."""
        started = self._begin(command or self.command)
        said, _ = started.communicate(timeout=seconds)
        if started.returncode:
            self.fail(f"ended with {started.returncode}: {said.decode()}")
        return said.decode()

    def wait_until_healthy(self, seconds: float = 180) -> None:
        assert self.health is not None
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._running is None or self._running.poll() is not None:
                self.fail("ended before it was healthy")
            asked = subprocess.run(self._line(self.health), capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                return
            time.sleep(0.3)
        self.fail(f"did not become healthy: {asked.stderr[-500:]}")

    def stop(self, seconds: float = 60) -> None:
        """As `docker stop` does: a word to its first process, and then it is waited for."""
        if self._running is None or self._running.poll() is not None:
            return
        self._running.terminate()  # what stands before it on its command line has become it
        self._running.wait(seconds)

    def fail(self, why: str) -> None:
        sys.exit(f"{self.name}: {why}\n{(self.folder / 'log').read_text()[-3000:]}")

    def count_processes(self, words: str) -> int:
        """How many processes in its network have these words in their command line."""
        listed = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True)
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in listed.stdout.split()]
        return sum(words in line.replace("\0", " ") for line in lines)

    def _prepare(self) -> None:
        """Its network and its folders, once."""
        (self.folder / "root").mkdir(parents=True, exist_ok=True)
        for _, source in self._volumes():
            if not source.exists():
                source.mkdir(parents=True)
                if self.user:
                    os.chown(source, int(self.user), int(self.user))
        if Path("/run/netns", self.name).exists():
            return
        inside, outside = f"{self.name[:10]}-i", f"{self.name[:10]}-o"
        system("ip", "netns", "add", self.name)
        system("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
        system("ip", "link", "set", outside, "master", BRIDGE, "up")
        system("ip", "link", "set", inside, "netns", self.name)
        for line in (f"address add {self.address}/24 dev {inside}", f"link set {inside} up", "link set lo up"):
            system("ip", "-netns", self.name, *line.split())

    def _volumes(self) -> list[tuple[str, Path]]:
        """Where each volume is seen, and where it lies."""
        found = []
        for each in self.service.get("volumes", []):
            source, target = each.split(":")[:2]
            place = Path(source) if source.startswith("/") else self.folder.parent / "volumes" / source
            found.append((target, place))
        return found

    def _mounts(self) -> list[str]:
        """The lines that make its root file system."""
        top = self.folder / "root"
        lines = [f"mount -t tmpfs none {top}"]
        for place in SYSTEM:
            if os.path.islink(place):
                lines.append(f"ln -s {os.readlink(place)} {top}{place}")
            elif os.path.isdir(place):
                lines.append(f"mkdir -p {top}{place} && mount --rbind {place} {top}{place}")
        lines += [
            f"mkdir -p {top}/proc {top}/tmp {top}/run",
            f"mount --rbind /proc {top}/proc",
            f"chmod 1777 {top}/tmp",
        ]
        lines += [f"mount -t tmpfs -o mode=1777 none {top}{each}" for each in self.service.get("tmpfs", [])]
        for place in {str(ROOT), sys.base_prefix, str(Path(self.path.split(":")[0]).parent)}:
            lines += self._bind(place, place, "ro")
        for target, source in self._volumes():
            lines += self._bind(str(source), target, "rw")
        if self.service.get("read_only"):
            lines.append(f"mount -o remount,ro {top}")
        return lines

    def _bind(self, source: str, target: str, how: str) -> list[str]:
        place = f"{self.folder / 'root'}{target}"
        made = f"mkdir -p {place}" if Path(source).is_dir() else f"mkdir -p $(dirname {place}) && touch {place}"
        return [f"{made} && mount --bind {source} {place} && mount -o remount,bind,{how} {place}"]

    def _line(self, command: Sequence[str]) -> list[str]:
        """The whole command line: into its network, its root, its user, its environment."""
        rights = ["--clear-groups", f"--reuid={self.user}", f"--regid={self.user}"] if self.user else []
        if self.service.get("cap_drop") == ["ALL"]:
            rights += ["--bounding-set=-all", "--inh-caps=-all"]
        if any("no-new-privileges" in each for each in self.service.get("security_opt", [])):
            rights.append("--no-new-privs")
        told = [f"{name}={value}" for name, value in {**self.environment, "PATH": self.path}.items()]
        inner = ["chroot", str(self.folder / "root"), "setpriv", *rights, "env", "-i", *told, *command]
        script = "set -e; " + "; ".join(self._mounts()) + '; exec "$@"'
        return ["ip", "netns", "exec", self.name, "unshare", "--mount", "sh", "-c", script, "sh", *inner]
