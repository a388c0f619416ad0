"""What `discreet serve` is told: a YAML file, the environment (DISCREET_SERVE_…) over it, validated whole at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, IPvAnyNetwork, ValidationError, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from discreet.core.errors import InputError, UsageError, meant
from discreet.core.files import read_yaml
from discreet.core.records import Action
from discreet.guard import Guard, Policy
from discreet.serve.names import beside, check_environment
from discreet.serve.values import BaseUrl, HeaderSecret, Secret, is_loopback, is_served_here

PREFIX = "DISCREET_SERVE_"
_FILE: ContextVar[Mapping[str, Any]] = ContextVar("file", default=MappingProxyType({}))
Mode = Literal["observe", "enforce"]
Handing = Literal["allow", "judge", "withhold"]
BLOCKED = "This answer was withheld: it could identify a person."


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Probe(_Part):
    """A text that a guard judges before it is ready, and what it must say of it."""

    text: str = Field(repr=False)
    action: Action


class GuardSettings(_Part):
    """One guard, as `discreet.Guard` or `Guard.load` takes it, and for whom it judges.

    `evidence_tau` and `unsure_above` replace thresholds of the operating point, on the log-odds of evidence: above the
    first it flags, above the second an answer that nothing flags is an abstention; `guard calibrate --reviews` proposes
    them. `models` are names of models with wildcards; an answer of one that matches is this guard's. `mode` and
    `review_flags` are those of the service unless they are given. With `people` verdicts say to operators and reviewers
    how many people fit, of `population` or of the one that ships. `tools` are names of tools with wildcards, and what
    becomes of arguments that a model hands to them, by the first that matches: they are judged with the answer
    ("judge", as where none does), go out unjudged ("allow"), or no answer that calls the tool goes out ("withhold";
    a guard that observes judges them). `warm_up` replaces the texts that are judged before
    the guard is ready.
    """

    domain: str | None = None
    folder: Path | None = None
    policy: Path | None = None
    audience: str | None = None
    point: str | None = None
    discriminator: str | None = None
    evidence_tau: float | None = None
    unsure_above: float | None = None
    models: tuple[str, ...] = ()
    mode: Mode | None = None
    review_flags: bool | None = None
    people: bool = False
    population: Path | None = None
    tools: dict[str, Handing] = Field(default_factory=dict)
    warm_up: tuple[Probe, ...] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> GuardSettings:
        if (self.domain is None) == (self.folder is None):
            raise ValueError("expected domain (a guard under its policy) or folder (a fitted guard), one of "
                             "them")
        if self.discriminator is not None and self.folder is None:
            raise ValueError("discriminator belongs to a fitted guard; expected folder with it")
        return self

    def handing(self, tool: str) -> Handing:
        """What becomes of arguments for a tool."""
        return next((how for name, how in self.tools.items() if fnmatchcase(tool, name)), "judge")

    def load(self) -> Guard:
        """The guard. Raises UsageError or InputError as `Guard` does."""
        if self.folder is not None:
            guard = Guard.load(self.folder, policy=self.policy, audience=self.audience, point=self.point,
                               discriminator=self.discriminator)
        else:
            policy = (Policy.of(str(self.domain), self.audience) if self.policy is None
                      else Policy.load(self.policy, self.audience, self.domain))
            guard = Guard(policy, point=self.point)
        if self.people or self.population is not None:
            guard = guard.counting(self.population)
        return guard.at(evidence_tau=self.evidence_tau, unsure=self.unsure_above)


class Limits(_Part):
    """What a request may be, and how much is judged at a time; everything over it is refused with 413 or 429."""

    body_bytes: int = Field(2_000_000, ge=1_000, description="Bytes of a request's body, those of pictures "
                                                                "and files in base64 included.")
    body_s: float = Field(30, gt=0, description="Seconds until a request's body must be whole.")
    text_chars: int = Field(100_000, ge=100, description="Characters of one answer with its question, sources and "
                                                         "conversation.")
    texts: int = Field(64, ge=1, description="Answers in one request.")
    requests: int = Field(256, ge=1, description="Requests that a process holds open at doors, one key as many as are "
                                                 "left free; 429 beyond.")
    waiting: int = Field(64, ge=1, description="Answers of one key that may wait for a worker of a process; 429 "
                                                "beyond.")
    per_minute: int | None = Field(3_000, ge=1, description="Answers of one key in a minute and process, each started "
                                                            "4,000 characters counted as one; 429 beyond.")


class Upstream(_Part):
    """The model behind the proxy: an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1, or Anthropic's,
    https://api.anthropic.com/v1."""

    url: BaseUrl
    kind: Literal["openai", "anthropic"] = Field("openai", description="Whose protocol it speaks. Anthropic's serves "
                                                                       "/v1/messages and no other completions.")
    key: HeaderSecret | None = Field(None, description="Sent upstream; a caller's own key never is.")
    timeout_s: float = Field(300, gt=0)
    response_bytes: int = Field(16_000_000, ge=1_000, description="Bytes of one answer; a longer one is an error.")
    retries: int = Field(0, ge=0, le=5, description="How often a blocked answer is asked for again.")
    again: str = Field("Do not describe any private person in a way by which somebody could recognise them: no age, "
                       "origin, place, occupation, family or employer of theirs together.",
                       description="What is put before the messages when a blocked answer is asked for again.")
    blocked: str = Field(BLOCKED, description="What stands in place of a blocked answer.")
    pending: str = Field("This answer waits for review. Ticket: {ticket}",
                         description="What stands in place of an answer that waits; {ticket} is its id.")


class ConversationSettings(_Part):
    """What is remembered of answers that name a conversation; see docs/serve.md."""

    expires_s: float = Field(3600, gt=0, description="Seconds after which what was told is forgotten.")
    most: int = Field(10_000, ge=1, description="Conversations that a process remembers; the idle longest goes first.")


class WithheldSettings(_Part):
    """What is remembered of answers that were not safe, against rewriting until one passes; see docs/serve.md."""

    enabled: bool = Field(True, description="An answer that tells the facts of a withheld one again goes to review.")
    expires_s: float = Field(900, gt=0, description="Seconds after which a fact is forgotten.")
    most: int = Field(256, ge=1, description="Answers whose facts are remembered of each; the oldest goes first.")
    memories: int = Field(1_000, ge=1, description="Keys that a process remembers, and as many conversations and "
                                                   "users; the idle longest goes first.")
    facts: int = Field(2, ge=2, description="How many facts of one answer are told again, in the conversation or to "
                                            "the user whom the request names, where an answer is held.")


class Webhook(_Part):
    """Where decided tickets are announced, and the secret that signs the announcement."""

    url: HttpUrl
    secret: Secret


class Oidc(_Part):
    """Sign-in to the console by an OpenID Connect provider, beside keys. `reviewers` and `operators` map values of the
    claim to the guards that such people may work for, '*' for every guard."""

    issuer: HttpUrl
    client_id: str = Field(min_length=1)
    client_secret: Secret
    public_url: HttpUrl = Field(description="Where browsers reach the service; the provider sends them to "
                                            "/console/oidc/done below it.")
    scope: str = Field("openid profile", description="With openid; and what the claim needs.")
    claim: str = Field("groups", description="The claim of the ID token that says what somebody may do.")
    reviewers: dict[str, tuple[str, ...]] = {}
    operators: dict[str, tuple[str, ...]] = {}

    def guards(self) -> list[str]:
        """Every guard that is named."""
        return [guard for known in (self.reviewers, self.operators) for mine in known.values() for guard in mine]

    @model_validator(mode="after")
    def _safe(self) -> Oidc:
        for name, url in (("issuer", self.issuer), ("public_url", self.public_url)):
            if url.scheme != "https" and not is_loopback(str(url.host)):
                raise ValueError(f"{name} is {url.scheme}://{url.host}; expected https, or the loopback")
        if "openid" not in self.scope.split():
            raise ValueError("scope is without openid; expected it, or there is no ID token")
        if not {**self.reviewers, **self.operators}:
            raise ValueError("nobody has a role; expected reviewers or operators, values of the claim with guards")
        return self


class QueueSettings(_Part):
    """The review queue. Keys of tickets live in `key_folder`, outside of the database and its backups."""

    url: str = "sqlite:///discreet-queue.db"
    key_folder: Path = Path("discreet-queue-keys")
    expires_s: float = Field(3600, gt=0)
    undo_s: float = Field(10, ge=0)
    reserve_s: float = Field(300, gt=0)
    second_reviewer: bool = False
    recheck: float = Field(0, ge=0, le=1, description="Share of decided tickets that another reviewer decides blindly.")
    key_period_s: float = Field(3_600, ge=1, le=86_400, description="Keys are destroyed when their period is over.")
    webhook: Webhook | None = None


class Settings(BaseSettings):
    """Everything that a service is told. Unknown names are refused."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True)

    guards: dict[str, GuardSettings] = Field(min_length=1)
    default_guard: str | None = Field(None, description="For requests that name no guard; the only one if there is "
                                                        "one.")
    mode: Mode = "enforce"
    review_flags: bool = Field(False, description="Flags become tickets too, not abstentions only.")
    host: str = "127.0.0.1"
    port: int = Field(8300, ge=0, le=65535)
    keys: Path | None = Field(None, description="The file that `discreet serve key add` writes.")
    no_auth: bool = Field(False, description="Everybody may do everything; on the loopback only.")
    trusted_proxies: tuple[IPvAnyNetwork, ...] = Field(
        (), description="Networks of proxies whose X-Forwarded-Proto and X-Forwarded-For are believed.")
    workers: int = Field(default_factory=lambda: max(1, min(4, os.cpu_count() or 1)), ge=1, le=256)
    processes: int = Field(1, ge=1, le=64, description="Processes that listen on the port, each with its workers.")
    deadline_s: float = Field(30, gt=0, description="Seconds that one answer may take; then it is failed.")
    start_s: float = Field(120, gt=0, description="Seconds in which a worker must have loaded and judged its warm-up.")
    hold_s: float = Field(0, ge=0, description="Seconds that a door waits for a reviewer before it answers pending.")
    keep_alive_s: float = Field(10, gt=0, description="Seconds between comments on a stream that is held.")
    drain_s: float = Field(30, ge=0, description="Seconds that requests have to end after SIGTERM.")
    limits: Limits = Limits()  # type: ignore[call-arg]
    conversations: ConversationSettings = ConversationSettings()  # type: ignore[call-arg]
    withheld: WithheldSettings = WithheldSettings()  # type: ignore[call-arg]
    upstream: Upstream | None = None
    queue: QueueSettings | None = None
    oidc: Oidc | None = None
    log_file: Path | None = Field(None, description="Where JSON Lines go; standard error if not given.")
    trace: bool = Field(False, description="OpenTelemetry spans by the process's own tracer.")

    @model_validator(mode="after")
    def _whole(self) -> Settings:
        for name in self.guards:
            if not name or not all(c.isalnum() or c in "-_." for c in name):
                raise ValueError(f"guards: {name[:40]!r} is no name; expected letters, digits, '-', '_' and '.'")
        if self.default_guard is not None and self.default_guard not in self.guards:
            raise ValueError(f"default_guard is {self.default_guard[:40]!r}; expected one of {', '.join(self.guards)}")
        if self.no_auth and not is_loopback(self.host):
            raise ValueError(f"no_auth with host {self.host}: without keys the service listens on the loopback only; "
                             "expected host 127.0.0.1 or a file of keys")
        if not self.no_auth and self.keys is None:
            raise ValueError("keys is missing: expected the file that 'discreet serve key add' writes, or no_auth on "
                             "the loopback")
        if self.no_auth and self.keys is not None:
            raise ValueError("keys and no_auth were given together; expected one of them")
        if self.oidc is not None and (self.queue is None or self.no_auth):
            raise ValueError("oidc signs in to the console, beside keys; expected queue and keys with it")
        for guard in () if self.oidc is None else self.oidc.guards():
            if guard != "*" and guard not in self.guards:
                raise ValueError(f"oidc: {guard[:40]!r} is no guard; expected '*' or one of {', '.join(self.guards)}")
        if self.upstream is not None and is_served_here(self.upstream.url, self.host, self.port):
            raise ValueError(f"upstream.url is host {self.host} and port {self.port}, this service itself; expected "
                             "the address of the model, or another port")
        if self.hold_s and self.queue is None:
            raise ValueError("hold_s waits for reviewers, but there is no queue; expected queue with it")
        return self

    @property
    def default(self) -> str | None:
        """The guard of requests that name none."""
        return self.default_guard or (next(iter(self.guards)) if len(self.guards) == 1 else None)

    def mode_of(self, guard: str) -> Mode:
        """Whether a guard enforces or observes."""
        return self.guards[guard].mode or self.mode

    def reviews_flags(self, guard: str) -> bool:
        """Whether the flags of a guard become tickets."""
        own = self.guards[guard].review_flags
        return self.review_flags if own is None else own

    @classmethod
    def settings_customise_sources(cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
                                   env_settings: PydanticBaseSettingsSource,
                                   dotenv_settings: PydanticBaseSettingsSource,
                                   file_secret_settings: PydanticBaseSettingsSource
                                   ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What the program says wins over the environment, and that over the file."""
        return init_settings, env_settings, InitSettingsSource(settings_cls, dict(_FILE.get()))

    @classmethod
    def read(cls, file: Path | None = None, **over: Any) -> Settings:
        """The settings of a YAML file, the environment over it, and `over` over both.

        Raises InputError or UsageError in one line, which names the setting and never its value where that may be a
        secret; UsageError too for a variable of the environment that is a misspelt setting.
        """
        check_environment(cls, PREFIX, os.environ)
        before = _FILE.set({} if file is None else _read_yaml(file))
        try:
            return cls(**over)
        except ValidationError as error:
            raise (UsageError if file is None else InputError)(_in_words(error, file)) from None
        except ValueError as error:  # A variable that is no JSON where JSON is expected.
            raise UsageError(f"the environment: {str(error).splitlines()[0]}; expected JSON in it") from None
        finally:
            _FILE.reset(before)


def _read_yaml(file: Path) -> Mapping[str, Any]:
    expected = "expected lines such as 'mode: enforce'"
    read = read_yaml(file, "a YAML file of settings", expected)
    if not isinstance(read, dict) or not all(isinstance(key, str) for key in read):
        raise InputError(f"{file} holds no settings; {expected}")
    return read


def _in_words(error: ValidationError, file: Path | None) -> str:
    """The first mistake, and how many more there are."""
    # A misspelt setting may be missing under its right name too: the wrong one says more.
    first, *more = sorted(error.errors(include_url=False, include_input=False, include_context=False),
                          key=lambda one: one["type"] != "extra_forbidden")
    at = ".".join(str(part) for part in first["loc"])
    said = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        said = f"is not a setting ({meant(first['loc'][-1], beside(Settings, first['loc']))})"
    elif at == "guards" and first["type"] == "missing":
        at, said = "", "guards is missing; expected --domain, --guard, or guards in the file of --config"
    elif not said[:2].isupper():
        said = said[:1].lower() + said[1:]
    where = "" if file is None else f"{file}: "
    rest = f" (and {len(more)} more)" if more else ""
    return f"{where}{at + ': ' if at else ''}{said}{rest}; see docs/serve.md"
