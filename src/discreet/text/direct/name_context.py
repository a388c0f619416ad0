"""What the words around a capitalised name say: whose it is, in what office, in which case, in what hypothetical."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from discreet.text.direct import name_words as words

_FORM = re.compile(
    r"(?:[^\W\d_a-z][^\W\dA-Z_]+|(?:Mc|Mac|O'|D'|De|Di|La|Le|Van)[A-Z][^\W\dA-Z_]+)(?:['-][^\W\d_]{1,60})*"
)
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-ɏḀ-ỿ](?<![\w'-].)\w*(?:['-]\w+){0,6}")
_OWN = re.compile(r"'s$|'S$")

_BEFORE = 72
_PERSON = rf"(?:{words.KIN}|{words.ROLES})"
_BOUND_BEFORE = re.compile(
    rf"\b{_PERSON}(?: (?:is|was))?,? ?(?:(?:named|called|known as|by the name of) )?[\"'(*_]{{0,3}}$"
)
_NAMED_BEFORE = re.compile(
    r"(?:\b(\w+) )?\b(?:named|name is|name's|name was|i'm|i am|this is|sincerely,|signed,?|goes by|identified as)"
    r"\s[\"'(*_]{0,3}$"
)
_BOUND_AFTER = re.compile(
    r"(?:,? \(?(?:aged? )?\d{1,3}(?:,|\)| ?\(|[- ]years?|[- ]y/?o)|,? (?:who|whose|whom)\b|"
    rf"(?:'s|s') (?:\w+ )?(?:{words.KIN}|{words.BELONGINGS})\b|"
    r" (?:is|was|has been|had been) (?:an? |now |recently |later |first |currently |also )*(?:\d{1,3}\b|diagnosed|"
    r"admitted|hospitali[sz]ed|pregnant|married|divorced|born|prescribed|discharged|referred|treated|arrested|charged|convicted|"
    r"widowed|single|retired|unemployed|employed|suffering|living|working|seen|evaluated|experiencing)\b|"
    r" (?:lives|lived|works|worked|suffers|suffered|presented|presents|complains|complained|earns|earned|weighs|"
    r"underwent|developed|tested|retired|attends|attended|graduated|grew up|resides|immigrated|emigrated|gave birth|"
    r"has (?:a history|type \d|two children|three children|diabetes|asthma|cancer|depression|been diagnosed))\b)"
)
_APPOSITION = re.compile(r", (?:an?|the|my|his|her|their|our) [^,.;]{1,60}(?:(,) ?(\w+))?")
_ACTS = (
    r"(?:sues?|sued|sells?|sold|buys?|bought|conveys?|conveyed|devises?|devised|grants?|granted|leases?|leased|rents?|"
    r"rented|offers?|offered|accepts?|accepted|promises?|promised|agrees?|agreed|contracts?|contracted|owes?|owed|pays?|"
    r"paid|owns?|owned|hires?|hired|fires?|fired|assaults?|assaulted|batters?|hits?|strikes?|struck|shoots?|shot|stabs?|"
    r"stabbed|kills?|killed|steals?|stole|robs?|robbed|breaks?|broke|enters?|entered|drives?|drove|dies|died|executes?|"
    r"executed|signs?|signed|writes?|wrote|mails?|mailed|sends?|sent|tells?|told|asks?|asked|gives?|gave|takes?|took|"
    r"leaves?|left|transfers?|transferred|assigns?|assigned|delivers?|delivered|breach(?:es|ed)?|defaults?|defaulted|"
    r"injures?|injured|trespass(?:es|ed)?|threatens?|threatened|punch(?:es|ed)?|push(?:es|ed)?|files?|filed|"
    r"borrows?|borrowed|lends?|lent|loans?|loaned|deposits?|deposited|invests?|invested|purchases?|purchased|"
    r"encrypts?|decrypts?|receives?|received|refuses?|refused|builds?|built|records?|recorded|possess(?:es|ed)?|"
    r"defames?|defamed|negligently|intentionally|orally|wrongfully|mistakenly|knowingly|then|later|also|wants?|"
    r"may|can|could|would|will|should|must|cannot|might|did|does|has|had|is|was|brings?|brought|claims?|claimed|"
    r"argues?|argued|alleges?|alleged|prevails?|recovers?|wins?|won|loses?|lost|moves?|moved|appeals?|appealed)"
)
_ACT_AFTER = re.compile(rf" {_ACTS}\b")
_ACT = re.compile(rf"{_ACTS}\b")
_ACT_BEFORE = re.compile(
    rf"\b{_ACTS} (?:(?:to|from|against|with|by|for|the|his|her|their|an?|land|blackacre|greenacre|whiteacre) )*$"
)

_OFFICE_NOUN = (
    r"judge|justice|magistrate|physician|surgeon|doctor|cardiologist|oncologist|psychiatrist|psychologist|neurologist|"
    r"pediatrician|obstetrician|gynecologist|dermatologist|radiologist|pathologist|internist|hospitalist|specialist|"
    r"therapist|nurse|nurse practitioner|midwife|pharmacist|paramedic|coroner|medical examiner|professor|senator|"
    r"representative|congressman|congresswoman|governor|president|prime minister|mayor|secretary|commissioner|"
    r"ambassador|attorney general|solicitor general|prosecutor|district attorney|public defender|detective|officer|"
    r"agent|sheriff|deputy|trooper|sergeant|lieutenant|captain|inspector|king|queen|pope|author|researcher|scientist|"
    r"economist|philosopher|psychoanalyst|statistician|mathematician"
)
_OFFICE_BEFORE = re.compile(rf"\b(?:{_OFFICE_NOUN}|secretary of (?:\w+ )?\w+|director of (?:the )?\w+),? $")
_CREDENTIAL_AFTER = re.compile(rf",? (?:{words.CREDENTIALS})")
_AUTHOR_AFTER = re.compile(r",? [*_]{0,2}et al\b")
_PARTNER = re.compile(r" & ([A-Z]\w+)")
_THING_AFTER = re.compile(rf"(?:['’]s?)?[ -]{words.NAMED_AFTER}\b")
_VERSUS = re.compile(r" (?:v|vs|versus)\.? ")
_PARTY_GAP = re.compile(
    r" ?(?:(?:of|the|and|&|for|a|ex rel\.|ex parte|in re|d/b/a|de|la|van|von) ){0,3}|"
    r", (?=Inc|LLC|Corp|Ltd|L\.L|Co\b)|\. | & |-"
)
_IN_RE = re.compile(
    r"\b(?:In re|Ex parte)(?: the)?(?: (?:Marriage|Estate|Matter|Guardianship|Adoption|Interest) of)? $"
)


class Token(NamedTuple):
    """A capitalised word; a possessive ending is left off, and `own` says so."""

    start: int
    end: int
    word: str
    lower: str
    own: bool

    def __repr__(self) -> str:
        return f"Token({self.start}:{self.end})"


def capitals(text: str) -> list[Token]:
    """The capitalised words of a text, in order."""
    found = []
    for match in _CAPITAL.finditer(text):
        word = match.group()
        if word[0].isupper():
            own = _OWN.search(word) is not None
            word = word[:-2] if own else word
            found.append(Token(match.start(), match.start() + len(word), word, word.lower(), own))
    return found


def is_titlecase(word: str) -> bool:
    """Whether a word is written as names are, in one piece or in hyphens ("McDonald", "Mary-Jane"; not "LoRA")."""
    return _FORM.fullmatch(word) is not None


def case_tokens(text: str, tokens: list[Token]) -> set[int]:
    """Indices of the tokens that are parties in a case name ("Brown v. Board of Education")."""
    parties: set[int] = set()
    versus = list(_VERSUS.finditer(text))
    starts = {t.start: i for i, t in enumerate(tokens)} if versus else {}
    ends = {_stop(t): i for i, t in enumerate(tokens)} if versus else {}
    for match in versus:
        left = ends.get(match.start(), ends.get(match.start() - 1))
        right = starts.get(match.end())
        if left is None or right is None:
            continue
        parties |= {left, right}
        while left > 0 and _PARTY_GAP.fullmatch(text, _stop(tokens[left - 1]), tokens[left].start):
            left -= 1
            parties.add(left)
        while right + 1 < len(tokens) and _PARTY_GAP.fullmatch(text, _stop(tokens[right]), tokens[right + 1].start):
            right += 1
            parties.add(right)
    for i, token in enumerate(tokens) if "In re" in text or "Ex parte" in text else ():
        if _IN_RE.search(text, max(0, token.start - 40), token.start):
            parties.add(i)
    return parties


def _stop(token: Token) -> int:
    return token.end + 2 if token.own else token.end


def is_bound(lower: str, start: int, end: int, *, strictly: bool) -> bool:
    """Whether the words beside a lone given name bind it to a person.

    `strictly`, for names that are also words, asks for a relative or a role right before it.
    """
    before = lower[max(0, start - _BEFORE) : start]
    if _BOUND_BEFORE.search(before):
        return not (strictly and before.rstrip("\"'(*_ ").endswith(",") and lower[end : end + 1] != ",")
    if strictly:
        return False
    named = _NAMED_BEFORE.search(before)
    if named and named[1] not in words.ORGANISED:
        return True
    if _BOUND_AFTER.match(lower, end):
        return True
    apposition = _APPOSITION.match(lower, end)
    return apposition is not None and not (apposition[1] and _ACT.match(apposition[2]))


def is_person_after(lower: str, end: int) -> bool:
    """Whether what follows a full name is what follows a person's: an age, a deed, a relative."""
    return _BOUND_AFTER.match(lower, end) is not None or _APPOSITION.match(lower, end) is not None


def is_person_before(lower: str, start: int) -> bool:
    """Whether a relative or a role stands right before a name."""
    return _BOUND_BEFORE.search(lower[max(0, start - _BEFORE) : start]) is not None


def acts(lower: str, start: int, end: int) -> bool:
    """Whether a lone name does, or suffers, what parties do in a hypothetical."""
    apposition = _APPOSITION.match(lower, end)
    if _ACT_AFTER.match(lower, end) or (apposition and apposition[1] and _ACT.match(apposition[2])):
        return True
    return _ACT_BEFORE.search(lower[max(0, start - _BEFORE) : start]) is not None


def in_office(text: str, lower: str, start: int, end: int) -> bool:
    """Whether the bearer of a full name is named as a physician, judge, agent, official or author."""
    before = lower[max(0, start - _BEFORE) : start]
    return bool(
        _OFFICE_BEFORE.search(before) or _CREDENTIAL_AFTER.match(text, end) or _AUTHOR_AFTER.match(text, end)
    )


def is_firm(text: str, end: int, given: Mapping[str, str]) -> bool:
    """Whether "& Name" follows, as in a firm's name, and Name is no given name."""
    partner = _PARTNER.match(text, end)
    return partner is not None and partner[1].lower() not in given


def is_thing(lower: str, end: int, *, own: bool) -> bool:
    """Whether what follows makes a name that of a disease, a test or a law; `own` where "'s" may stand between."""
    match = _THING_AFTER.match(lower, end)
    return match is not None and (own or not match.group().startswith(("'", "’")))


def joined(text: str, end: int, start: int) -> bool:
    """Whether two names are listed together ("Tyler and Jake", "Tyler, Jake")."""
    return re.fullmatch(r",? (?:and|&|or) |, ", text[end:start]) is not None


def labels(text: str, lower: str) -> Iterator[tuple[int, bool]]:
    """Where a form's field for a name begins, and whether its label alone says so ("Patient name: …")."""
    for field in _FIELD.finditer(text):
        label = _LABEL.search(lower[max(0, field.start() - _BEFORE) : field.start()])
        if label:
            yield field.end(), label["sure"] is not None


_FIELD = re.compile(r"[:=][ \t\"'*_]{1,5}")
_LABEL = re.compile(
    r"(?<![\w-])(?:(?P<sure>(?:patient|client|member|customer|employee|tenant|borrower|insured|beneficiary|student|"
    r"resident|defendant|plaintiff|account ?holder|card ?holder|subscriber|guarantor|full|legal|maiden)(?:'s)?"
    r" (?:full |legal )?name)|name|patient|client|member|insured|borrower|defendant|plaintiff|petitioner|respondent)"
    r" ?[\"'*_]{0,3}$"
)
