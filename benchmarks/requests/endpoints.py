"""The requests of score.py through endpoints and integrations with their real clients, against `Guard.check`. Prints JSON.

    python -m benchmarks.requests.endpoints [--contents F …] [--shapes F] [--sample N] [--seed S] [--only proxy|langchain|llamaindex]
                                            [--output F]

proxy: OpenAI's client in front of `discreet serve` with a guard for each domain, whole answers and streams, in every shape. Keys: one
that declares nothing, one with --declares, one for each shape with its templates. The model is a server on the loopback that answers
`model="content-<id>"` with the answer of this content. The memory of withheld answers is off, because each answer comes many times.
langchain: `create_retrieval_chain` around the two prompts of CHAINS, and an agent with a retriever as a tool. llamaindex:
`RetrieverQueryEngine` with its default templates. Clients run in environments of their own (tests/serve/integrations/environments.py).

A row differs where its action is not that of `Guard.check` for the same content, shape and way. It is damaged where a safe answer did
not arrive as it was, or a withheld one arrived. Intervals are those of score.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn
import yaml
from benchmarks.requests.score import HERE, WAYS, Row, answers, earlier, lines, messages, pinned, share
from tests.serve.doors.upstream import Model
from tests.serve.integrations.environments import ROOT, environment

import discreet
from discreet.serve.keys import add_key

DOMAINS = ("medical", "finance", "law")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("PYTHON", "OPENAI")) and not name.lower().endswith("_proxy")}
CHAINS = ("langchain/retrieval-qa-chat", "langchain/rlm-rag-prompt")
AGENT, ENGINE = "langchain/agent-tool", "llamaindex/text-qa"
IN_LIBRARY = {"undeclared": "auto", "question": "auto"}
"""The way of score.py that is compared with a way of an integration; others have the same name."""
Pair = tuple[Row, Row]


def sampled(contents: list[Row], shapes: list[Row], most: int | None, seed: int) -> list[Pair]:
    """Every shape with its contents: `most` of each case, or all."""
    by: dict[str, list[Row]] = defaultdict(list)
    for one in contents:
        by[one["case"]].append(one)
    pairs: list[Pair] = []
    for shape in shapes:
        for case, of in by.items():
            drawn = random.Random(f"{seed} {shape['name']} {case}").sample(of, min(most or len(of), len(of)))
            pairs += [(shape, one) for one in drawn]
    return pairs


def asked_by(script: str, python: Path, given: list[Row]) -> list[Row]:
    """What a script beside this one prints for rows, in the environment of its client."""
    ended = subprocess.run([python, HERE / script], input="".join(json.dumps(one) + "\n" for one in given), env=CLEAN,
                           stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def row(endpoint: str, way: str, shape: Row, content: Row, reply: Row) -> Row:
    passed = reply["code"] == "ok"
    whole = reply["text"].strip() == content["answer"].strip()
    return {"endpoint": endpoint, "way": way, "shape": shape["name"], "id": content["id"], "case": content["case"],
            "action": action_of(reply["code"]), "code": reply["code"], "damaged": passed is not whole,
            **({"error": reply["text"]} if reply["code"] == "error" else {})}


def action_of(code: str) -> str:
    """The action of a reason code; an answer that could not be judged is an error."""
    known = {"ok": "safe", "privacy/undecided": "abstain", "privacy/not_judged": "error", "error": "error"}
    return known.get(code, "flag")


# The proxy


@contextmanager
def model_of(contents: list[Row]) -> Iterator[str]:
    """The address of a model that answers by its name."""
    said = {f"content-{one['id']}": one["answer"] for one in contents}
    server = uvicorn.Server(uvicorn.Config(Model(lambda body: said[body["model"]]), host="127.0.0.1", port=0,
                                           log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def service(folder: Path, upstream: str, keys: Path) -> Iterator[str]:
    """The address of `discreet serve` in a process of its own, when it is ready."""
    (folder / "serve.yaml").write_text(yaml.safe_dump({
        "guards": {name: {"domain": name} for name in DOMAINS}, "keys": str(keys), "workers": 2, "deadline_s": 300,
        "upstream": {"url": upstream}, "withheld": {"enabled": False}, "log_file": str(folder / "log.jsonl")}))
    run = "import sys; from discreet.cli.main import run; sys.exit(run())"
    environ = {**CLEAN, "PYTHONPATH": str(Path(discreet.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", run, "serve", "--config", "serve.yaml", "--port", "0"], cwd=folder,
                          env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[0].rstrip(",")
            until = time.monotonic() + 300
            while not is_ready(url):
                if process.poll() is not None or time.monotonic() > until:
                    raise TimeoutError("discreet serve was not ready after 300 s, or ended")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", timeout=60, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def sent(content: Row, shape: Row) -> tuple[list[Row], Row]:
    """The messages of a content in a shape as JSON, and the other fields of the request."""
    found: list[Row] = []
    for number, turn in enumerate(messages(content, shape)):
        one: Row = {"role": turn.role, "content": turn.text}
        if turn.role == "tool":
            one["tool_call_id"] = f"call_{number}"
            if found and found[-1] == {"role": "assistant", "content": ""}:
                call = {"name": "lookup", "arguments": "{}"}
                found[-1]["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": call}]
        found.append(one)
    if not shape.get("typed"):
        return found, {}
    if shape["framework"] == "Cohere":
        return found, {"documents": [{"data": {"text": text}} for text in content["passages"]]}
    blocks: list[Row] = [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
                         for text in content["passages"]]
    found[-1]["content"] = [*blocks, {"type": "text", "text": found[-1]["content"]}]
    return found, {}


def proxy(pairs: list[Pair]) -> list[Row]:
    python = environment("clients")
    given: list[Row] = []
    to: list[tuple[str, str, Row, Row]] = []
    with tempfile.TemporaryDirectory() as made, model_of([one for _, one in pairs]) as upstream:
        folder = Path(made)
        keys = folder / "keys.json"
        tokens = {"auto": add_key(keys, "caller", DOMAINS, "auto")[1],
                  "declared": add_key(keys, "caller", DOMAINS, "declared", declares=True)[1]}
        for number, shape in enumerate({one["name"]: one for one, _ in pairs}.values()):
            tokens[shape["name"]] = add_key(keys, "caller", DOMAINS, f"pinned-{number}", prompts=pinned(shape))[1]
        with service(folder, upstream, keys) as url:
            for way in WAYS:
                for stream in (False, True):
                    for shape, content in pairs:
                        turns, extra = sent(content, shape)
                        if way == "declared":
                            extra["discreet"] = {"user_words": content["user"]}
                        given.append({"url": f"{url}/guards/{content['domain']}/v1", "stream": stream, "extra": extra,
                                      "key": tokens[shape["name"] if way == "pinned" else way], "messages": turns,
                                      "model": f"content-{content['id']}"})
                        to.append(("proxy, streamed" if stream else "proxy", way, shape, content))
            replies = asked_by("ask_openai.py", python, given)
    return [row(*about, reply) for about, reply in zip(to, replies, strict=True)]


# Integrations


def langchain(pairs: list[Pair]) -> list[Row]:
    python = environment("langchain-chains", "langchain-classic>=1,<2", "--editable", f"{ROOT}[langchain]")
    ways = {**dict.fromkeys(CHAINS, ("undeclared", "question", "declared")), AGENT: ("undeclared", "declared")}
    to = [("langchain", way, shape, content) for shape, content in pairs for way in ways.get(shape["name"], ())]
    given = [_plain(content) | {"way": way, "shape": shape["name"], "messages": shape["messages"]}
             for _, way, shape, content in to]
    return [row(*about, reply) for about, reply in
            zip(to, asked_by("ask_langchain.py", python, given), strict=True)]


def llamaindex(pairs: list[Pair]) -> list[Row]:
    python = environment("llamaindex")
    to = [("llamaindex, streamed" if stream else "llamaindex", way, shape, content) for stream in (False, True)
          for shape, content in pairs if shape["name"] == ENGINE for way in ("undeclared", "declared")]
    given = [_plain(content) | {"way": way, "stream": name.endswith("streamed")} for name, way, _, content in to]
    return [row(*about, reply) for about, reply in
            zip(to, asked_by("ask_llamaindex.py", python, given), strict=True)]


def _plain(content: Row) -> Row:
    return {**{name: content[name] for name in ("id", "domain", "passages", "user", "answer")},
            "earlier": [{"role": turn.role, "text": turn.text} for turn in earlier(content)]}


# Results


def compared(rows: list[Row], pairs: list[Pair]) -> None:
    """Add to each row the action of `Guard.check`."""
    guards = {name: discreet.Guard(name) for name in DOMAINS}
    asked = {(shape["name"], content["id"]): (shape, content) for shape, content in pairs}
    known: dict[tuple[str, str, str], str] = {}
    for one in rows:
        way = str(IN_LIBRARY.get(one["way"], one["way"]))
        name = one["shape"], one["id"], way
        if name not in known:
            shape, content = asked[name[:2]]
            known[name] = action_of(guards[content["domain"]].check(answers(content, shape, way)).code)
        one["library"] = known[name]


def summary(rows: list[Row]) -> Row:
    found: Row = {}
    for endpoint in dict.fromkeys(one["endpoint"] for one in rows):
        mine = [one for one in rows if one["endpoint"] == endpoint]
        differ = [one for one in mine if one["action"] != one["library"]]
        found[endpoint] = {
            "by way": {way: _by_case([one for one in mine if _way(one) == way]) for way in dict.fromkeys(map(_way, mine))},
            "n": len(mine), "errors": [one for one in mine if one["action"] == "error"],
            "damaged": [one for one in mine if one["damaged"]],
            "differs from Guard.check": len(differ),
            "differences": dict(Counter(f"{one['shape']}, {one['way']}, {one['case']}: {one['library']} in the library, "
                                        f"{one['action']} here" for one in differ)),
            "rows": [f"{one['id']} in {one['shape']}, {one['way']}" for one in differ]}
    return found


def _way(one: Row) -> str:
    """The way of a row, with its chain or agent: the proxy has the same shapes for every way, integrations do not."""
    return str(one["way"] if one["endpoint"].startswith("proxy") else f"{one['shape']}: {one['way']}")


def _by_case(rows: list[Row]) -> Row:
    return {case: {"held": share([one["action"] != "safe" for one in rows if one["case"] == case]),
                   "passed": share([one["action"] == "safe" for one in rows if one["case"] == case])}
            for case in dict.fromkeys(one["case"] for one in rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contents", type=Path, nargs="+", default=[HERE / "contents.jsonl"])
    parser.add_argument("--shapes", type=Path, default=HERE / "shapes.json", help="Shapes of the proxy.")
    parser.add_argument("--sample", type=int, help="Contents of each case for each shape; all if not given.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("proxy", "langchain", "llamaindex"))
    parser.add_argument("--output", type=Path, help="Rows as JSON Lines.")
    args = parser.parse_args()
    contents = [one for path in args.contents for one in lines(path)]
    rows: list[Row] = []
    for name, run in (("proxy", proxy), ("langchain", langchain), ("llamaindex", llamaindex)):
        if args.only in (None, name):
            # Chains and query engines bring their own prompts, which are in our shapes.
            file = args.shapes if name == "proxy" else HERE / "shapes.json"
            pairs = sampled(contents, json.loads(file.read_text(encoding="utf-8")), args.sample, args.seed)
            done = run(pairs)
            compared(done, pairs)
            rows += done
    if args.output is not None:
        args.output.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main()
