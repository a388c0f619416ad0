"""Family: partners, children, parents, siblings named by relation, marital status, who a person lives with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.finders import with_plurals
from discreet.text.evidence.gazetteers import Term, family_terms, singular
from discreet.text.evidence.mentions import Context, Mention, taggers

_NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "a": "1", "an": "1", "one": "1"}
_COUNT = r"(\d{1,2}|two|three|four|five|six|seven|eight|a|an|one)"
_CHILDREN = re.compile(
    rf"\b(?:has|have|had|with|of|left|leaves|leaving|by|adopted|raising|raises|our|my|his|her|their|are|'ve) (?:got )?{_COUNT} (?!years?|yrs?|months?|weeks?|days?)(?:\w+ ){{0,2}}?(child(?:ren)?|kids?|sons?|daughters?|boys|girls|"
    r"grandchild(?:ren)?|siblings|brothers|sisters|stepchildren|little ones|toddlers|babies|teenagers|dependents|minor children)\b")
_STATUS = re.compile(
    r"\b(?:(?:i'?m|i am|i was|he's|she's|he is|she is|he was|she was|is|was|we're|we are|we were|been|being|got|getting|currently|recently|newly|happily|are|, )\s?"
    r"(?:recently |newly |happily |now |currently |both |still |not |legally |soon to be |been |a (?=divorced|widowed|married))*)(married|divorced|separated|widowed|engaged|single|unmarried|never married)\b"
    r"(?! (?:out|dose|digit|source|study|center|payer|family home|most|point|day|copy|gene|use|agent|drug|event|time|stock|year|person can|malt|biggest|file|filer|life))|"
    r"\b(divorced|widowed|separated|married|unmarried|single)(?=,? (?:mother|father|mom|dad|woman|man|female|male|with (?:two|three|\w+) (?:child|kid)|lives|parent|and liv|for \d+))|"
    r"\b(widow|widower|divorcee|newlyweds?|single (?:mom|mother|dad|father|parent))\b")
_LIVES = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|stay(?:s|ing)?|resid(?:es|ing)|moved(?: back)? in) (?:at home |together |here |there |alone |currently )?(with (?:(?:my|his|her|our|an?|the|two|three) )(?:\w+ ){0,2}?"
    r"(?:parents?|family|roommates?|mother|mom|father|dad|husband|wife|boyfriend|girlfriend|partner|sister|brother|son|daughter|grandparents?|grandmother|children|kids|"
    r"in-laws|aunt|uncle|friends?|cousin|fianc\w+|spouse|ex)|with (?:her|him|them|each other|roommates|family|friends)\b|alone|by (?:my|him|her)self|at home|on (?:my|his|her) own)\b")
_IN_RELATIONSHIP = re.compile(r"\b(?:i|we|he|she)(?:'ve|'m| have| am| has| is|'s| are)? (?:been )?(?:in a|dating|seeing someone|in an on)(?: \w+){0,2} (?:relationship|years|months|each other)\b")
_MOTHER_OF = re.compile(r"\b(?:mother|father|mom|dad|parent|grandmother|grandfather) (?:of|to) (?:\w+ )?(\d|two|three|four|five|six|seven|eight|one|a|twins|triplets)\b")
_HAS = re.compile(
    r"\b(?:has|have|had|having|'ve|with|care[sd]? for|caring for|raising|met|lost|see|visit(?:ing)?) (?:a|an|one|another|no) (?:\w+ ){0,2}?"
    r"(niece|nephew|sister|brother|husband|wife|girlfriend|boyfriend|fianc[eé]e?|grandchild|grandson|granddaughter|twin(?: sister| brother)?|roommate|daughter|son|children|family|siblings|kids|"
    r"ex-husband|ex-wife|stepson|stepdaughter|mother|father|partner)\b")
_BARE_KIN = re.compile(
    r"(?:^|[.!?\n]\s{0,3}|\b(?:and|with|ask(?:ed)?|called?|told|gave|tell|so) )((?:ex-?)?(?:husband|wife|girl ?friend|boy ?friend|fianc[eé]e?|fil|mil|sil|bil|mom|dad|hubby))\b"
    r"(?= (?:and i|and me|is|was|has|had|would|will|says|said|wants?|feels?|asked|yesterday|just|did|got)\b)")
_AFFAIRS = re.compile(
    r"\b((?:sole |joint |full |shared |physical |legal )?custody (?:of (?:my|his|her|our) |agreement|hearing|case|order|battle|dispute)|visitation|child support|(?:my|our|his|her|their) (?:divorce|marriage|wedding|"
    r"separation|pregnancy|engagement|relationship|roommates?|household)|(?:i|he|she|we|they|and) (?:got )?(?:divorced|married|separated)|ex-fianc[eé]e?|married me|to parent alone|little one)\b")
_SHORT = {w: Term(w, "extended", canonical, "-") for w, canonical in
          {"fil": "father-in-law", "mil": "mother-in-law", "sil": "sister-in-law", "bil": "brother-in-law", "hubby": "husband",
           "gf": "girlfriend", "bf": "boyfriend", "roommate": "roommate", "wifes": "wife", "so": "partner"}.items()}
_STOPS = lex.FUNCTION | lex.DETERMINERS | lex.PAST_AUX | lex.THIRD.keys() | frozenset("own i we they".split())
# Participles that describe a relative; any other ends the search for one.
_DESCRIBING = frozenset("deceased estranged married retired disabled adopted divorced widowed aged beloved learned separated unmarried gifted".split())
_CHILD = {"kid": "child", "boy": "son", "girl": "daughter", "little one": "child", "baby": "child", "toddler": "child", "dependent": "child"}
_GENERIC = frozenset("parents parent family relatives kin household ancestors".split())
_NOT_KIN = frozenset("boss coworker coworkers friend friends neighbor neighbors".split())


@taggers.register("family")
class FamilyTagger:
    """Owned relatives, counts of children, marital status, living arrangement."""

    kinds = ("family",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Each relation once per mention; "parents" and "family" alone say nothing."""
        text = context.lower
        living = [m.span() for m in _LIVES.finditer(text)]
        for mention in self._relatives(context):
            # "lives with his daughter" is one fact.
            if not any(start <= mention.start and mention.end <= end for start, end in living):
                yield mention
        for m in _CHILDREN.finditer(text):
            count = _NUMBERS.get(m.group(1).lower(), m.group(1))
            head = singular(m.group(2).lower().removeprefix("minor "))
            head = _CHILD.get(head, head)
            yield Mention("family", f"{count} {head}", m.start(1), m.end(), "number of children or siblings")
        for m in _STATUS.finditer(text):
            at = next(i for i in (1, 2, 3) if m.group(i))
            yield Mention("family", m.group(at).lower(), m.start(at), m.end(at), "marital status")
        for m in _LIVES.finditer(text):
            yield Mention("family", f"lives {m.group(1).lower()}", m.start(), m.end(), "living arrangement")
        for m in _HAS.finditer(text):
            yield Mention("family", m.group(1).lower(), m.start(1), m.end(), "a relative that somebody has")
        for m in _BARE_KIN.finditer(text):
            if context.is_personal:
                yield Mention("family", m.group(1).lower(), m.start(1), m.end(1), "a relative without an owner", "speaker", weak=True)
        for m in _AFFAIRS.finditer(text):
            yield Mention("family", m.group(1).lower(), m.start(1), m.end(1), "a family affair", weak=True)
        for m in _IN_RELATIONSHIP.finditer(text):
            yield Mention("family", "partner", m.start(), m.end(), "partnership")
        for m in _MOTHER_OF.finditer(text):
            count = m.group(1).lower()
            yield Mention("family", f"{_NUMBERS.get(count, count)} child", m.start(), m.end(), "parenthood")

    def _relatives(self, context: Context) -> Iterator[Mention]:
        """"my late husband", "the patient's sister": the relative belongs to the owner."""
        lowers = with_plurals(context.doc.lowers)
        terms: Mapping[str, Term] = {**family_terms(), **_SHORT}
        owners = {r.last: r for r in context.referents if r.possessive and r.subject in ("speaker", "third", "public", "asker")}
        for r in context.referents:
            owner = owners.get(r.last)
            if owner is None:
                continue
            j = self._head(lowers, terms, r.last)
            if j is None:
                continue
            term = terms[lowers[j]]
            word = context.doc.lowers[j]
            if term.kind == "status" or word in _GENERIC or word in _NOT_KIN or term.canonical in _GENERIC:
                continue
            who = None if owner.subject in ("asker", "public") else owner.person
            yield context.mention("family", term.canonical, r.first, j + 1, "relative named by relation", who=who)
        for r in context.referents:
            if r.form == "kin" and r.subject == "third":
                relation = r.person.rpartition("/")[2]
                yield context.mention("family", f"is {relation} of somebody", r.first, r.last, "is a relative of somebody", who=r.person)

    @staticmethod
    def _head(lowers: tuple[str, ...], terms: Mapping[str, Term], start: int) -> int | None:
        """The relative after an owner, over an age and at most three modifiers: "her 67-year-old grandmother"."""
        j, skipped = start, 0
        while j < len(lowers) and lowers[j] not in terms:
            word = lowers[j]
            if word not in lex.AGE_WORDS and not word[0].isdigit():
                skipped += 1
                if skipped > 3 or not word[0].isalnum() or word in _STOPS or (word.endswith("ed") and word not in _DESCRIBING):
                    return None
            j += 1
        return j if j < len(lowers) else None
