"""Which hosts belong to the public, and which addresses on them are about one user."""

from __future__ import annotations

import re

_PUBLIC_SUFFIX = re.compile(
    r"(?:^|\.)(?:gov|edu|mil|int|org|(?:gov|gob|gouv|edu|ac|org|nhs|mil)\.[a-z]{2}|nhs\.uk|europa\.eu|gc\.ca|govt\.nz)$"
)
# Reference works, journals, agencies' contractors and household names that answers link to.
PUBLIC_SITES = frozenset(
    ["medscape.com", "webmd.com", "healthline.com", "drugs.com", "rxlist.com", "uptodate.com", "merckmanuals.com",
     "msdmanuals.com", "epocrates.com", "everydayhealth.com", "verywellhealth.com", "medicalnewstoday.com",
     "statpearls.com", "radiopaedia.org", "thelancet.com", "bmj.com", "nature.com", "cell.com", "jamanetwork.com",
     "sciencedirect.com", "springer.com", "wiley.com", "tandfonline.com", "elsevier.com", "britannica.com",
     "investopedia.com", "nerdwallet.com", "bankrate.com", "morningstar.com", "vanguard.com", "fidelity.com",
     "schwab.com", "irs.com", "turbotax.com", "hrblock.com", "annualcreditreport.com", "equifax.com", "experian.com",
     "transunion.com", "myfico.com", "bloomberg.com", "reuters.com", "wsj.com", "ft.com", "nytimes.com", "cnn.com",
     "bbc.com", "bbc.co.uk", "law.com", "justia.com", "findlaw.com", "nolo.com", "avvo.com", "lexisnexis.com",
     "westlaw.com", "casetext.com", "courtlistener.com", "law360.com", "google.com", "bing.com", "microsoft.com",
     "apple.com", "amazon.com", "wikipedia.com", "wikihow.com", "goodrx.com", "zocdoc.com", "988lifeline.com"]
)  # fmt: skip
_USER_PATH = re.compile(
    r"[~@]|/(?:users?|u|profiles?|in|people|person|members?|staff|faculty|accounts?|patients?|clients?|employees?)/|"
    r"[?&;](?:id|uid|user|userid|user_id|username|member|memberid|patient|patientid|pid|account|acct|mrn|case|client|"
    r"customer|token|session|sid|sessionid|key|email|name|ssn|dob)=",
    re.I,
)


def is_public_host(host: str) -> bool:
    """Whether a lower-case host is of a public institution or a household name: .gov, .edu, .org, .int, or listed."""
    return bool(_PUBLIC_SUFFIX.search(host)) or ".".join(host.split(".")[-2:]) in PUBLIC_SITES


def is_about_a_user(rest: str) -> bool:
    """Whether what follows a host names one user: '~', '@', /user/, /profile/, /in/ and the like, or an id."""
    return _USER_PATH.search(rest) is not None
