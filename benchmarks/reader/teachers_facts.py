"""Sets whose spans are attributes of people: case reports, facts of public people, relations in news, values by person."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.reader.teachers import Row, Source, cluster, passages

AGE = re.compile(
    r"\b(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)[- ]?(?:years?|yrs?|months?|weeks?|days?)[- ]?(?:olds?|of age)\b|\bage[ds]? (?:of )?\d|"
    r"\bneonate|\bnewborn|\binfant\b|\belderly\b|\bteenager",
    re.IGNORECASE,
)
RELATIVE = re.compile(
    r"\b(?:(?:his|her|their|my|our|two|three|four|five|elder|older|younger|eldest|youngest|first|only|one|twin|half)[ -]){0,3}"
    r"(?:wife|husband|spouse|widow(?:er)?|married|divorced|sons?|daughters?|child(?:ren)?|brothers?|sisters?|siblings?|twins?|"
    r"mother|father|parents?|grand\w+|aunt|uncle|cousins?|nephew|niece|fianc\w+|partner|girlfriend|boyfriend)\b",
    re.IGNORECASE,
)
PARTNER = re.compile(
    r"\b(?:(?:his|her|my) )?(?:(?:first|second|third|former|ex)[- ])?(?:wife|husband|spouse|widow(?:er)?)\b|"
    r"\b(?:re)?married\b|\bdivorced\b",
    re.IGNORECASE,
)
CHILD = re.compile(
    r"\b(?:(?:his|her|their|my) )?(?:(?:eld|young|old)(?:est|er) |only |first |second |third |half[ -]|adopted |(?:one|two|three|four|five|six) )*"
    r"(?:sons?|daughters?|child(?:ren)?|father|mother|parents)\b",
    re.IGNORECASE,
)
GENERIC = re.compile(r"\b(?:parents?|mother|father|child(?:ren)?)$", re.IGNORECASE)
PRONOUN = re.compile(r"\b(he|she|his|her|him|himself|herself)\b", re.IGNORECASE)
CALENDAR = re.compile(r"\b(?:19|20)\d\d\b|\b(?:January|February|March|April|June|July|August|September|October|November|December)\b")
REFERRING = re.compile(
    r"(?:i|me|my|mine|myself|we|us|our|he|him|his|himself|she|her|hers|herself|they|them|their|who|whom|whose|which|that|its?|"
    r"where|there)",
    re.IGNORECASE,
)
HOME = re.compile(r"\b(?:born in|lives?|lived|living|resid\w+|nursing home|native of|came from|moved|migrant)\b", re.IGNORECASE)
WORK = re.compile(r"\b(?:work(?:s|ed|er|ing)?|employ\w+|student|retired|farmer|physician|nurse|occupation\w*|profession\w*)\b", re.IGNORECASE)
DOMAIN = ("Disease_disorder", "Sign_symptom", "Medication", "Therapeutic_procedure", "History", "condition")
SEX = re.compile(r"(?:fe)?male|wom[ae]n|m[ae]n|boy|girl|lady|gentleman", re.IGNORECASE)


def whole(name: str, family: str, row: Row, group: str, **rest: Any) -> Row:
    base = {"id": f"{name}/{row['id']}", "family": family, "teaches": True, "text": row["text"], "people": {}, "spans": []}
    if row.get("labelled_document"):
        base["labelled_document"] = True
    return {**base, "marks": {}, "document": f"{name}/{row.get(group)}", "subject": False, "cluster": None, **rest}


def case_span(entity: Row) -> Iterator[list[Any]]:
    """A span of a case report as one of ours; what has no place in the guide gives nothing."""
    start, end, kind, text = entity["start"], entity["end"], entity["type"], entity["text"]
    if kind in ("Age", "Date", "factor") and (kind == "Age" or AGE.fullmatch(text.strip()) or re.search(r"\bage\b", text)):
        yield [start, end, "age", 1, ""]
    elif kind in ("Sex", "factor") and (found := SEX.search(text)):
        yield [start + found.start(), start + found.end(), "sex", 1, ""]
    elif kind == "Personal_background":
        away = re.search(r"San Francisco|(?:born in|from) (?:the )?(.+)", text)
        yield [start + (away.start(1) if away and away[1] else 0), end, "place" if away else "ethnicity", 1, ""]
    elif kind == "Occupation":
        yield [start, end, "occupation", 1, ""]
    elif kind in ("Subject", "Family_history"):
        for found in RELATIVE.finditer(text):
            if not GENERIC.search(found[0]):
                yield [start + found.start(), start + found.end(), "family", 1, ""]
    elif kind == "Date" and CALENDAR.search(text):
        yield [start, end, "date", 1, ""]
    elif kind in DOMAIN and len(text) <= 60:
        yield [start, end, "domain", 1, ""]


def case_row(row: Row, complete: bool) -> Row:
    """Which classes are complete in a passage of a case report, told by words that stand there unmarked."""
    text, spans = row["text"], row["spans"]
    others = [s for s in spans if s[2] != "domain"]
    facts = [s for s in spans if s[2] == "domain" and not any(o[0] < s[1] and s[0] < o[1] for o in others)]
    row["spans"] = spans = others + facts[:3]
    told = defaultdict(list)
    for s in spans:
        told[s[2]].append(s)
    relatives = [m for m in RELATIVE.finditer(text) if not any(s[0] < m.end() and m.start() < s[1] for s in told["family"])]
    loose = [m for m in AGE.finditer(text) if not any(s[0] < m.end() and m.start() < s[1] for s in told["age"])]
    marks = dict.fromkeys(("domain", "date", "family", "ethnicity", "occupation"), "some")
    marks["age"] = "all" if complete and not loose else "some"
    if not told["sex"] and not relatives and complete and (found := PRONOUN.search(text)):
        spans.append([*found.span(), "sex", 1, ""])
        told["sex"].append(spans[-1])
    marks["sex"] = "all" if complete and not relatives and told["sex"] else "some"
    if complete:
        marks |= dict.fromkeys(("ethnicity", "name", "address", "contact", "affiliation"), "all")
        marks["occupation"] = "some" if WORK.search(text) else "all"
    marks["place"] = "all" if complete and not HOME.search(text) else "some"
    row["marks"] = marks | ({"family": "all"} if complete and not relatives else {})
    known = complete and not relatives and not loose and not HOME.search(text) and (told["occupation"] or not WORK.search(text))
    row["spans"].sort()
    row["people"] = {"1": "third"} if spans else {}
    row["cluster"] = cluster(row, bool(known))
    return row


def case_reports(source: Source) -> Iterator[Row]:
    """MACCROBAT, one patient a report: ages, sex, background and occupation are complete, the rest is partial."""
    for raw in source.read("clinical_case_spans"):
        spans = [s for e in raw["entities"] for s in case_span(e)]
        one = sum(e["type"] == "Age" for e in raw["entities"]) == 1
        spans = spans if one else [[*s[:3], -1, s[4]] for s in spans]
        for row in passages(whole("clinical_case_spans", "case_reports", raw, "id", spans=spans, subject=one, people={1: "third"})):
            yield case_row(row, one)


def case_report_corpus(source: Source) -> Iterator[Row]:
    """Factors (age, sex) and findings of whole case reports; partial in every class."""
    for raw in source.read("medical_case_reports", "all.jsonl.gz"):
        spans = [s for e in raw["entities"] for s in case_span(e)]
        for row in passages(whole("medical_case_reports", "case_reports", raw, "id", spans=spans, people={1: "third"})):
            if row["spans"]:
                yield case_row({**row, "subject": True}, False)


FACTS = {
    "EMPLOYEE_OR_MEMBER_OF": "affiliation",
    "EDUCATED_AT": "affiliation",
    "POLITICAL_AFFILIATION": "affiliation",
    "PLACE_OF_RESIDENCE": "place",
    "PLACE_OF_BIRTH": "place",
    "NATIONALITY": "ethnicity",
    "DATE_OF_BIRTH": "date",
    "DATE_OF_DEATH": "date",
    "SPOUSE": "",
    "CHILD_OF": "",
}


def same_person(text: str, here: tuple[int, int], other: tuple[int, int], shared: bool, born: bool) -> bool:
    """Two mentions, the other one first: a name within the other, a later pronoun with a shared fact, a name born the same day."""
    a, b = text[slice(*other)], text[slice(*here)]
    words, others = ({w.casefold() for w in re.findall(r"\w{2,}", x)} for x in (b, a))
    if REFERRING.fullmatch(b):
        return shared or b.casefold() == a.casefold()
    if REFERRING.fullmatch(a):
        return False
    return born or words <= others or others <= words


def people_of(row: Row) -> dict[tuple[int, int], int]:
    """A number for each mention of a person; a partner, parent or child is never the one whose relative it is."""
    facts: dict[tuple[int, int], set[tuple[Any, ...]]] = defaultdict(set)
    apart: set[frozenset[tuple[int, int]]] = set()
    for r in row["relations"]:
        subject, value = tuple(r["subject"]), tuple(r["object"])
        if r["type"] in FACTS:
            facts[subject].add((r["type"], value))
        if r["type"] in ("CEO", "FOUNDED_BY", "SPOUSE", "CHILD_OF"):
            facts[value].add((r["type"], subject, "object"))
        if r["type"] in ("SPOUSE", "CHILD_OF"):
            apart.add(frozenset((subject, value)))
    number: dict[tuple[int, int], int] = {}
    for here in sorted(facts):
        barred = {p for m, p in number.items() if frozenset((here, m)) in apart}
        number[here] = max(number.values(), default=0) + 1
        if re.fullmatch("who|whom|whose", row["text"][slice(*here)]) and len(number) > 1:
            number[here] = [p for m, p in number.items() if m != here][-1]
            continue
        for m, p in reversed(number.items()):
            common = facts[here] & facts[m]
            born = any(f[0].startswith("DATE_OF") for f in common)
            if m != here and p not in barred and same_person(row["text"], here, m, bool(common), born):
                number[here] = p
                break
    return number


def knowledgenet(source: Source) -> Iterator[Row]:
    """Facts of public people, each bound to a mention; partial in every class."""
    for raw in source.read("knowledgenet", group="group"):
        number, spans, text = people_of(raw), [], raw["text"]
        for r in raw["relations"]:
            subject, value = tuple(r["subject"]), tuple(r["object"])
            kind = FACTS.get(r["type"], "")
            if r["type"] in ("CEO", "FOUNDED_BY"):
                subject, value, kind = value, subject, "affiliation"
            person, words = number.get(subject, -1), text[slice(*value)]
            if kind and not REFERRING.fullmatch(words):
                year = r["type"] == "DATE_OF_BIRTH" and re.fullmatch(r"\d{4}", words)
                spans.append([*value, "age" if year else kind, person, ""])
            word = {"SPOUSE": PARTNER, "CHILD_OF": CHILD}.get(r["type"])
            low, high = min(*subject, *value), max(*subject, *value)
            for found in word.finditer(text, max(0, low - 25), min(len(text), high + 25)) if word else ():
                spans.append([*found.span(), "family", -1, ""])
        for span in spans:
            if span[2] == "family":
                before = [(m, p) for m, p in number.items() if m[0] <= span[0] and m[1] <= span[1]]
                span[3] = max(before)[1] if before else -1
        spans = list({tuple(s[:3]): s for s in sorted(spans, key=lambda s: -s[3])}.values())
        spans = [s for s in spans if s[2] != "family" or not any(t != s and t[0] <= s[0] and s[1] <= t[1] for t in spans)]
        spans += [[*m, "name", p, ""] for m, p in number.items() if text[m[0]].isupper() and not REFERRING.fullmatch(text[slice(*m)])]
        speakers = {p for m, p in number.items() if text[slice(*m)].casefold() in ("i", "my", "me", "mine")}
        people = {p: "speaker" if p in speakers else "public" for p in number.values()}
        mentions = [[*m, p] for m, p in number.items()]
        base = whole("knowledgenet", "wikipedia", raw, "group", spans=spans, people=people, mentions=mentions)
        for row in passages(base):
            row["marks"] = dict.fromkeys(("name", "place", "affiliation", "ethnicity", "age", "date", "family"), "some")
            row["cluster"] = cluster(row, False)
            yield row


def news_relations(source: Source) -> Iterator[Row]:
    """Names are complete; homes and employers are bound to a person; it only chooses (no licence is stated)."""
    types = {"Peop": "person", "Loc": "place", "Org": "organisation"}
    for raw in source.read("conll04_relations"):
        people = {(e["start"], e["end"]): n for n, e in enumerate((e for e in raw["entities"] if e["type"] == "Peop"), 1)}
        spans = [[*m, "name", n, ""] for m, n in people.items()]
        for r in raw["relations"]:
            if kind := {"Live_In": "place", "Work_For": "affiliation"}.get(r["type"]):
                spans.append([*r["tail"], kind, people.get(tuple(r["head"]), -1), ""])
        rest = {
            "entities": [[e["start"], e["end"], types[e["type"]]] for e in raw["entities"] if e["type"] in types],
            "entity_marks": dict.fromkeys(types.values(), "all"),
            "mentions": [[*m, n] for m, n in people.items()],
            "people": dict.fromkeys(people.values(), "public"),
            "marks": {"name": "all", "place": "some", "affiliation": "some"},
        }
        for row in passages(whole("conll04_relations", "news", raw, "id", teaches=False, spans=spans, **rest)):
            row["cluster"] = cluster(row, False)
            yield row


NATIONAL = {
    "Türkiye": "Turkish",
    "United Kingdom": "British|English|Scottish|Welsh",
    "United States": "American",
    "Philippines": "Filipin[oa]",
    "Poland": "Polish",
    "Ireland": "Irish",
    "New Zealand": "New Zealander",
    "France": "French",
    "Germany": "German",
    "Sweden": "Swedish",
    "Cyprus": "Cypriot",
    "Vietnam": "Vietnamese",
}
AUTHOR = re.compile(r"\b(?:author|speaker|seller|reviewer|poster|username|reporting|team member)\b", re.IGNORECASE)
TAGS = {
    "NAME": "name",
    "AGE": "age",
    "LOCATION": "place",
    "NATIONALITY": "ethnicity",
    "RELATIONSHIP": "family",
    "OCCUPATION": "occupation",
    "POSITION": "occupation",
    "AFFILIATION": "affiliation",
    "EMAIL_ADDRESS": "contact",
    "PHONE_NUMBER": "contact",
    "IDENTIFICATION_NUMBER": "contact",
    "DRIVER_LICENSE_NUMBER": "contact",
    "PASSPORT_NUMBER": "contact",
}


def stated(text: str, tag: str, value: str, court: bool) -> list[tuple[int, int]]:
    """Where a value of a subject stands in the text, by its words or a common form of them.

    In judgments a town counts only where somebody lives, was born or works there, and a nationality only of a national.
    """
    if tag == "RELATIONSHIP":
        return [m.span() for m in PARTNER.finditer(text)]
    words = [w.strip() for w in (value.split("/") if tag in ("LOCATION", "NATIONALITY") else [value]) if w.strip()]
    if tag == "NAME":
        words += [w for w in re.findall(r"\w{3,}", value) if w[0].isupper()]
    before, after = "(?<![\\w@.])", "(?![\\w@])"
    found: set[tuple[int, int]] = set()
    for word in words:
        form = re.escape(word)
        if tag == "NATIONALITY":
            form, after = f"(?:{NATIONAL.get(word, form + '(?:n|ns|an|ans|ian)')})", r"(?=\s+(?:national|citizen|man|woman|born))"
        if tag == "LOCATION" and court:
            before = r"(?:liv\w+|born|resid\w+|practi[sc]ing|detained|held|domiciled)[^.]{0,40}?\bin "
        for m in re.finditer(rf"{before}({form}){after}", text, re.IGNORECASE if tag != "LOCATION" else 0):
            if not any(s <= m.start(1) and m.end(1) <= e for s, e in found):
                found.add(m.span(1))
    if not found and not court and tag in ("OCCUPATION", "POSITION") and len(head := value.rsplit(maxsplit=1)[-1]) > 4:
        found = {m.span() for m in re.finditer(rf"(?<!\w){re.escape(head)}(?!\w)", text, re.IGNORECASE)}
    return sorted(found)


def subjects(source: Source) -> Iterator[Row]:
    """SPIA's development half: values by person, found in the text or kept as inferred."""
    for raw in source.read("spia_dev"):
        spans: list[list[Any]] = []
        inferred: list[list[Any]] = []
        weak: list[list[Any]] = []
        tab, people = raw["category"] == "tab", {}
        for n, subject in enumerate(raw["subjects"], 1):
            known = subject["attributes"]
            office = any(re.search(r"judge|agent|president|minister|prosecutor", a["keyword"], re.IGNORECASE) for a in known)
            author = not tab and AUTHOR.search(subject["description"])
            people[n] = "public" if tab and office else "speaker" if author else "third"
            for a in known:
                kind = TAGS.get(a["tag"])
                if not kind or not a["keyword"].strip():
                    continue
                places = stated(raw["text"], a["tag"], a["keyword"].strip(), tab) if a["hardness"] <= 3 else []
                spans += [[*p, kind, n, ""] for p in places]
                if not places and kind in ("age", "ethnicity", "place", "occupation", "family", "affiliation"):
                    (inferred if a["certainty"] >= 4 else weak).append([kind, n])
        whole_values = [s for s in spans if s[2] in ("affiliation", "contact")]
        spans = [s for s in spans if not any(t[2] != s[2] and t[0] <= s[0] and s[1] <= t[1] for t in whole_values)]
        rest = {"spans": spans, "people": people, "subject": True, "marks": dict.fromkeys({s[2] for s in spans}, "some")}
        if not tab:
            rest |= {"inferred": inferred, "inferred_weak": weak}
        family = "european_court" if tab else "panorama"
        for row in passages(whole("spia_dev", family, raw, "id", **rest)):
            row["cluster"] = cluster(row, not tab and not weak)
            yield row


PERSONA = {
    "has_profession": "occupation",
    "previous_profession": "occupation",
    "job_status": "occupation",
    "live_in_citystatecountry": "place",
    "place_origin": "place",
    "has_age": "age",
    "marital_status": "family",
    "have_chidren": "family",
    "have_sibling": "family",
    "have_family": "family",
    "employed_by_company": "affiliation",
}


def persona(source: Source) -> Iterator[Row]:
    """Short first-person lines; a value counts where its words stand in the line. It only chooses (no licence is stated)."""
    for raw in source.read("persona_attributes"):
        spans = []
        for who, relation, value in raw["attributes"]:
            kind = PERSONA.get(relation)
            words = re.sub(r"^\d+ (?=\D)|^(?:zero|no) ", "", value.casefold())
            found = re.search(rf"(?<!\w){re.escape(words)}\w{{0,3}}(?!\w)", raw["text"]) if kind and len(words) > 1 else None
            if found and kind and words not in ("employed", "yes"):
                spans.append([*found.span(), kind, 1 if who.casefold() in ("i", "my", "me") else -1, ""])
        rest = {"spans": spans, "people": {1: "speaker"}, "subject": True, "marks": {s[2]: "some" for s in spans}}
        for row in passages(whole("persona_attributes", "personas", raw, "id", teaches=False, **rest), shortest=25):
            row["cluster"] = cluster(row, False)
            yield row


FACT_SETS: dict[str, Callable[[Source], Iterator[Row]]] = {
    "clinical_case_spans": case_reports,
    "medical_case_reports": case_report_corpus,
    "knowledgenet": knowledgenet,
    "conll04": news_relations,
    "spia_dev": subjects,
    "persona_attributes": persona,
}
