"""Ages: numbers, decades, dates of birth as years, and life stages as narrow as an age."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.mentions import Context, Mention, taggers

_WORDS = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
          "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety").split()
_VALUES = dict(zip(_WORDS, [*range(1, 20), *range(20, 100, 10)], strict=True))
_NUMBER = rf"(?:\d{{1,3}}(?:\.5)?|(?:{'|'.join(_WORDS[19:])})(?:[- ](?:{'|'.join(_WORDS[:9])}))?|{'|'.join(_WORDS[:19])})"
_DECADE = r"(?:\d0|teen|twent|thirt|fort|fift|sixt|sevent|eight|ninet)(?:['’]?s|ies)"
_UNIT = r"(?:years?|yrs?|months?|mos?|weeks?|wks?|days?)"

_OLD = re.compile(rf"\b({_NUMBER})(?:[- ]|\s-\s)*{_UNIT}(?:[- ]|\s-\s)*(?:olds?\b|of age\b)", re.I)
_SHORT = re.compile(r"\b(\d{1,3})\s?(?:[yY]/?[oO]|yrs?\.? old|y\.o\.)\b|\b(\d{2})[FM]\b|"
                    r"[(\[]\s?(\d{2})\s?[,/]?\s?[MF]\s?[)\]]|[(\[]\s?[MF]\s?[,/]?\s?(\d{2})\s?[)\]]|\b[MF](\d{2})\b")
_AGED = re.compile(rf"\b(?:aged?|age of|at age|at the age of|age is|age:)[:,]?\s+({_NUMBER})\b(?!\s*(?:-|to|and|or|through)\s*\d)", re.I)
_BARE = re.compile(rf"\b(?:i(?:'?m| am| was| just turned| turned| will be| turn)|(?:s?he)(?:'s| is| was| just turned| turned)|"
                   rf"who(?:'s| is| was| turned))(?: (?:only|now|currently|just|about|almost|nearly))? ({_NUMBER})\b"
                   rf"(?!\s*(?:%|percent|years? (?!old|of age)|months?|weeks?|days?|hours?|minutes?|miles|pounds|lbs|kg|cm|feet|"
                   rf"dollars|k\b|of\b|th\b|st\b|in\b|time|and a half|-))", re.I)
_COMMA = re.compile(r"\b([A-Za-z]+), (\d{2}),? ")
_NOUN_IS = re.compile(rf"\b([A-Za-z-]+)(?:'s| is| was| turned)(?: now| only| just| about| almost)? ({_NUMBER})(?=\s*(?:[,.;!?)]|and|but|with|who|$))(?!\.\d)", re.I)
_PEOPLE = frozenset((*lex.PERSON_NOUNS, *lex.KIN))
_AT = re.compile(r"\b[Aa]t (\d{2}),? (?=(?:she|he|I|my|his|her|we|this|the (?:patient|client|plaintiff|defendant)) )")
_IN_DECADE = re.compile(rf"\b(?:in|into|of) (?:his|her|my|our|their|your|the)? ?(?:(early|mid|late|mid-to-late|early-to-mid)[- ]?)?({_DECADE})\b", re.I)
_BORN = re.compile(r"\bborn (?:in|on|circa)? ?(?:\d{1,2} )?(?:[A-Z][a-z]+ (?:\d{1,2},? )?)?((?:19|20)\d{2})\b")
_STAGE = re.compile(
    r"\b(?:(newborn|neonate|infant|toddler|teenager|teenaged?|adolescent|preteen|tween|septuagenarian|octogenarian|"
    r"nonagenarian|centenarian|quadragenarian|quinquagenarian|sexagenarian|college (?:freshman|sophomore|junior|senior)|"
    r"(?:freshman|sophomore|junior|senior) (?:in|at|year (?:of|in)) (?:high school|college|university)|"
    r"(?:freshman|sophomore|junior|senior) year|high[- ]school (?:freshman|sophomore|junior|senior|student)|"
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|1st|2nd|3rd|\dth|1\dth)[- ]grader?|"
    r"middle[- ]school(?:er)?|kindergartner|preschooler|eighth decade|(?:third|fourth|fifth|sixth|seventh|ninth) decade of life)\b)",
    re.I)
_DECADE_JOB = re.compile(r"\bmy (second|third|fourth|fifth) decade (?:on|in|at|as)\b", re.I)
_SCHOOL = re.compile(r"\b(?:my|our) (?:high|middle|elementary) school\b(?! (?:friend|sweetheart|reunion|years))|\b(?:still|currently) in (?:high|middle) school\b", re.I)
_TURNS = re.compile(r"\b(?:turned|turning|turns|will turn)(?: just| only)? (\d{1,3})\b(?!\s*(?:%|percent|degrees|pages|points))", re.I)
_BRACKET = re.compile(r"\b([A-Za-z]+) \((?:aged? )?(\d{2})\s?[,;)]")
_BROAD = frozenset("newborn neonate infant toddler teenager teenage teenaged adolescent preteen tween".split())
_PATTERNS = ((_TURNS, "age in years"), (_BRACKET, "age in brackets"), (_OLD, "age in years"), (_SHORT, "age in short form"), (_AGED, "age in years"), (_BARE, "age in years"),
             (_COMMA, "age after a name"), (_NOUN_IS, "age in years"), (_AT, "age in years"))
_AFTER_SUBJECT = (_COMMA, _NOUN_IS, _BRACKET)
_NAMES_SUBJECT = (_TURNS, _BRACKET, _BARE, _COMMA, _NOUN_IS, _AT)
_COHORT_BEFORE = re.compile(
    r"(?:aged|ages?|between|over|under|above|below|older than|younger than|up to|at least|from|than|≥|≤|>|<|until|before|by|after|"
    r"reach(?:es|ed)?|turn(?:s)?|minimum|retirement|mean|median|average)\W*(?:the )?$", re.I)
_COHORT_AFTER = re.compile(r"^\W*(?:and|or) (?:older|younger|over|above|under|up)|^\s*(?:to|-|–)\s*\d|^\+|^\s*(?:years? )?and (?:older|over)|"
                           r"^s\b|^[^\w.!?\n]*(?:\w+[^\w.!?\n]+){0,3}?(?:patients|women|men|adults|children|people|individuals|subjects|participants|girls|boys|"
                           r"males|females|persons|students|infants)\b", re.I)


@taggers.register("age")
class AgeTagger:
    """Ages in years, decades or life stages."""

    kinds = ("age",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Numbers with a unit, decades, years of birth, life stages."""
        text = context.text
        yield from self._numbers(context)
        for m in _IN_DECADE.finditer(text):
            yield Mention("age", f"{m.group(1) or ''} {m.group(2)}".strip().lower(), m.start(), m.end(), "decade of life")
        for m in _BORN.finditer(text):
            yield Mention("age", f"born {m.group(1)}", m.start(), m.end(), "year of birth")
        for m in _STAGE.finditer(text):
            group = _COHORT_AFTER.match(text[m.end():m.end() + 40]) is not None
            stage = m.group(1).lower()
            yield Mention("age", stage, m.start(), m.end(), "life stage", "cohort" if group else None, weak=stage in _BROAD)
        if context.is_personal:
            for m in _SCHOOL.finditer(text):
                yield Mention("age", "of school age", m.start(), m.end(), "a school level", weak=True)
        for m in _DECADE_JOB.finditer(text):
            yield Mention("age", f"{m.group(1).lower()} decade at work", m.start(), m.end(), "length of a career", "speaker")


    @staticmethod
    def _numbers(context: Context) -> Iterator[Mention]:
        text = context.text
        for pattern, why in _PATTERNS:
            for m in pattern.finditer(text):
                number = next(g for g in reversed(m.groups()) if g)
                if pattern in _AFTER_SUBJECT and not (m.group(1).lower() in _PEOPLE or (pattern is not _NOUN_IS and m.group(1)[0].isupper())):
                    continue
                age = value_of(number)
                if age is None:
                    continue
                # A pattern that names its subject must not hide it from binding: the mention is the number.
                at = m.lastindex if m.lastindex and pattern in _NAMES_SUBJECT else 0
                group = _of_group(text, m.start(), m.end())
                yield Mention("age", _unit(m.group(), age), m.start(at), m.end(at), why, "cohort" if group else None,
                              weak=_past(text, m.start()))


def value_of(number: str) -> float | None:
    """"52", "fifty-two" → 52; None for what is no age."""
    low = number.lower()
    if low[0].isdigit():
        value = float(low)
    else:
        value = float(sum(_VALUES.get(part, 0) for part in re.split(r"[- ]", low)))
    return value if 0 <= value <= 120 else None


def _unit(words: str, age: float) -> str:
    low = words.lower()
    unit = next((u for u in ("month", "week", "day") if u in low), "")
    return f"{age:g}{' ' + unit + 's' if unit else ''}"


def _of_group(text: str, start: int, end: int) -> bool:
    return bool(_COHORT_BEFORE.search(text[max(0, start - 24):start])) or bool(_COHORT_AFTER.match(text[end:end + 48])) \
        or text[start:end].rstrip().lower().endswith("olds")


def _past(text: str, start: int) -> bool:
    """"When I was 12": the age at an event, which tells the present age only with the event's date."""
    return bool(re.search(r"\b(?:when|since|at|from|until|back)\b[^.,;]{0,14}$", text[max(0, start - 24):start], re.I))
