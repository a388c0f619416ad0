"""Run the service by uvicorn, in one process or several behind one port; say at start what it will do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from discreet.core.errors import DiscreetError, UsageError
from discreet.core.files import why
from discreet.core.numbers import counted
from discreet.guard import Guard
from discreet.serve.app import create_app
from discreet.serve.connections import Patient, make_room
from discreet.serve.keys import EVERY, Key
from discreet.serve.presets import rates
from discreet.serve.settings import Settings
from discreet.serve.telemetry import SHARED, Log, quiet_libraries


def listening_app(settings: Settings) -> FastAPI:
    """The application of one process, with what libraries log through ours."""
    make_room()
    if (parent := multiprocessing.parent_process()) is not None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # The parent begins its processes anew for it, one by one.
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    app = create_app(settings)
    quiet_libraries(app.state.gate.telemetry.log)
    return app


def _end_after(parent: BaseProcess) -> None:
    """End this process when its parent is killed: it would go on alone on the port, with what nobody can stop."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def listen(settings: Settings) -> socket.socket:
    """The socket that the service listens on. Raises UsageError where the port is taken or not allowed."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        made = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {settings.host} port {settings.port}: {why(error)}; choose another with "
                         "port") from None
    # asyncio sends small parts at once (TCP_NODELAY) only where a socket names its protocol; else each answer takes
    # 40 ms more.
    named = socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())
    named.set_inheritable(True)
    return named


def check(settings: Settings) -> list[str]:
    """Read and open what a process reads and opens when it starts: keys, log, database, secrets. Lines that an operator
    should read, although the service can start.

    Raises DiscreetError for what cannot be, before anything is said or served; a process of several that ended for it
    would be started again and again. So a key of a guard that is not served is looked for here only: one that is made
    while the service runs ends no process, and its requests say what is wrong.
    """
    state, said = create_app(settings).state, []
    if (queue := state.gate.queue) is not None:
        if not queue.has_own_keys:
            said.append(f"queue: the key folder {queue.vault.folder} is not the one that the database was begun with: "
                        "tickets from before cannot be read and end, and the audit cannot be checked; if that was not "
                        "meant, stop, and name that folder as key_folder")
        queue.close()
    if state.keyring is not None:
        _check_guards(settings, state.keyring.keys())
    return said


def _check_guards(settings: Settings, keys: Sequence[Key]) -> None:
    """UsageError for a key, not ended, with a guard that is not served: nobody would learn of the mistake but its
    callers."""
    now = time.time()
    wrong = [(key.id, guard) for key in keys if key.hashes(now) for guard in key.guards
             if guard != EVERY and guard not in settings.guards]
    if wrong:
        (name, guard), more = wrong[0], f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise UsageError(f"{settings.keys}: the key {name!r} is for the guard {guard[:40]!r}, which is not served; "
                         f"served are {', '.join(settings.guards)}{more}; remove the key and add it with one of these, "
                         "or serve the guard")


def run(settings: Settings, bound: socket.socket) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; requests that are open then have `drain_s` to end. Several processes are
    begun anew for SIGHUP.

    Raises DiscreetError where the service ended because it could not start.
    """
    config = uvicorn.Config(
        partial(listening_app, settings), factory=True, http=Patient, log_config=None,
        access_log=False, server_header=False, lifespan="on", proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(settings.drain_s)), timeout_worker_healthcheck=60,
        workers=settings.processes)
    if settings.processes == 1:
        server = uvicorn.Server(config)
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # It would cut off what is open; nohup ignores it.
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        server.run([bound])
        if not server.started:
            raise DiscreetError("the service did not start; its log says why")
        return
    with TemporaryDirectory(prefix="discreet-metrics-") as folder:
        os.environ[SHARED] = folder
        quiet_libraries(Log(settings.log_file))
        try:
            Multiprocess(config, [bound]).run()
        finally:
            del os.environ[SHARED]


def described(settings: Settings, guards: dict[str, Guard], port: int) -> Iterator[str]:
    """What the service is about to do, a line each."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    who = "no keys: everybody on this machine may do everything" if settings.no_auth else f"keys of {settings.keys}"
    yield (f"http://{host}:{port}, {counted(settings.processes, 'process', 'processes')} with "
           f"{counted(settings.workers, 'worker')}{' each' if settings.processes > 1 else ''}; {who}")
    yield (f"queue: {'none, undecided answers are blocked' if settings.queue is None else 'undecided answers wait'}"
           + (f" {settings.queue.expires_s:g} s for a reviewer" if settings.queue is not None else ""))
    for name, guard in guards.items():
        does = settings.mode_of(name)
        redacts = " and redact" if does == "enforce" and guard.policy.on_flag == "redact" else ""
        yield f"guard {name}: {guard.policy.label()}, {guard.point}, {does}{redacts}; {rates(guard)}"
