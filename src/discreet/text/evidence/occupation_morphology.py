"""Which nouns have the form of a trade: "luthier", "hedgelayer", "stablehand", whether or not a list holds them."""

from __future__ import annotations

import re

from discreet.text.doc import Doc
from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex

# Nouns with the ending of a doer that are no trade: states, habits, kin, roles of the moment, and plain things.
NO_TRADE = frozenset(
    """
    smoker nonsmoker drinker nondrinker carrier sufferer survivor responder nonresponder bleeder metabolizer
    metaboliser sleeper snorer runner walker eater abuser user addict loser gainer converter transplanter hauler
    breather outlier comparator volunteer donor acceptor receptor mentor sitter starter bloomer riser grazer dieter
    swimmer cyclist hiker jogger wearer faster father mother brother sister daughter stepfather stepmother
    stepbrother stepsister grandmother grandfather elder senior junior minor youngster teenager toddler preschooler
    schooler grader newcomer neighbor neighbour partner lover stranger foreigner villager islander townsman outsider
    insider other another either neither former latter ex-smoker bachelor spinster widower caregiver carer parent
    commuter dweller settler incomer southerner northerner westerner easterner londoner debtor creditor borrower
    lender taxpayer homeowner owner co-owner investor saver spender earner breadwinner renter buyer seller purchaser
    holder stakeholder shareholder policyholder cardholder bondholder leaseholder freeholder payer filer signer
    cosigner co-signer guarantor obligor obligee grantor settlor trustor mortgagor lessor assignor licensor vendor
    bidder bettor gambler trespasser offender perpetrator killer murderer robber infringer violator wrongdoer
    tortfeasor prisoner successor predecessor executor administrator juror nonfiler accuser stalker intruder
    squatter leaver promisor transferor insurer consumer customer subscriber member nonmember voter petitioner
    intervenor claimer disclaimer founder racist feminist pacifist atheist buddhist optimist pessimist perfectionist
    narcissist extremist minimalist realist idealist activist vegetarian christian guardian civilian lesbian
    pedestrian libertarian centenarian octogenarian nonagenarian septuagenarian believer follower supporter admirer
    fighter loner quitter worrier planner thinker talker listener leader winner beginner learner player contender
    speaker author reader candidate tester hater observer viewer visitor passenger traveler traveller sponsor
    contributor participator factor helper giver taker doer achiever latecomer lifer monster sinner savior saviour
    bearer receiver sender doubter faller repeater blocker inhibitor activator suppressor modulator mediator
    indicator marker predictor trigger stressor precursor promoter matter number order paper letter answer disorder
    cancer fever ulcer tumor tumour danger power layer barrier buffer filter center centre chapter corner quarter
    remainder reminder offer transfer career error vector sensor motor mirror odor odour color colour flavor flavour
    favor favour labor labour behavior behaviour humor honor horror terror master cluster disaster register shelter
    winter summer weather water finger shoulder liver bladder pacemaker computer server laser list twist mist fist
    wrist checklist shortlist man woman human gentleman lady layman laywoman caveman second-hand firsthand
    beforehand person guess mess success princess process access illness loss class denier pointer
    answerer deer beer peer pioneer queer tier tear non-smoker non-drinker nonuser teetotaler teetotaller abstainer
    bruiser wanderer sleepwalker biter picker hoarder pensioner retiree lodger boarder roomer tenant grandparent
    godmother godfather housemate goner charmer no-brainer lurker procrastinator deserter pushover turnover hangover
    takeover makeover coworker joker hugger kisser cuddler employer monitor flirter boaster bragger jester toucher
    co-worker roomie older younger bigger smaller larger better worse greater lesser proper improper forever however
    together ever over under after clever eager bitter sober inner outer upper lower rather poor major prior
    superior inferior interior exterior further longer shorter higher slower quicker easier harder closer farther
    earlier later stronger weaker richer poorer whenever wherever redditor poster commenter browser container
    tracker timer meter thermometer printer router charger heater cooler freezer trailer scooter roller cracker
    counter border folder header footer timber rubber leather feather downer bummer game-changer
    """.split()
)
# Of these a person does work, where the wording says work.
_WORKABLE = frozenset(
    """
    carer caregiver author reader player runner walker tester helper mediator planner server swimmer cyclist
    administrator promoter buyer seller vendor mentor listener lender executor sitter speaker rider
    """.split()
)
# Too vague to be a trade without a word before them.
_VAGUE = frozenset("hand keeper master agent mate guard boy girl guide scout page handler".split())
# Verbs' "-ator" makes devices and drugs more often than people.
_ATORS = frozenset(
    """
    translator operator educator curator illustrator decorator narrator navigator animator investigator renovator
    orator aviator coordinator estimator arbitrator senator administrator conciliator excavator
    """.split()
)
# What a person or a thing may work as that is no trade, in a frame that takes any noun.
_NO_JOB = frozenset(
    """
    team unit couple group result whole family pair partner partnership way means deterrent distraction shield
    substitute proxy pill drug sedative stimulant antidepressant antibiotic human individual citizen patient victim
    volunteer slave mule dog horse machine charm dream rule matter condition favor favour gift bonus example case
    kid child adult adolescent baby teen woman man duo trio community subcontract side while contract acceptance
    basis hobby start step
    """.split()
)
_DOER = re.compile(
    r"^[a-z]{2,}(?:er|or|ist|ian|eer|man|woman|person|wright|smith|keeper|hand|monger|master|mistress|herd|stress|ologist|"
    r"chef|cook|clerk|nurse|guard|guide|aide|scout|pilot|agent|mate|boy|girl)$|^(?:chef|cook|clerk|groom|valet|page|smith|cooper|vet|tutor)$"
)
STOPS_NOUN = (
    frozenset(
        """
    now today full part since every each here there then currently again once twice three two four five six nights
    days weekends evenings mornings outside near just until till during last this year years almost nearly too
    either alongside among amongst across along against despite within without beside besides down up off out per
    via
    """.split()
    )
    | lex.PHRASE_BREAKS
    | lex.DETERMINERS
    | lex.MODALS
    | {"like", "whose", "my", "well"}
)


def is_doer(word: str) -> bool:
    """Whether a lower-case noun has the form of a trade ("luthier", "hedgelayer") and is none of `NO_TRADE`."""
    if word.endswith(("ator", "over")) and word not in _ATORS:
        return False
    if len(word) < 3 or word in NO_TRADE or word in gazetteers.demonyms():
        return False
    listed = gazetteers.occupations().get(word)
    return _DOER.match(word) is not None or (listed is not None and listed.flag != "r" and word not in lex.NOT_JOBS)


def _goes_on(word: str) -> bool:
    """Whether a word after a head is a participle or a verb and no further noun: "a thatcher presented with …"."""
    return word.endswith(("ing", "ed")) or word in lex.PAST_AUX


def job_phrase(doc: Doc, first: int, *, strict: bool) -> tuple[int, int] | None:
    """Tokens [first, last) of the noun phrase that begins at `first` (after its article), if it can be a trade.

    Up to six tokens, ended by a mark, a function word, a number, or a participle after the head. `strict` asks that
    the head has the form of a doer; otherwise any noun passes that is not known to be none.
    """
    end = min(doc.sentence_of(first)[1], first + 6) if first < len(doc.tokens) else first
    last = first
    while last < end:
        word = doc.lowers[last]
        if word in STOPS_NOUN or not (word[0].isalpha() or word == "-"):
            break
        if last > first and (word.endswith("ly") or (is_doer(doc.lowers[last - 1]) and _goes_on(word))):
            break
        last += 1
    if last > first and doc.lowers[last - 1] == "-":
        return None
    if last == first:
        return None
    head = doc.lowers[last - 1]
    if last - first > 2 and doc.lowers[last - 2] == "-" and doc.lowers[last - 3] in ("co", "non", "ex", "self", "step"):
        return None
    if head in _VAGUE and last - first == 1:
        return None
    if is_doer(head) or (not strict and head in _WORKABLE):
        return first, last
    doers = [k for k in range(first, last) if is_doer(doc.lowers[k])]
    if doers and not strict:
        return first, doers[-1] + 1
    if (
        strict
        or head in NO_TRADE
        or head in _NO_JOB
        or len(head) < 3
        or head.endswith(("tion", "ment", "ness", "ity", "ing", "ed", "ism", "ance", "ence", "s"))
    ):
        return None
    return first, last


def job_value(doc: Doc, first: int, last: int) -> tuple[str, str]:
    """The value of a trade and its flag: as the list has it for the longest listed ending, else the head noun."""
    for k in range(first, last):
        job = gazetteers.occupations().get(" ".join(doc.lowers[k:last]))
        if job is not None:
            return job.canonical, job.flag
    return doc.lowers[last - 1], ""
