"""The guard between an agent's model and the tools of an MCP server.

    pip install discreet 'mcp>=2.3,<3'
    python examples/mcp_client.py

The server is this file as well, in a process of its own over stdio. A list stands in for the model. What goes to whom
is printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from fnmatch import fnmatchcase
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from discreet import Answer, Guard
from discreet.inputs.messages import asked_of, says_words_alone

server = MCPServer("clinic")


@server.tool()
def find_note(query: str) -> dict[str, Any]:
    """Find a note."""
    return {"note": "Pt is a litigator from Omaha with two children, seen for chest pain.", "age": 52}


@server.tool()
def mail_send(to: str, body: str) -> str:
    """Send a mail."""
    print(f"mailed: {body}", file=sys.stderr)
    return "Sent."


@server.tool()
def delete_note(query: str) -> str:
    """Delete a note."""
    print(f"deleted: {query}", file=sys.stderr)
    return "Deleted."


TOOLS = {"find_*": "allow", "delete_*": "withhold", "*": "judge"}
"""What becomes of arguments, by the first name that matches: the records may be told whom the user asks for, whoever
gets a mail may not be told of anybody, and nothing is deleted by a model."""
KNOWN = ("news@example.org",)
"""Addresses to which the host may write: an address that stands in arguments else counts as somebody's."""


class Host:
    """What stands between a model and its tools: `messages` is what the model was given."""

    def __init__(self, client: Client, guard: Guard, question: str) -> None:
        self.client, self.guard = client, guard
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]

    def may_say(self, text: str, *, calls: bool = False) -> bool:
        """Judge a text of the model in its request; results of tools are no words of the user."""
        question, turns = asked_of(self.messages)
        calls = calls and says_words_alone(self.messages)
        return self.guard.check(Answer("1", text, question, conversation=turns, calls=calls)).action == "safe"

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool, if it may be told that, and keep its result as the tool's."""
        how = next(how for name, how in TOOLS.items() if fnmatchcase(tool, name))
        told = {name: value for name, value in arguments.items() if value not in KNOWN}
        text = json.dumps(told, ensure_ascii=False)
        if how == "withhold" or (how == "judge" and not self.may_say(text, calls=True)):
            return "withheld"
        result = await self.client.call_tool(tool, arguments)
        call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        self.messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "1", **result.model_dump(mode="json", by_alias=True)}]
        return "called"


LEAK = "The patient seen today is a 52-year-old litigator from Omaha with two children."
SAFE = "Chest pain that comes with exercise should be seen by a doctor."
MODEL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_note", {"query": "today"}), ("mail_send", {"to": "news@example.org", "body": LEAK}),
    ("mail_send", {"to": "news@example.org", "body": SAFE}), ("delete_note", {"query": "today"}))


async def main() -> None:
    """Call what the model calls, then say what it says."""
    async with Client(StdioServerParameters(command=sys.executable, args=[__file__, "serve"])) as client:
        host = Host(client, Guard("medical"), "Who was seen today, and for what?")
        for tool, arguments in MODEL:
            print(tool, await host.call(tool, arguments))
        for answer in (LEAK, SAFE):
            print("answer", answer if host.may_say(answer) else "withheld")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server.run("stdio")
    else:
        asyncio.run(main())
