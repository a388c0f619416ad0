"""Employers, schools, clubs and churches that no list holds, by the construction that makes somebody belong to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import patterns as frames
from discreet.text.evidence.mentions import Context, Mention, taggers

_FEW = r"(?:[^\S\n]+(?!and\b|but\b|or\b|who\b|which\b|that\b|because\b)[\w'’-]+){0,6}?"
_TIE = re.compile(
    rf"\b(?P<verb>work(?:s|ed|ing)?|employed|volunteer(?:s|ed|ing)?|stud(?:y|ies|ied|ying)|enroll?ed|teach(?:es|ing)?|taught|lectur(?:es|ed)|coach(?:es|ed|ing)?|"
    rf"play(?:s|ed|ing)?|s[iau]ng|sings|singing|row(?:s|ed)|serv(?:es?|ed|ing)|worship(?:s|ped|ping|ing)?|train(?:s|ed|ing)|intern(?:s|ed|ing)|apprenticed|hired|drives|drove|"
    rf"fl(?:ies|ew)|danc(?:es|ed)|preach(?:es|ed)|shift|shifts|job|position|post|post-doc|postdoc|(?:been|is|was)(?= (?:now |still |currently )?with )|is(?= (?:now |still |currently )?at )|clocks? in|gets? (?:his|her) pay|went to (?:school|college|university)|"
    rf"goes to (?:school|college|university|church|mass|services)){_FEW} (?P<prep>for|at|by|with|in|on|from|under) (?=(?:the |a )?\S)"
    rf"|\b(?P<part>member|membership|parishioner|congregant|employee|alumnus|alumna|alumni|graduate|graduated|fellow|trustee|treasurer|captain|founder|staff|payroll|books|employ|roll|board|"
    rf"congregation|pupil|student|undergraduate|volunteer|teacher|chorister|deacon|elder|steward|apprentice|worker|regular){_FEW} (?:of|at|with|in|from|for) (?=(?:the )?\S)"
    rf"|\b(?P<joins>attend(?:s|ed|ing)?|join(?:s|ed|ing)?|belong(?:s|ed|ing)? to|left|quit|retired from|graduated from|resigned from|goes to|employer(?: is| was|:)|"
    rf"(?:school|church|parish|club|firm|company|college|workplace|congregation|team)(?: is| was|:)) (?=(?:the )?\S)"
)
_ONE_WORD = re.compile(r"^(?:work|employed|hired|job|position|shift|clock|employer|intern|volunteer|payroll|employee|apprenticed)")
_NEEDS = re.compile(r"^(?:been|is|was|left|quit|join|goes to|serv|train|play|drives|drove|fl|captain|board|fellow|founder|post|worker|regular|elder|books|roll|member|graduate|student|teacher|treasurer|trustee)")


@taggers.register("affiliation_frames")
class AffiliationFrameTagger:
    """Capitalised names that somebody works for, studies at or belongs to."""

    kinds = ("affiliation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Names after verbs and nouns of belonging."""
        doc = context.doc
        for m in _TIE.finditer(context.lower):
            first = doc.token_at(m.end())
            if not self._may_open(context, first, m.end()):
                continue
            found = self._name(context, first, m)
            if found is None:
                continue
            verb = doc.token_at(m.start())
            if doc.tokens[verb].sentence == doc.tokens[found[0]].sentence and self._is_tied(context, m, verb):
                yield context.mention("affiliation", doc.words(*found), *found, "body that a person belongs to")

    @staticmethod
    def _may_open(context: Context, first: int, offset: int) -> bool:
        doc = context.doc
        at = first + 1 if doc.lowers[first] in ("the", "a") and first + 1 < len(doc.tokens) else first
        return doc.tokens[first].start >= offset - 1 and doc.tokens[at].text[0].isupper()

    @staticmethod
    def _name(context: Context, first: int, m: re.Match[str]) -> tuple[int, int] | None:
        """A name with the word of a body, or, where the tie itself says employment or membership, any name of things."""
        doc = context.doc
        found = frames.name_after(context, first, frames.BODY_JOINS)
        if found is None:
            return None
        first, last = found
        cue = m.group("verb") or m.group("part") or m.group("joins")
        key = doc.words(first, last)
        if frames.is_body(doc, first, last) and key not in gazetteers.places():
            return found
        if "and" in doc.lowers[first:last]:
            second = first + doc.lowers[first:last].index("and") + 1
            partner = doc.lowers[second]
            firm = _ONE_WORD.match(cue) and m.group("prep") in ("for", "at", "by")
            if firm and partner not in gazetteers.given_names() and partner not in gazetteers.places():
                return found
            last = second - 1
            key = doc.words(first, last)
        words = doc.lowers[first:last]
        if key in gazetteers.places() or key in gazetteers.demonyms() or key in gazetteers.medical_terms() or key in gazetteers.occupations():
            return None
        if words[0] in gazetteers.given_names() or words[0] in gazetteers.demonyms() or words[0] in gazetteers.places():
            return None
        if m.group("prep") in ("in", "on", "from", "under") or _NEEDS.match(cue) or "'s" in words:
            return None
        if last - first == 1 and (not _ONE_WORD.match(cue) or doc.tokens[first].text.isupper() or m.group("prep") == "with"):
            return None
        if all(doc.tokens[k].text.isupper() for k in range(first, last)):
            return None
        return first, last

    @staticmethod
    def _is_tied(context: Context, m: re.Match[str], verb: int) -> bool:
        doc = context.doc
        if m.group("verb") or m.group("joins"):
            if (m.group("joins") or "").endswith((" is", " was", ":")) or m.group("verb") in ("job", "position", "post", "shift", "shifts", "postdoc", "post-doc"):
                return frames.has_owner(context, verb)
            return frames.is_said_of_person(context, verb)
        copula = next((k for k in range(verb - 1, max(0, verb - 6), -1) if doc.lowers[k] in ("is", "was", "am", "are", "'s", "been")), None)
        if copula is not None and doc.tokens[copula].sentence == doc.tokens[verb].sentence:
            return frames.is_said_of_person(context, copula)
        own = frames.referent_over(context, verb)
        if own is not None:
            return frames.is_particular(own)
        return frames.near_person(context, verb)
