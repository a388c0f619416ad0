"""What a door asks of who asks: the role of a key. Keys stand in headers; a cookie of the console opens no door."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from discreet.serve.keys import CALLER, Caller, Role
from discreet.serve.limits import RefusedError

_BEARER = HTTPBearer(auto_error=False, scheme_name="bearer", description="Authorization: Bearer <key>")
_HEADER = APIKeyHeader(name="x-api-key", auto_error=False, scheme_name="header")


def allowed(*roles: Role) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency that gives the Caller whom `Admission` let in; refuses with 403 for another role."""
    async def found(request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
                    header: Annotated[str | None, Security(_HEADER)]) -> Caller:
        caller: Caller = request.scope[CALLER]
        if caller.role not in roles:
            raise RefusedError(403, "forbidden", f"the key's role is {caller.role}; expected {' or '.join(roles)}")
        return caller

    return found


CallerOf = Annotated[Caller, Depends(allowed("caller", "operator"))]
OperatorOf = Annotated[Caller, Depends(allowed("operator"))]
ReviewerOf = Annotated[Caller, Depends(allowed("reviewer"))]
