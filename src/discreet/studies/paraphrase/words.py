"""The closed lists of the rule-based paraphraser, written for it: phrases that may stand for each other, and frames.

A pattern is matched without regard to case, with no letter of a longer word, address or number beside it. `{0}` in an
option is the pattern's first group as it was found.
"""

from __future__ import annotations

EITHER_WAY: tuple[tuple[str, ...], ...] = (
    ("someone", "somebody"), ("anyone", "anybody"), ("everyone", "everybody"), ("no one", "nobody"),
    ("perhaps", "maybe"), ("a lot of", "lots of", "plenty of"), ("although", "though"), ("often", "frequently"),
    ("usually", "normally", "generally"), ("sometimes", "at times", "now and then"), ("really", "truly"),
    ("almost", "nearly"), ("quickly", "rapidly", "swiftly"), ("completely", "entirely"),
    ("right now", "at the moment", "at this moment"), ("kids", "children"), ("kid", "child"), ("smart", "clever"),
    ("best way to", "most effective way to", "ideal way to"), ("get rid of", "dispose of"),
    ("getting rid of", "disposing of"), ("look for", "search for"), ("looking for", "searching for"),
    ("try to", "attempt to"), ("trying to", "attempting to"), ("tried to", "attempted to"),
    ("allowed to", "permitted to"), ("for example", "for instance"), ("these days", "nowadays"),
    ("right away", "immediately", "at once"), ("instead of", "rather than"), ("due to", "because of", "owing to"),
    ("getting caught", "being caught"), ("get caught", "be caught"), ("the cops", "the police"),
    ("talk about", "speak about"), ("talk to", "speak to"), ("talking about", "speaking about"),
    ("talking to", "speaking to"), ("wants to", "wishes to"), ("want to", "wish to"), ("wanted to", "wished to"),
    ("huge", "enormous"), ("scared", "frightened"), ("terrible", "awful"), ("constantly", "continually"),
    ("in my opinion", "in my view", "to my mind"), ("next to", "beside"),
    ("all of the", "all the"), ("most of the", "the majority of the"),
    ("color", "colour"), ("favorite", "favourite"), ("neighbor", "neighbour"), ("neighbors", "neighbours"),
    ("behavior", "behaviour"), ("realize", "realise"), ("toward", "towards"),
    ("as soon as possible", "as quickly as possible"), ("is it okay to", "is it all right to", "is it fine to"),
    ("especially", "particularly"),
)

ONE_WAY: dict[str, tuple[str, ...]] = {
    "begin": ("start",), "begins": ("starts",), "buy": ("purchase",), "buys": ("purchases",),
    "buying": ("purchasing",), "bought": ("purchased",), "difficult": ("hard",), "easiest": ("simplest",),
    "movie": ("film",), "movies": ("films",), "car": ("vehicle",), "cars": ("vehicles",), "mom": ("mother",),
    "dad": ("father",), "sad": ("unhappy",), "several": ("a number of",), "regarding": ("about", "concerning"),
    "such as": ("like",), "in order to": ("so as to", "to"), "so that": ("in order that",), "gonna": ("going to",),
    "wanna": ("want to",), "ok": ("okay", "all right"), "alright": ("all right",), "till": ("until",),
    "therefore": ("hence", "thus"), "find out": ("learn", "discover"), "finding out": ("learning", "discovering"),
    "found out": ("learnt", "discovered"), "every day": ("each day",), "every time": ("each time",),
    "every week": ("each week",), "every night": ("each night",), "every year": ("each year",),
    "weird": ("strange", "odd"), "folks": ("people",), "crazy": ("mad",),
    "a couple of": ("a few", "two or three"), "at first": ("in the beginning",), "the whole time": ("all the time",),
    "good idea": ("sensible idea",), "thank you": ("thanks",), "hello": ("hi",), "hi": ("hello",),
    "ways to": ("means to", "methods to"), "kind of": ("sort of",), "a way to": ("a means to",), "whilst": ("while",),
    "nevertheless": ("however",), "entire": ("whole",), "reasons why": ("reasons that",),
}

_SUBJECT = r"(i|you|we|they)"
_THAT = r"(?= (?:that|i|you|he|she|it|we|they|this|these|those|the|my|your|his|her|our|their|nobody|no one)\b)"
_ASKED = r"(?= (?:how|what|why|where|when|who|which|about|if|whether)\b)"
_WHO = r"(i|we|you|one|people|a person|someone|somebody|anyone|anybody)"
_DOING = (r"(?= (?:make|build|cook|bake|fix|clean|start|stop|hide|break|steal|become|get|grow|create|write|use|tell "
          r"(?:if|whether|when)|handle|deal)\b)")
_AUX = (r"(do|does|did|is|are|was|were|can|could|should|would|will|have|has|don't|doesn't|didn't|isn't|aren't|can't|"
        r"won't|shouldn't)")
_COUNTED = r"(?= (?!news\b|gas\b|bus\b|has\b|was\b|this\b|his\b|always\b|chaos\b|perhaps\b)[a-z]{2,}[a-rt-z]s\b)"

IN_CONTEXT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"{_SUBJECT} need to", ("{0} have to",)), (rf"{_SUBJECT} have to", ("{0} need to",)),
    (r"tell me" + _ASKED, ("let me know",)), (r"explain" + _ASKED, ("describe",)),
    (r"give me(?= (?:a|an|some|the|any|advice|tips|ideas|examples|information)\b)", ("provide me with", "offer me")),
    (r"(i) think" + _THAT, ("{0} believe", "{0} feel")), (r"(i) believe" + _THAT, ("{0} think", "{0} feel")),
    (r"make sure" + _THAT, ("ensure", "see to it")),
    (r"keep(?= (?!nothing|anything|everything|something)[a-z]{3,}ing\b)", ("go on", "continue")),
    (r"stop(?= (?!being|nothing|anything)[a-z]{3,}ing\b)", ("quit", "cease")), (r"some" + _COUNTED, ("a few",)),
    (r"(?<!how )(?<!so )(?<!too )(?<!as )(?<!that )many" + _COUNTED, ("numerous",)),
    (r"because(?! of\b)", ("since", "as")), (r"(is|it's|are) illegal", ("{0} against the law",)),
    (r"(to|can) use(?= (?:a|an|the|my|your|this|that|it|some)\b)", ("{0} make use of",)),
    (r"big(?! (?:deal|brother|bang|time|data|apple)\b)", ("large",)), (r"biggest", ("largest",)),
    (r"hate(?= (?:the|my|your|it|him|her|them|this|that|people|being|when)\b)", ("detest", "can't stand")),
    (r"my house", ("my home",)), (r"(?<!the )very(?! (?:much|best|few|first|last)\b)", ("extremely",)),
)

FRAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"how do (i|we|one|people)", ("how can {0}", "how could {0}", "how might {0}", "in what way do {0}")),
    (r"how do (you)" + _DOING, ("how can {0}", "how could {0}", "how would {0}")),
    (rf"how can {_WHO}", ("how could {0}", "how might {0}", "what can {0} do to", "in what way can {0}")),
    (rf"how could {_WHO}", ("how can {0}", "how might {0}", "what could {0} do to")),
    (rf"how would {_WHO}(?! feel\b| like\b)", ("how could {0}", "in what way would {0}")),
    (r"how should (i|we|you|people)", ("in what way should {0}", "in which way ought {0} to")),
    (r"how to", ("how can one", "how does one", "what is the way to", "in what way can one")),
    (r"what(?:'s| is) the best way to", ("what is the most effective way to", "what would be the best way to",
                                         "how can one best")),
    (r"what(?:'s| is) (a|an)(?! (?:good|better)\b)", ("what exactly is {0}",)),
    (r"what(?:'s| is) a (good|better|safe|quick|cheap|fun) way to", ("what would be a {0} way to", "do you know a {0} "
                                                                     "way to")),
    (r"what(?:'s| is) the", ("what exactly is the", "could you tell me the")),
    (r"what are (some|a few)", ("could you name {0}", "can you list {0}", "do you know {0}")),
    (r"what are the", ("could you name the", "can you list the", "which are the")),
    (r"what do you think (?:about|of)", ("what are your thoughts on", "what is your opinion of", "how do you see")),
    (r"what should (i|we)(?= do\b)", ("what ought {0} to",)),
    (r"what would you do", ("how would you act", "what would be your choice")),
    (r"do you think(?: that)?", ("do you believe", "would you say", "is it your view that")),
    (rf"why {_AUX}", ("for what reason {0}", "for which reason {0}")),
    (r"can you(?! \w+ing\b)", ("could you", "would you be able to", "are you able to")),
    (r"could you", ("can you", "would you be able to")),
    (r"can (i|we)", ("could {0}", "am {0} able to")),
    (r"should (i|we)", ("do you think {0} should", "would you say {0} should")),
    (r"is there (?:a|any) way to", ("is it possible to", "does a way exist to")),
    (r"is it possible to", ("is there a way to", "can one")),
    (rf"where can {_WHO}", ("where could {0}", "where might {0}", "in what place can {0}")),
    (r"where (is|are|was|were|do|does|did)", ("where exactly {0}",)),
    (r"who (is|are|was|were)", ("who exactly {0}",)),
    (r"when (did|does|is|was|will|do|are)", ("when exactly {0}", "at what time {0}")),
    (r"(i) want to", ("{0} would like to", "{0} wish to")), (r"(i) need help", ("{0} could use some help",)),
    (r"i'd like to", ("I would like to", "I want to")),
    (r"please", ("kindly",)),
    (r"what(?:'s| is)(?! (?:the|a|an|it|that|this|so|there|going)\b)", ("what exactly is",)),
    (r"what can (i|we|you|one)", ("what could {0}",)),
    (r"is it true that", ("is it the case that", "is it right that", "is it a fact that")),
    (r"do you have (any|some)", ("have you got {0}", "can you offer {0}")),
    (r"did you know(?: that)?" + _THAT, ("were you aware that", "have you heard that")),
    (r"how (much|many|long|far|often|old)", ("exactly how {0}", "just how {0}")),
    (r"(write|describe|explain|list|create|tell me|show me|give me|name|suggest|provide|say|help me|teach me|find)"
     r"(?! (?:of|is|was|for|are)\b)", ("please {0}", "I would like you to {0}", "I am asking you to {0}")),
)
"""What begins a sentence."""

_BEHIND_SUBJECT = r"(?:(?<=\bi )|(?<=\bhe )|(?<=\bwe )|(?<=\bit )|(?<=\byou )|(?<=\bshe )|(?<=\bthey )|(?<=\bthat ))"
_AFTER = r"(?= (?:a|an|the|my|your|his|her|our|their|not|so|very|too|just|really|this|it|[a-z]{3,}ing)\b)"
CONTRACTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(i)'m", ("{0} am",)), (r"(you|we|they)'re", ("{0} are",)), (r"(i|you|we|they)'ve", ("{0} have",)),
    (r"(i|you|he|she|it|we|they)'ll", ("{0} will",)), (r"can't", ("cannot",)), (r"let's", ("let us",)),
    (r"(he|she|it|that|there|what|where|who|how)'s" + _AFTER, ("{0} is",)),
    (r"(i) am" + _AFTER, ("{0}'m",)), (r"(you|we|they) are" + _AFTER, ("{0}'re",)),
    (r"(i|you|we|they) have(?= (?:been|never|always|already|just|ever)\b)", ("{0}'ve",)),
    (r"(i|you|he|she|it|we|they) will(?= (?!not|and|or|but)[a-z])", ("{0}'ll",)),
    (r"(he|she|it|that|there|what|who) is" + _AFTER, ("{0}'s",)),
    (r"(?:cannot|can not)", ("can't",)), (r"will not", ("won't",)),
    (r"(do|does|did|is|are|was|were|has|have|had|would|should|could) not", ("{0}n't",)),
    # Behind a subject alone: "why don't you" has no long form in this order.
    (_BEHIND_SUBJECT + r"(do|does|did|is|are|was|were|has|have|had|would|should|could)n't", ("{0} not",)),
    (_BEHIND_SUBJECT + r"won't", ("will not",)),
)

LOWERED = frozenset(
    """a an the this that these those my your his her its our their some any all many most few several every each no
    he she it we you they there here one people who what when where why how which whose if because since although
    though while after before until unless once as in on at by for from with without about into over under between
    during and but or so yet not never always often sometimes maybe perhaps also just only even still then now today
    is are was were am be been do does did have has had can could will would shall should may might must don't doesn't
    didn't isn't aren't wasn't weren't can't won't wouldn't shouldn't couldn't it's that's there's what's where's who's
    how's he's she's you're we're they're let's please tell give show write explain describe list create name suggest
    provide find teach help kindly make get go try say
    ask think know want need like thanks thank yes well someone somebody anyone anybody everyone everybody nobody
    nothing something anything everything having being doing""".split())
"""Words that lose their capital where they no longer begin a sentence; all others may be names."""

OPENERS: dict[str, tuple[str, ...]] = {
    "question": ("I was wondering:", "Quick question:", "A question for you:", "I would like to know:",
                 "Could you help me with this:", "Please tell me:", "Here is what I want to know:", "Just curious:",
                 "May I ask:"),
    "statement": ("Well,", "You know,", "Let me say this:", "To put it plainly:", "The thing is,", "As I see it,",
                  "What I mean is this:", "Here is the thing:", "So,"),
    "assistant": ("In short,", "Well,", "To answer that:", "Put differently,", "Here is my answer:",
                  "As far as I can say,", "Let me put it like this:", "Simply put,", "So,"),
}
CLOSERS: dict[str, tuple[str, ...]] = {
    "question": ("Thanks.", "Thank you.", "Thanks in advance.", "Please let me know.", "I am curious.",
                 "Any answer helps."),
    "statement": ("That is all.", "That is how it is.", "That is what I mean.", "That is my point.", "So it is.",
                  "There you have it."),
    "assistant": ("I hope that helps.", "I hope this answers it.", "Let me know if anything is unclear.",
                  "That is the gist.", "That is my answer.", "That is how I see it."),
}
