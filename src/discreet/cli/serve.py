"""`discreet serve`: the guard over HTTP, and the keys of those who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, argument, flag, one_of, option
from discreet.core.errors import UsageError, need
from discreet.core.files import why
from discreet.core.records import USER_MESSAGES, Prompts

KeyFile = Annotated[Path, argument("FILE", "The file of keys.")]


def _needed() -> None:
    for module in ("fastapi", "uvicorn", "pydantic_settings", "prometheus_client", "sqlalchemy", "alembic"):
        need(module, "discreet serve", "serve")


def serve(
    context: typer.Context, *,
    config: Annotated[Path | None, option(
        "F", "Settings as YAML (docs/serve.md); DISCREET_SERVE_… in the environment and options win over it.")] = None,
    domain: Annotated[str | None, option("D", "One guard, the one that ships, under the policy of this "
                                         "domain: " + DOMAINS)] = None,
    guard: Annotated[Path | None, option("DIR", "One guard, the fitted one of this folder.")] = None,
    point: Annotated[str | None, option("P", "Its operating point: conservative, balanced or strict.")] = None,
    shadow: Annotated[bool, flag("Observe only: everything passes, and the log says what would be withheld; read it "
                                 "with 'discreet serve shadow'.")] = False,
    upstream: Annotated[str | None, option(
        "URL", "The OpenAI-compatible endpoint that the proxy stands in front of, such as "
        "http://127.0.0.1:8000/v1.")] = None,
    queue: Annotated[str | None, option(
        "URL", "Keep a review queue in this database, such as sqlite:///queue.db or postgresql+psycopg://….")] = None,
    hold: Annotated[float | None, option("S", "Seconds that an answer waits for a reviewer before its ticket is "
                                         "returned.")] = None,
    keys: Annotated[Path | None, option("F", "The keys of callers, reviewers and operators; made by 'discreet serve "
                                        "key add'.")] = None,
    no_auth: Annotated[bool, flag("Ask for no key; on the loopback only.")] = False,
    host: Annotated[str | None, option("H", "Where to listen; 127.0.0.1 if not given.")] = None,
    port: Annotated[int | None, option("N", "The port; 8300 if not given, 0 for a free one.")] = None,
    workers: Annotated[int | None, option("N", "Answers that are judged at a time.")] = None,
    processes: Annotated[int | None, option("N", "Processes that listen on the port, each with its workers.")] = None,
) -> None:
    """Serve the guard over HTTP: a proxy for models, doors for gateways, a review queue."""
    if context.invoked_subcommand is not None:
        return
    _needed()
    one_of(**{"--domain": domain, "--guard": guard})
    if domain is None and guard is None and point is not None:
        raise UsageError("--point belongs to the guard of --domain or --guard; in a file of settings, put it there")
    over: dict[str, Any] = {}
    if domain is not None or guard is not None:
        one = {"domain": domain, "folder": guard, "point": point}
        over["guards"] = {Path(domain or str(guard)).name: {k: v for k, v in one.items() if v is not None}}
    over |= {name: value for name, value in (
        ("mode", "observe" if shadow else None), ("hold_s", hold), ("keys", keys), ("no_auth", no_auth or None),
        ("host", host), ("port", port), ("workers", workers), ("processes", processes)) if value is not None}
    over |= {name: {"url": url} for name, url in (("upstream", upstream), ("queue", queue)) if url is not None}
    settings = lib.serve_settings.Settings.read(config, **over)
    guards = {name: one.load() for name, one in settings.guards.items()}
    warned = lib.serve_run.check(settings)
    with lib.serve_run.listen(settings) as bound:
        for line in (*lib.serve_run.described(settings, guards, bound.getsockname()[1]), *warned):
            print(line, flush=True)
        del guards
        lib.serve_run.run(settings, bound)


def key_add(
    file: KeyFile, *,
    role: Annotated[str, option("R", "caller uses doors; reviewer decides tickets; operator uses doors, reads details, "
                                "metrics and counts.")] = "caller",
    guard: Annotated[list[str] | None, option(
        "NAME", "A guard that the key may use, '*' for every guard; may be given several times. The default guard of "
        "the service if not given.")] = None,
    name: Annotated[str | None, option("NAME", "What logs call the key; random if not given.")] = None,
    user_messages: Annotated[str, option(
        "M", "What the application sends as user messages: words, each as the user typed it; prompt, retrieved text or "
        "instructions with it; auto, a message that reads as a user's speech counts as typed.")] = "auto",
    template: Annotated[list[str] | None, option(
        "F_OR_NAME", "A prompt of the application: a file with the slots {question}, {context} and {other}, or the "
        "name of a known prompt. May be given several times.")] = None,
    declares: Annotated[bool, flag("The application may declare what the user typed (user_words), and that the user is "
                                   "the person whom the records describe (asker).")] = False,
    public_sources: Annotated[bool, flag("Anybody may read the passages that the application retrieves (judgements, "
                                         "manuals, novels): what an answer tells out of them is no leak.")] = False,
    days: Annotated[float | None, option("N", "Days after which the key ends; it does not if not given.")] = None,
) -> None:
    """Make a key, and print its token once: the file holds a hash of it.

    What users say of themselves is no leak, so a key also says where the users' own words stand in its requests
    (docs/provenance.md).
    """
    _needed()
    if role not in lib.serve_keys.ROLES:
        raise UsageError(f"--role is {role[:20]!r}; expected one of {', '.join(lib.serve_keys.ROLES)}")
    if user_messages not in USER_MESSAGES:
        raise UsageError(f"--user-messages is {user_messages[:20]!r}; expected one of {', '.join(USER_MESSAGES)}")
    prompts = Prompts(user_messages, tuple(map(_template, template or ())), public_sources)
    made, token = lib.serve_keys.add_key(file, role, guard or (), name, prompts=prompts, declares=declares, days=days)
    typer.echo(f"key {made.id} ({made.role}) in {file}; its token, which is not shown again:", err=True)
    print(token)


def key_rotate(
    file: KeyFile, name: Annotated[str, argument("NAME", "The key's name.")], *,
    keep_hours: Annotated[float, option("H", "Hours that the former token works on; 0 ends it at once, with the "
                                        "sessions of the console that it opened.")] = 24,
    days: Annotated[float | None, option("N", "Days after which the key ends; as before if not given.")] = None,
) -> None:
    """Replace the token of a key, and print the new one once. The key keeps its settings and its tickets."""
    _needed()
    made, token = lib.serve_keys.rotate_key(file, name, keep_hours=keep_hours, days=days)
    typer.echo(f"key {made.id} ({made.role}) in {file}; its new token, which is not shown again:", err=True)
    print(token)


def key_list(file: KeyFile) -> None:
    """Names, roles and guards of keys, and what they say of requests; no token can be shown."""
    _needed()
    for key in lib.serve_keys.list_keys(file):
        print(lib.serve_keys.described(key))


def key_remove(file: KeyFile, name: Annotated[str, argument("NAME", "The key's name.")]) -> None:
    """Remove a key; running services notice at the next request."""
    _needed()
    lib.serve_keys.remove_key(file, name)
    print(f"removed {name}")


def _template(given: str) -> str:
    """A template as a key holds it: the name of a known prompt, or the text of a file. UsageError for neither."""
    if given in lib.templates.texts():
        return given
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = why(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read the template {given[:80]!r}: {said}; expected a file with {{question}} and "
                         f"{{context}}, or the name of a known prompt such as {next(iter(lib.templates.texts()))}"
                         ) from None
    lib.templates.parse(text)
    return text
