"""Closed word classes that say who a clause is about, from `data/words/referents.txt`; open classes are gazetteers."""

from __future__ import annotations

from discreet.text.resources import rows, words

_WORDS = words("referents")

FIRST = _WORDS["first person"]
FIRST_PLURAL = _WORDS["first person plural"]
SECOND = _WORDS["second person"]
THIRD = dict.fromkeys(_WORDS["he"], "m") | dict.fromkeys(_WORDS["she"], "f")
THEY = _WORDS["they"]
OFFICIALS = _WORDS["officials"]
FUNCTION = _WORDS["function"]
PERSON_NOUNS: dict[str, str | None] = {
    **dict.fromkeys(_WORDS["person nouns"]),
    **dict.fromkeys(_WORDS["person nouns m"], "m"),
    **dict.fromkeys(_WORDS["person nouns f"], "f"),
}
PLURAL_NOUNS = _WORDS["plural nouns"]
OWNED = _WORDS["owned plurals"]
COUNTS = _WORDS["counts"]
NOT_JOBS = _WORDS["not jobs"]
BARE_ROLES = _WORDS["bare roles"]
COMPOUND_AFTER = words("compounds")
ANYBODY = _WORDS["anybody"]
PREDICATES = _WORDS["predicates"]
AGE_WORDS = _WORDS["age words"]
DETERMINERS = _WORDS["determiners"]
GENERIC_DETERMINERS = _WORDS["generic determiners"]
CONDITIONALS = _WORDS["conditionals"]
MODALS = _WORDS["modals"]
PAST_AUX = _WORDS["past auxiliaries"]
CLAUSE_BREAKS = _WORDS["clause breaks"]
PHRASE_BREAKS = _WORDS["phrase breaks"]
STOPS_KIN = _WORDS["kin stops"]
RULE_VERBS = _WORDS["rule verbs"]
RULE_STATES = _WORDS["rule states"]
RULE_THINGS = _WORDS["rule things"]
KIN = {word: (canonical, None if gender == "-" else gender) for word, canonical, gender in rows("kin", 3)}
