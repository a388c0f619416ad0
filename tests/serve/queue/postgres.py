"""A PostgreSQL of its own in a temporary folder, on a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, count(1)
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:
            shutil.chown(folder, self._user)
        subprocess.run(["initdb", "-D", folder / "data", "-U", "discreet", "-A", "trust", "--no-sync", "-E", "UTF8"],
                       check=True, capture_output=True, user=self._user, cwd="/")
        self.start()

    def start(self) -> None:
        """Start it, without fsync: processes die here, and no machine does, so the disk need not be waited for."""
        import psycopg  # only where these tests run: it belongs to the extra `postgres`

        self.server = subprocess.Popen(["postgres", "-D", self.folder / "data", "-k", self.folder, "-c",
                                        "listen_addresses=", "-c", "fsync=off"],
                                       stderr=subprocess.DEVNULL, user=self._user, cwd="/")
        for _ in range(1200):
            try:
                psycopg.connect(self._dsn("postgres")).close()
            except psycopg.OperationalError:
                time.sleep(.1)
            else:
                return
        raise RuntimeError("PostgreSQL did not start")

    def stop(self) -> None:
        self.server.send_signal(signal.SIGQUIT)  # at once, without a checkpoint
        self.server.wait()

    def database(self) -> str:
        """The URL of a new database."""
        import psycopg

        name = f"queue{next(self._count)}"
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://discreet@/{name}?host={self.folder}"

    def _dsn(self, name: str) -> str:
        return f"host={self.folder} user=discreet dbname={name}"


@contextmanager
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="discreet-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.stop()
