"""Closed word classes that say who a clause is about. Open classes live in the gazetteers."""

from __future__ import annotations

import re

FIRST = frozenset("i i'm i've i'd i'll me my mine myself im ive".split())
FIRST_PLURAL = frozenset("we we're we've we'd we'll us our ours ourselves".split())
SECOND = frozenset("you you're you've you'd you'll your yours yourself".split())
THIRD: dict[str, str] = {
    **dict.fromkeys("he he's he'd he'll his him himself".split(), "m"),
    **dict.fromkeys("she she's she'd she'll her hers herself".split(), "f"),
}
THEY = frozenset("they they're they've they'd their them".split())
# People who act in office in answers about somebody else.
OFFICIALS = frozenset("physician doctor surgeon nurse judge officer lawyer attorney therapist counselor psychologist "
                      "dentist pharmacist clerk paralegal trustee executor accountant banker broker clinician".split())
FUNCTION = frozenset(
    "a an the of in on at to for from with by and or but as if that than then when while who which was is are were "
    "be been being has have had do does did not no so because since until after before during about into over under "
    "again very too also there here what how why where".split()
)

# Singular nouns that can point at one person, with the gender that they tell.
PERSON_NOUNS: dict[str, str | None] = {
    **dict.fromkeys(
        "patient client individual person plaintiff defendant petitioner respondent claimant appellant appellee "
        "testator decedent grantor grantee borrower lender customer taxpayer tenant landlord lessee lessor employee "
        "victim infant neonate newborn toddler child teenager adolescent veteran resident applicant debtor creditor "
        "buyer seller purchaser homeowner student retiree guy kid baby worker driver passenger pedestrian accused "
        "suspect inmate prisoner detainee caller reporter complainant beneficiary insured policyholder investor "
        "shareholder trustee executor heir minor youth youngster adult donor recipient subject participant member "
        "proband caregiver parent spouse partner friend roommate neighbor neighbour coworker colleague boss cousin "
        "sibling smoker nonsmoker primigravida multipara immigrant refugee asylum-seeker farmer teacher lawyer "
        "litigator attorney engineer nurse physician surgeon pilot soldier officer carpenter electrician plumber "
        "mechanic accountant banker trader analyst consultant developer programmer scientist researcher professor "
        "pharmacist dentist therapist counselor psychologist firefighter paramedic janitor waiter cashier clerk "
        "secretary manager executive contractor builder painter musician artist writer journalist editor chef cook "
        "baker butcher miner welder machinist trucker librarian realtor broker entrepreneur freelancer athlete coach "
        "musician actor singer dancer designer architect judge paralegal postdoc resident fellow intern".split(),
        None),
    **dict.fromkeys("man boy gentleman male father husband son brother grandfather uncle nephew widower boyfriend "
                    "fisherman businessman salesman policeman fireman serviceman".split(), "m"),
    **dict.fromkeys("woman girl lady female mother wife daughter sister grandmother aunt niece widow girlfriend "
                    "waitress businesswoman actress housewife homemaker schoolgirl seamstress".split(), "f"),
}
PLURAL_NOUNS = frozenset(
    "patients clients individuals people persons women men adults children infants neonates newborns toddlers "
    "teenagers adolescents boys girls males females participants subjects respondents borrowers customers taxpayers "
    "tenants landlords employees employers victims residents veterans applicants debtors creditors buyers sellers "
    "homeowners students retirees workers drivers families households couples those others anyone someone everyone "
    "anybody somebody everybody nobody investors shareholders members caregivers parents plaintiffs defendants "
    "petitioners claimants americans citizens immigrants smokers users consumers seniors elders youths minors "
    "physicians doctors nurses lawyers attorneys clinicians".split()
)
# Plurals that a number or an owner makes somebody's family and not a group: "two children", "her boys".
OWNED = frozenset("children boys girls infants toddlers teenagers newborns".split())
COUNTS = frozenset("one two three four five six seven eight nine ten several young small grown adult minor twin older "
                   "1 2 3 4 5 6 7 8 9".split())
# Listed among occupations, but in a transaction or a paper a role of the moment.
NOT_JOBS = frozenset("buyer seller author owner purchaser lender landlord investor customer user speaker winner leader driver "
                     "passenger model operator reviewer reader observer assistant volunteer candidate sponsor".split())
BARE_ROLES = frozenset("patient client plaintiff defendant petitioner respondent claimant male female".split())
COMPOUND_AFTER: dict[str, tuple[str, ...]] = {
    "patient": ("care", "education", "portal", "safety", "population", "records", "outcomes", "satisfaction"),
    "client": ("money", "base", "confidentiality", "privilege"),
    "child": ("care", "support", "custody", "abuse", "labor", "labour", "protective", "tax", "development", "welfare"),
    "student": ("loan", "loans", "debt", "aid", "housing"),
    "parent": ("company", "corporation"), "member": ("states", "state", "firm"), "minor": ("league", "surgery"),
    "subject": ("matter", "to"), "insured": ("event",), "infant": ("formula", "mortality"),
    "partner": ("program", "firm"), "executive": ("branch", "order"), "officer": ("position",),
    "employee": ("benefits", "stock", "handbook", "contribution"), "customer": ("service", "support", "base"),
    "female": ("genital",), "male": ("pattern",), "mother": ("tongue", "board"), "model": ("penal", "rules", "was"),
    "judge": ("'s",), "resident": ("alien",), "trustee": ("'s",), "investor": ("relations",),
}

# Words for somebody already spoken of, in whatever role; other role nouns ("the buyer") need their own antecedent.
ANYBODY = frozenset("patient client individual person man woman gentleman lady boy girl infant child baby plaintiff "
                    "defendant petitioner respondent claimant applicant borrower taxpayer guy youth minor adult".split())
PREDICATES = frozenset("am is are was were be been being as became become becoming 'm i'm im he's she's who's".split())
AGE_WORDS = frozenset("- ' 's s old-age year years old month months week weeks day days".split())
DETERMINERS = frozenset("a an the this that these those our my her his your their one any each every no either "
                        "another some such said whichever typical average".split())
GENERIC_DETERMINERS = frozenset("any each every no either some such whichever your typical average these those".split())
CONDITIONALS = frozenset("imagine picture consider instance example hypothetically if when whenever unless whether suppose assuming where once should like such eg".split())
MODALS = frozenset("should must may can might could would shall will ought needs cannot can't won't shouldn't mustn't".split())
PAST_AUX = frozenset("was were had did came presented underwent reported complained died filed sued bought sold went "
                     "became received entered told said asked moved lived worked developed denied visited".split())
CLAUSE_BREAKS = frozenset(". ; : ! ? ) (".split())
PHRASE_BREAKS = frozenset(
    "of in on at to for from with by and or but as if that than then when while who which whose was is are were be "
    "been being has have had do does did not so because since until after before during about into over under ; : . "
    "! ? ( ) \" i you he she we they it".split()
)

# Relatives: head word -> (canonical, gender).
KIN: dict[str, tuple[str, str | None]] = {
    **{w: (w, "m") for w in "husband father dad son brother grandfather grandpa uncle nephew boyfriend stepfather "
       "stepdad stepson stepbrother grandson father-in-law brother-in-law son-in-law fiancé fiance ex-husband".split()},
    **{w: (w, "f") for w in "wife mother mom mum daughter sister grandmother grandma aunt niece girlfriend stepmother "
       "stepmom stepdaughter stepsister granddaughter mother-in-law sister-in-law daughter-in-law fiancée fiancee "
       "ex-wife".split()},
    **dict.fromkeys(("fil",), ("father-in-law", "m")), **dict.fromkeys(("mil",), ("mother-in-law", "f")),
    **dict.fromkeys(("sil",), ("sister-in-law", "f")), **dict.fromkeys(("bil",), ("brother-in-law", "m")),
    **dict.fromkeys(("dh", "hubby"), ("husband", "m")), **dict.fromkeys(("dw", "wifes", "wife's"), ("wife", "f")),
    **dict.fromkeys(("gf",), ("girlfriend", "f")), **dict.fromkeys(("bf",), ("boyfriend", "m")),
    **{w: (w, None) for w in "child kid baby infant toddler spouse partner sibling cousin ex roommate friend boss "
       "coworker neighbor neighbour grandchild parent so".split()},
}
STOPS_KIN = frozenset("and or but who that which is was has had said , ; :".split())

AUTHORIAL = re.compile(
    r"(?:also |here |then |further |therefore |herein )?"
    r"(?:report|reported|present|presented|describe|described|examine|examined|investigat|evaluat|assess|compared?|found|"
    r"observ|stud(?:y|ied)|measured|analy[sz]ed?|hypothesi|conclude|conducted|performed|aimed|sought|identified|propose|"
    r"review|used|show|suggest|recommend|treated|diagnosed|believe that this|enrolled|included|recruited|collected|"
    r"hold|held|affirm|reverse|conclude|granted certiorari|decline|disagree|"
    r"case|study|data|results|findings|experience|patients?|institution|department|cohort|analysis|hospital|clinic|series|method)"
)
