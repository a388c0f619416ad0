"""Values of settings that can be wrong by themselves: secrets, and addresses."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, HttpUrl, SecretStr

ENDPOINTS = ("chat/completions", "completions", "responses", "messages")
"""What the service adds to the address of a model by itself."""


def _alone(given: SecretStr) -> SecretStr:
    said = given.get_secret_value()
    if not said or said != said.strip() or not said.isprintable():
        raise ValueError("it is empty, or has a space or a line break at an end; expected it alone, without the end of "
                         "the line of its file")
    return given


def _for_a_header(given: SecretStr) -> SecretStr:
    if not given.get_secret_value().isascii():
        raise ValueError("it has characters that no header can have; expected ASCII, as the model's provider gave it")
    return given


Secret = Annotated[SecretStr, AfterValidator(_alone)]
"""A password, or what signs: with a line break at its end it is another one."""
HeaderSecret = Annotated[Secret, AfterValidator(_for_a_header)]
"""A key that is sent in a header."""


def _base(given: HttpUrl) -> HttpUrl:
    path = "/" + (given.path or "").strip("/")
    if end := next((one for one in ENDPOINTS if path.endswith(f"/{one}")), None):
        raise ValueError(f"it ends with /{end}, which the service adds by itself; expected what stands before it, such "
                         "as http://127.0.0.1:8000/v1")
    if given.query or given.fragment:
        raise ValueError("it has a query or a fragment, which would not be sent; expected an address such as "
                         "http://127.0.0.1:8000/v1")
    return given


BaseUrl = Annotated[HttpUrl, AfterValidator(_base)]
"""The address of a model, to which the names of endpoints are added."""


def is_loopback(host: str) -> bool:
    """Whether a service on `host` is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def is_served_here(url: HttpUrl, host: str, port: int) -> bool:
    """Whether an address is that of the service which listens on a host and port."""
    there = (url.host or "").strip("[]")
    return url.port == port and (there == host or (
        is_loopback(there) and (is_loopback(host) or host in ("0.0.0.0", "::"))))
