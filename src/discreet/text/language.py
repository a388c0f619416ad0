"""A language guess that is only ever asked one question: is this English enough to be judged?

Function words decide: about two of five words of running English prose are among the listed ones, and hardly any
of another language's are. A stretch that is long enough and holds too few of them, or another script, is not
English. Short stretches and lists of terms are never decided on function words alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache

from discreet.text.doc import Doc

_ENGLISH = frozenset(
    "the of and to a in is that it for on with as was are be at by this have from or an not but they which you "
    "we his her their has had were been if will can all would there when who what so no more about my me i she he "
    "your do any may than its our also into only some could them then these such how after most where while should "
    "because does did just being other up out one over like before between through during very both each many "
    "under am us him those since without against however whether".split()
)
_FOREIGN: dict[str, frozenset[str]] = {
    "es": frozenset(
        "el la los las de del que y en un una por con para se su es al lo como más pero sus le ya este "
        "años tiene esta fue son dos también sin sobre hijos vive mujer hombre".split()
    ),
    "fr": frozenset(
        "le la les des du de et un une est dans que qui pour sur au aux avec par ce il elle ne pas plus "
        "son sa ses ans nous vous cette sont deux mais ou où été".split()
    ),
    "de": frozenset(
        "der die das und ist von mit den dem ein eine einer zu auf für im nicht des sich auch als wird "
        "an es aus bei nach war hat sie er jahre wurde haben zwei".split()
    ),
    "it": frozenset(
        "il lo gli di e che un una per con del della è sono nel alla ha non si più anni dei delle al da "
        "come anche ma due figli".split()
    ),
    "pt": frozenset(
        "o os as de do da que e em um uma por com para se é na no mais dos das não ao anos tem foi são "
        "também sua seu dois filhos".split()
    ),
    "nl": frozenset(
        "de het een van en in is dat op te met voor zijn niet aan er ook als door naar jaar heeft werd maar bij "
        "twee haar waar zij wordt worden deze".split()
    ),
    "pl": frozenset("i w z na nie się jest do że to o po jak ale od za przez dla ma jej jego był była został oraz który lat".split()),
    "sv": frozenset("och i att det som en på är av för med den till var inte om ett har de hon han år sina hans hennes hade".split()),
    "da": frozenset("og i at det som en på er af for med den til var ikke om et har de hun han år sine hans hendes havde".split()),
    "no": frozenset("og i å det som en på er av for med den til var ikke om et har de hun han år sine hans hennes hadde".split()),
    "fi": frozenset("ja on ei että se hän oli ovat joka mutta kun myös sen hänen kanssa vuotta jossa tai niin kuin".split()),
    "id": frozenset("dan yang di dari untuk dengan ini itu tidak pada dalam adalah ke akan oleh ia anak karena sudah tahun nya dua".split()),
    "vi": frozenset("là và của có không được cho một các với này đã tại trong người bà ông ở hai đau ngày bị".split()),
    "tr": frozenset("ve bir bu da de için ile olarak çok daha var ne gibi iki yaşında olan değil nedeniyle sonra".split()),
    "ro": frozenset("și de la în cu nu este un o care pe din pentru mai sau ani are fost dar iar".split()),
    "cs": frozenset("a se na je v že to s z do o ve pro jako ale po jsem byla byl který let má její jeho".split()),
    "hu": frozenset("a az és hogy nem is egy van ez volt de meg csak már két éves akik mint vagy".split()),
}
_WINDOW = 24
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Language:
    """`english` is False only where the text shows that it is not; `guess` is an ISO 639-1 code, `und` or a script."""

    english: bool
    guess: str


def guess_language(doc: Doc) -> Language:
    """Judge a text window by window; one window that is clearly not English decides."""
    words = [t.lower for t in doc.tokens if t.text[0].isalpha()]
    if not words:
        return Language(True, "und")
    script = _other_script(words)
    if script:
        return Language(False, script)
    for begin in range(0, len(words), _WINDOW):
        window = words[begin : begin + _WINDOW] if len(words) - begin >= _LEAST or begin == 0 else words[-_LEAST:]
        code = _foreign(window)
        if code:
            return Language(False, code)
    return Language(True, "en")


def _other_script(words: list[str]) -> str | None:
    """The script of a text in which at least a fifth of the letters, and eight of them, are not Latin."""
    letters = [c for word in words for c in word if ord(c) > 0x24F and c.isalpha()]
    total = sum(len(word) for word in words)
    if len(letters) < 8 or len(letters) < 0.2 * total:
        return None
    names: dict[str, int] = {}
    for c in letters:
        script = unicodedata.name(c, "UNKNOWN").split()[0].lower()
        names[script] = names.get(script, 0) + 1
    best = max(names, key=lambda k: names[k])
    return None if best in ("latin", "mathematical", "modifier", "ohm", "micro", "greek") and names[best] < 20 else best


@cache
def _codes() -> dict[str, tuple[str, ...]]:
    """Function word to the languages that use it and English does not."""
    table: dict[str, list[str]] = {}
    for code, listed in _FOREIGN.items():
        for word in listed - _ENGLISH:
            table.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in table.items()}


def _foreign(window: list[str]) -> str | None:
    """The language of a window that is clearly not English, or None."""
    if len(window) < _LEAST:
        return None
    codes = _codes()
    english, other = 0, Counter[str]()
    for word in window:
        if word in _ENGLISH:
            english += 1
        elif word in codes:
            other.update(codes[word])
    if other:
        code, count = max(other.items(), key=lambda item: (item[1], item[0]))
        if count >= 4 and count > 1.5 * english and count >= 0.2 * len(window):
            return code
    if english or len(window) < 20:
        return None
    accented = sum(not word.isascii() for word in window)
    return "und" if accented >= 0.25 * len(window) else None
