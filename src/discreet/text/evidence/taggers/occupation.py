"""Occupations and standing: what a person does, did or studies, where the wording binds it to them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.finders import matcher
from discreet.text.evidence.mentions import Context, Mention, taggers

_BINDS = re.compile(
    r"(?:\b(?:i'?m|i am|i was|he's|she's|he is|she is|he was|she was|who is|who was|we are|we're|both|is|was|am|be|become|became|becoming|being|"
    r"work(?:s|ed|ing)? (?:full[- ]time |part[- ]time )?(?:as|for)|employed (?:as|by)|job (?:as|is)|career as|profession(?:al)?|retired|former|ex|trained as|training (?:as|to be)|"
    r"occupation|self[- ]employed|by trade|stud(?:y|ying) to be|as|another|fellow|current|position as|role as|appointed|hired as|practic(?:es|ing) as)"
    r"(?: (?:an?|the|also|now|currently|only|just|still|once|not|working|full[- ]time|part[- ]time|retired|former|licensed|registered|certified|young|small|high school|"
    r"middle school|elementary school|elementary|assistant|associate|senior|junior|chief|lead|head|freelance|professional|local|first[- ]time|single|male|female|semi[- ]retired|new|"
    r"disabled|combat|stay[- ]at[- ]home|struggling|trained|practicing|successful|bank|school|college|university|public|small[- ]business))*[\s:-]*)$")
_PATTERNS: list[tuple[re.Pattern[str], str, str, bool]] = [
    (re.compile(r"\b(?:i'?m|i am|i was|he's|she's|he is|she is|he was|she was|who is|is) (?:currently |still |also |now |a |an |back )*(?:in|at|starting|attending|finishing|"
                r"going to|entering) (?:my |his |her |the )?(?:\w+ (?:year|semester) (?:of|in|at) )?(college|grad(?:uate)? school|high school|university|"
                r"law school|med(?:ical)? school|nursing school|middle school|school full[- ]time)\b"), "student", "at school", False),
    (re.compile(r"\b(?:my|his|her) (?:freshman|sophomore|junior|senior|first|second|third|last|final) (?:year|semester) (?:of|in|at) "
                r"(college|grad(?:uate)? school|high school|university|law school|med(?:ical)? school|my phd|undergrad)\b"), "student", "at school", False),
    (re.compile(r"\b(?:a |an )?((?:college|high[- ]school|grad(?:uate)?|law|medical|nursing|phd|doctoral|master'?s|university|undergrad(?:uate)?|exchange|international) "
                r"student|undergrad|freshman|sophomore|phd candidate)\b"), "student", "student", False),
    (re.compile(r"\b(?:my|his|her) (residency|internship|fellowship|apprenticeship|dissertation|thesis|clerkship|postdoc|tenure|deployment|squad|platoon|law practice|medical practice|"
                r"dental practice|own (?:business|firm|practice|shop|company)|bakery|restaurant|farm|ranch|studio|dental office|classroom|students|parishioners|congregation|"
                r"small business|startup|bar exam|shifts? at)\b"), "", "tools of a trade", False),
    (re.compile(r"\b(on the bench|behind the wheel of (?:a|my) (?:truck|rig|cab)|on active duty|in the (?:army|navy|air force|marines|marine corps|coast guard|military|"
                r"national guard|reserves))\b"), "", "set phrase of a trade", False),
    (re.compile(r"\b(?:i|he|she) (?:teach(?:es)?|taught) (?:\w+ ){0,3}(?:grade|school|kindergarten|math|english|history|science|music|art|students|classes|at)\b"),
     "teacher", "what a person does", False),
    (re.compile(r"\b(?:i|he|she|who|we|they) (?:also |currently |now )?(?:runs?|owns?|operates?|manages?|founded|started) (?:a|an|my|his|her|our|the) (?:own |small |local |family |successful )*"
                r"(?:\w+ )?(business|company|shop|store|restaurant|bakery|farm|ranch|salon|clinic|practice|firm|startup|bar|cafe|garage|agency|franchise|hotel|motel)\b"),
     "business owner", "what a person does", False),
    (re.compile(r"\b(?:i|he|she|who|we) (?:work(?:s|ed)?|am working|is working|was working|'m working) (?:full[- ]time |part[- ]time |remotely |nights )?(?:in|for|at) (?:a |an |the |my |our )?"
                r"(?:small |large |local |big |major |private |public )*((?:\w+ ){0,2}(?:industry|retail|construction|finance|it|tech|sales|marketing|accounting|nursing|healthcare|hospitality|"
                r"law firm|restaurant|warehouse|factory|hospital|bank|call center|school|daycare|nonprofit|non-profit|startup|government|company|firm|store|farm|department|agency))\b"),
     "", "where a person works", True),
    (re.compile(r"\b(unemployed|self[- ]employed|stay[- ]at[- ]home (?:mom|mother|dad|father|parent)|retired|homemaker|housewife|on disability|laid off|lost (?:my|his|her) job|"
                r"between jobs|out of work|works two jobs)\b"), "", "working status", False),
    (re.compile(r"\b(?:my|his|her) (?:current |new |old |last |full[- ]time |part[- ]time |day )*(job|boss|manager|coworkers?|co-workers?|employer|supervisor|workplace|work schedule)\b"),
     "employed", "has a job", True),
    (re.compile(r"\b(?:i|he|she|who|husband|wife|son|daughter|brother|sister|boyfriend|dad|father|mother|mom) (?:also |recently |just |currently )?(?:joined|enlisted in|serv(?:es|ed|ing) in|was in|is in) "
                r"the (?:us |u\.s\. )?(army|navy|air force|marines|marine corps|coast guard|military|national guard|reserves|police|force)\b"), "military", "joined a service", False),
    (re.compile(r"\b(?:i|he|she|who) (?:drives?|drove) (?:a |an |the )?(?:\w+ )?(truck|bus|cab|taxi|semi|for (?:uber|lyft)|ambulance|forklift)\b"), "driver", "what a person does", False),
    (re.compile(r"\b(?:i|he|she|we) (?:have|has|had|got|held|hold|found|started|lost|quit|work) (?:a |an |my |his |her |two |three )?(?:\w+[ -]){0,4}?(jobs?)\b"), "employed", "has a job", True),
    (re.compile(r"\b(?:(?:many|some|most|all|several) of )?(?:my|our|his|her) (?:own |small |old |new )?(college|university|high school|grad school|dorm(?: room)?|campus|professors?|classes|major|degree|gpa|semester|business|company|shop|"
                r"store|clients|patients|customers|practice|firm|office|salary|paycheck|shift|store manager|coworkers|work)\b"), "", "tools of a trade or of study", True),
    (re.compile(r"\b(?:were|are|was|is|am) (?:both |all |also )?(students|teachers|nurses|soldiers|engineers|lawyers|doctors|farmers)\b|\bfellow (\w+ )?(student|teacher|nurse|employee|officer)\b"),
     "student", "one of a trade", False),
    (re.compile(r"\b(?:i|we|he|she|they) (?:go(?:es)?|going|went|want(?:ed)? to go|decided to go|am going|was going|'m going) (?:back )?to (college|school|university|uni|grad school|law school)\b"),
     "student", "at school", True),
    (re.compile(r"\b(?:i|i'm|im|i am|he's|she's|he is|she is) (?:even |also |currently |now |still )?(studying|majoring in|finishing (?:my|his|her) degree|enrolled in)\b"), "student", "at school", True),
    (re.compile(r"\b(?:i|he|she|husband|wife)(?:'ve| have| has)? (?:been |also |currently )?(work(?:s|ed|ing)? (?:for|with|in|at))\b"), "employed", "has a job", True),
    (re.compile(r"\b((?:fall|spring|summer|this|last|next) semester|(?:my )?(?:first |last |next )?paychecks?|my tuition|student loans|the dorms?|my stipend|my scholarships?|my gpa)\b"),
     "student or employed", "means of a student or worker", True),
    (re.compile(r"\b(?:forms?|formed|founded|starts?|started|starting|opened|set up|runs?|running|owns?|owned|owning|bought|operates?) (?:an?|my|his|her|our|their|the) (?:own )?(?:[\w-]+ ){0,4}?"
                r"(llc|business|company|startup|start-up|practice|shop|store|restaurant|sole proprietorship|consultancy|salon|bakery|franchise|farm|ranch|agency|studio)\b"), "business owner", "owns a business", True),
    (re.compile(r"\b(?:i|he|she|who)(?:'ve| have| has)? (?:been |also )?work(?:ed|ing|s)? (?:as|in|with|for|at)\b(?: [\w'-]+){1,6}? (since (?:19|20)\d\d|for (?:over |more than |almost |about |the (?:past|last) )*(?:\d+|\w+) (?:years|decades))"),
     "employed", "length of a career", False),
    (re.compile(r"\b(?:i|he|she|who)(?:'m| am|'s| is| was)? (?:used to|once|previously) (work(?:ed)?|teach|drive|run|manage|own|practice) "), "formerly employed", "a former job", True),
    (re.compile(r"\b(?:i|he|she|who)(?:'m| am|'s| is| was| worked| work| works) in (?:the )?(it|finance|software|banking|insurance|real estate|construction|consulting|education|healthcare|health care|retail|tech|sales|"
                r"advertising|marketing|manufacturing|hospitality|academia|law enforcement|logistics|agriculture|mining|oil|engineering|accounting|publishing|media|film|nursing)\b"), "", "an industry", False),
    (re.compile(r"\b(?:i|he|she|who) (?:recently |just )?(retired|took early retirement|was laid off|got laid off|was fired|got fired|quit my job|lost my job)\b"), "", "working status", False),
    (re.compile(r"\b(in my (?:line of work|industry|profession|field|career|trade|practice|shop|classroom)|my (?:employees|tenants|students|patients|clients|readers|customers|staff)|just me working|after work|"
                r"(?:my|his|her) (?:day|full[- ]time|part[- ]time|second|first|current|previous|demanding) job|demanding job)\b"), "employed", "words of somebody at work", True),
    (re.compile(r"\b(employed (?:as|by|for|at|in)|hired (?:as|by|to)|on (?:a )?campus work|grad school|graduate school|assistantship|internship|at work|home from school|"
                r"works? (?:full|part)[- ]time|working (?:full|part)[- ]time|seasonal (?:full[- ]time )?employee)\b"), "employed", "working or studying", True),
]
_AGED = frozenset("old aged yo o".split())
_IF = re.compile(r"\b(?:if|when|whenever|unless|suppose|say|once) (?:you |that |even )?$", re.I)
_OFFER = re.compile(r"\s*(?:offer|interview|market|search|application|opening)", re.I)


@taggers.register("occupation")
class OccupationTagger:
    """Listed occupations that are bound to a person by the wording, and set phrases."""

    kinds = ("occupation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """All mentions; "a retired seamstress" is one fact, the job."""
        found = list(self._all(context))
        starts = sorted(m.start for m in found)
        for m in found:
            after = bisect_right(starts, m.end)
            near = after < len(starts) and starts[after] <= m.end + 24 and "." not in context.text[m.end:starts[after]]
            if not (m.value in ("retired", "former") and near):
                yield m

    def _all(self, context: Context) -> Iterator[Mention]:
        """Gazetteer jobs in binding constructions; then patterns of trades, study and standing."""
        doc = context.doc
        table = gazetteers.occupations()
        for first, last, key in matcher("occupations").find(doc.lowers):
            if self._bound(context, first, last, table[key].flag):
                yield context.mention("occupation", table[key].canonical, first, last, "occupation of a person")
        for pattern, value, why, weak in _PATTERNS:
            for m in pattern.finditer(context.lower):
                at = next((i for i in range(1, m.re.groups + 1) if m.group(i)), 0)
                head = "my" if re.search(r"\bmy\b", m.group(), re.I) else m.group().split()[0].lower()
                if _IF.search(context.text[max(0, m.start() - 16):m.start()]) or (weak and m.group(at).lower().startswith("job") and _OFFER.match(context.text[m.end():])):
                    continue
                if not weak or context.is_personal or "where" in why or m.group(at).lower() in ("clients", "patients"):
                    yield Mention("occupation", value or m.group(at).lower(), m.start(at), m.end(at), why,
                                  "speaker" if head in lex.FIRST or head in lex.FIRST_PLURAL else None, weak)

    def _bound(self, context: Context, first: int, last: int, flag: str) -> bool:
        doc = context.doc
        if last - first == 1 and doc.lowers[first] in lex.NOT_JOBS:
            return False
        begin, end = doc.sentence_of(first)
        start = doc.tokens[first].start
        before = context.lower[max(doc.tokens[begin].start, start - 64):start]
        following = doc.lowers[last] if last < end else "."
        if following in gazetteers.organisation_heads() or (following == "'" and flag != "-") or following == "-":
            return False
        if flag == "-" and (self._acts(context, begin, first, last, end) or self._is_head(context, first, last)):
            return True
        if re.search(r"\bthe (?:only|first|sole|last|youngest|oldest) (?:[\w-]+ ?){0,4}$", before):
            return True
        if self._aged(doc.lowers[max(begin, first - 8):first]):
            return True
        if first >= begin + 2 and doc.lowers[first - 1] in ("a", "an") and doc.lowers[first - 2] == ",":
            return self._apposed(context, begin, first)
        if _BINDS.search(before) is None:
            return False
        near = doc.lowers[max(begin, first - 6):first]
        if any(w in lex.CONDITIONALS - {"as", "like", "such", "where", "when", "once"} for w in near) or any(w in lex.GENERIC_DETERMINERS for w in near[-2:]):
            return False
        if flag == "w":
            return bool(re.search(r"\b(?:an?|retired|former|as|was the|is the|became the)\s(?:[\w-]+\s){0,2}$", before)) and following not in ("of",) or before.endswith(("profession: ", "occupation: "))
        if flag == "r":
            return not re.search(r"\b(?:by|with|from|to|see|consult|contact|your|their) (?:an?|the)\s*$", before)
        return True

    @staticmethod
    def _is_head(context: Context, first: int, last: int) -> bool:
        """"a Somali-born welder who …": the job is the noun by which a particular person is introduced."""
        for r in context.referents:
            if r.first <= first and r.last == last and r.form == "noun":
                return r.subject in ("third", "speaker", "public") and context.doc.lowers[r.first] in ("a", "an", "our")
        return False

    @staticmethod
    def _acts(context: Context, begin: int, first: int, last: int, end: int) -> bool:
        """"A retailer agreed to …": an indefinite job noun that did something is a particular person's job."""
        words = context.doc.lowers
        determined = "a" in words[max(begin, first - 3):first] or "an" in words[max(begin, first - 3):first]
        if not determined or last >= end or any(w in lex.PHRASE_BREAKS for w in words[max(begin, first - 2):first]):
            return False
        return words[last] in lex.PAST_AUX or (words[last].endswith("ed") and len(words[last]) > 4)

    @staticmethod
    def _aged(words: tuple[str, ...]) -> bool:
        """"a 52-year-old female litigator": an age in the same noun phrase."""
        if not set(words) & _AGED:
            return False
        at = max(i for i, w in enumerate(words) if w in _AGED)
        return not any(w in lex.PHRASE_BREAKS for w in words[at + 1:])

    @staticmethod
    def _apposed(context: Context, begin: int, first: int) -> bool:
        """"Smith, a sole proprietor," and "my mother, a nurse": an apposition to a particular person."""
        comma = first - 2
        return any(r.last == comma and r.first >= begin and r.subject in ("third", "speaker", "public") for r in context.referents)
