"""Places that a person comes from, lives, works or was born in; a town that is only mentioned is nobody's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.finders import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers

_TIES = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing|ent)|moved|moving|move|relocat\w+|from|born|raised|grew up|grow(?:ing)? up|native|based|"
    r"settled|hometown|home|house|apartment|emigrated|immigrated|immigrant|migrated|came|located|location|work(?:s|ed|ing)?|job|"
    r"employed|teach(?:es|ing)?|practic(?:e|es|ing)|attend\w*|stud(?:y|ies|ied|ying)|student|stationed|deployed|citizen|domiciled|"
    r"commut\w+|travel(?:l?ed|l?ing|s)? (?:to|from)|trip to|visited|returned from|vacation\w* (?:in|to)|here in|back in|bought|purchased|"
    r"rent(?:s|ed|ing)?|lease|property|estate|arrested|charged|filed|county of|state of|city of|community (?:in|of)|village|town|rural|"
    r"suburb\w*|mom|dad|parent|couple|driv(?:e|es|ing)|area|region|i'?m in|i am in|we'?re in|we are in|she is in|he is in)\b[^.;!?]{0,45}$")
_LIVE_FIRST = re.compile(r"(?:^|[(\[\n])\s*(?:location:?\s*)?$", re.I)
_TITLE_PLACE = re.compile(r"\b(?:University|College|Hospital|Institute|Journal|Press|Department|School|Bank|Court|Supreme|District|Medical|General)\b")
_BOUND_VAGUE = re.compile(
    r"\b(?:in|from|near|outside|around) (?:a|an|the|our|my|his|her) (?:very |fairly |pretty )?((?:small|tiny|rural|remote|coastal|mountain|little|"
    r"suburban|farming|mining|southern|northern|midwestern|border|ski)[- ](?:\w+ )?(?:town|village|community|city|county|state|area|reservation))\b", re.I)
# Schemes and offices of one country: a careful reader takes the country of a speaker who lives by them.
_SCHEMES = {
    "US": re.compile(r"\b(?:food stamps|SNAP benefits|EBT|Medicaid|SSI|SSDI|Section 8 (?:housing|voucher)s?|WIC|Obamacare|TANF|FAFSA|Pell grant|USPS|Goodwill store|GED|DMV|CPS)\b"),
    "GB": re.compile(r"\b(?:NHS|Universal Credit|council tax|jobseeker'?s allowance|housing benefit|A-levels|GCSEs?|Citizens Advice|P45|HMRC)\b"),
    "AU": re.compile(r"\b(?:Centrelink|TAFE|Medicare levy|superannuation|AUD?\b)"),
    "CA": re.compile(r"\b(?:RRSP|TFSA|Service Canada|CAD|regie|OSAP|Ontario Works)\b"),
    "IN": re.compile(r"\b(?:lakhs?|crores?|Aadhaar|NRE account|NRI)\b"),
}
_ONLY_IN = re.compile(r"\bthe only (?:[\w'-]+ ){1,5}in ((?:his|her|our|my|the|their) (?:county|town|village|city|school|district|department|region|state|parish|island|valley|area))\b", re.I)
_MOVED_HERE = re.compile(r"\bsince (?:we|i|he|she|they) moved here\b|\bmoved here (?:from|for)\b", re.I)
_ZIP = re.compile(r"\b(?:zip(?: code)?:?\s*|[A-Z]{2}\s)(\d{5})(?:-\d{4})?\b")
# Postal abbreviations that are hardly ever anything else in a personal text.
_SURE_STATES = frozenset("SC NY NYC NJ CA TX FL GA MN WI WA AZ NV NM NH CT TN KY OH UT KS MO IL WV ND SD NE RI VT WY IA MT AK UK USA".split())
_LAW_AFTER = frozenset("law laws statute statutes state resident residents area code leasing landlord tenant police court courts dmv based here".split())
_PREPOSITIONS = frozenset("in from near at of to around outside across through via into - based , ( [ and".split())


@taggers.register("place")
class PlaceTagger:
    """Listed places with a tie to a person, and described ones."""

    kinds = ("place",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Gazetteer places with a tie in their clause; vague but narrowing places; postal codes."""
        doc = context.doc
        skip_until = 0
        for first, last, key in matcher("places").find(doc.lowers):
            if first < skip_until or not self._is_name(context, first, last, key):
                continue
            skip_until, path = self._with_region(context, first, last, key)
            tie = self._tie(context, first, skip_until)
            if tie is not None:
                yield context.mention("place", path, first, skip_until, tie[0], weak=tie[1])
        for m in _BOUND_VAGUE.finditer(context.text):
            yield Mention("place", m.group(1).lower(), m.start(1), m.end(1), "a described place", weak=True)
        if context.is_personal:
            for country, scheme in _SCHEMES.items():
                for m in scheme.finditer(context.text):
                    yield Mention("place", country, m.start(), m.end(), "scheme of a country", "speaker", weak=True)
        for m in _ONLY_IN.finditer(context.text):
            yield Mention("place", f"the only one in {m.group(1).lower()}", m.start(1), m.end(1), "the only one in a place", weak=True)
        for m in _MOVED_HERE.finditer(context.text):
            yield Mention("place", "moved here", m.start(), m.end(), "a move to a place", weak=True)
        for m in _ZIP.finditer(context.text):
            yield Mention("place", m.group(1), m.start(1), m.end(1), "postal code")

    def _is_name(self, context: Context, first: int, last: int, key: str) -> bool:
        token = context.doc.tokens[first]
        entry = gazetteers.places()[key]
        if entry.flag == "a":
            sure = context.is_personal and token.text in _SURE_STATES
            return token.text.isupper() and (sure or self._abbreviates(context, first, last))
        if not token.text[0].isupper():
            return False
        following = context.doc.tokens[last] if last < len(context.doc.tokens) else None
        if following is not None and following.text[0].isupper() and following.sentence == token.sentence \
                and (_TITLE_PLACE.match(following.text) or following.lower in gazetteers.organisation_heads()):
            return False
        before = context.doc.lowers[first - 1] if first else ""
        if first and context.doc.tokens[first - 1].text[0].isupper() and before.isalpha() and before not in lex.FUNCTION \
                and context.doc.tokens[first - 1].sentence == token.sentence and before not in ("i", "location", "north", "south"):
            return False
        return entry.flag != "w" or before in _PREPOSITIONS

    def _abbreviates(self, context: Context, first: int, last: int) -> bool:
        before = context.doc.lowers[first - 1] if first else ""
        if before in ("in", "from") and context.text[context.doc.tokens[first].start:context.doc.tokens[last - 1].end] not in ("IN", "OR", "ME", "OK", "HI"):
            return True
        after = context.text[context.doc.tokens[last - 1].end:context.doc.tokens[last - 1].end + 1]
        return before in ("[", "(") and after in ("]", ")")

    @staticmethod
    def _person(words: tuple[str, ...]) -> bool:
        """Whether words end in somebody: "tenants", "bank teller"."""
        last = gazetteers.singular(words[-1])
        if last in lex.PERSON_NOUNS or last in lex.KIN:
            return True
        jobs = (gazetteers.occupations().get(" ".join((*words[-n:-1], last))) for n in (1, 2, 3))
        return any(job is not None and job.flag != "w" for job in jobs)

    def _with_region(self, context: Context, first: int, last: int, key: str) -> tuple[int, str]:
        """"Springfield, IL" is one place."""
        doc = context.doc
        path = gazetteers.places()[key].path
        if last + 1 < len(doc.tokens) and doc.lowers[last] == ",":
            for width in (2, 1):
                region = " ".join(t.text for t in doc.tokens[last + 1:last + 1 + width])
                if region[:1].isupper() and region.lower().replace(".", "") in gazetteers.places():
                    joint = gazetteers.canonical_place(f"{key}, {region}")
                    if joint is not None:
                        return last + 1 + width, joint
        return last, path

    def _tie(self, context: Context, first: int, last: int) -> tuple[str, bool] | None:
        """Why the place is somebody's: (reason, weak), or None."""
        doc = context.doc
        begin, end = doc.sentence_of(first)
        start = doc.tokens[first].start
        before = context.lower[max(doc.tokens[begin].start, start - 96):start]
        nxt = doc.lowers[last] if last < end else "."
        if nxt == "-" and last + 1 < end and doc.lowers[last + 1] in ("based", "born", "area"):
            return "based in a place", False
        if nxt in lex.PERSON_NOUNS or nxt in gazetteers.occupations():
            return "a person of a place", False
        if first - 2 >= begin and doc.lowers[first - 1] in ("in", "from", "near", "outside") and self._person(doc.lowers[max(begin, first - 4):first - 1]):
            return "a person of a place", False
        found = _TIES.search(before)
        if found:
            word = found.group().split()[0]
            strong = word[:4] in ("live", "livi", "resi", "born", "rais", "grew", "nati", "from", "base", "move", "relo", "immi", "emig", "i'm",
                                  "im", "i", "work", "home", "domi", "here", "loca", "rura", "stat")
            near = len(found.group()) < 30
            return "tied to a person", not (strong and near)
        if _LIVE_FIRST.search(context.text[max(0, start - 14):start]) and context.is_personal:
            return "stated location", True
        if context.is_personal and (nxt in _LAW_AFTER or gazetteers.places()[doc.words(first, last)].flag == "a"
                                    if doc.words(first, last) in gazetteers.places() else nxt in _LAW_AFTER):
            return "where a speaker's matter is", True
        if context.is_personal and doc.lowers[first - 1:first] == ("in",):
            return "where a speaker's matter is", True
        return None
