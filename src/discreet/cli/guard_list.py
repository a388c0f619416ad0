"""`discreet guard list`: the domains and the recognisers of direct identifiers that are installed."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import flag
from discreet.core.files import dump_json


def installed(as_json: Annotated[bool, flag("Print JSON.", "--json")] = False) -> None:
    """Domains with their audiences, and recognisers with the types of direct identifiers that they find.

    "plug-in" stands behind a recogniser that another package brings. A domain of your own is a folder: --domain takes
    its path.
    """
    found, outside = lib.detect.recognisers, lib.detect.recognisers.outside()
    domains = {name: list(lib.domains.load_domain(name).policy["audiences"])
               for name in lib.domains.builtin_domains()}
    types = {name: list(one.types) for name, one in found.items()}
    if as_json:
        print(dump_json({"domains": domains, "recognisers": types, "plug_ins": outside}))
        return
    for heading, rows in (("domains", domains), ("recognisers", types)):
        print(heading)
        for name, listed in rows.items():
            print(f"  {name:<20}  {', '.join(listed)}{' (plug-in)' if rows is types and name in outside else ''}")
