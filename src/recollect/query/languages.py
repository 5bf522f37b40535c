"""Which language is this, how are its words stemmed, and which of them say nothing?

A memory's language decides how its words are stemmed. It is read from the script, and in Latin script from
the small words that every sentence has; English when unsure. Words in another script than Latin are stemmed
by that script's usual language, so that a German text with a Russian name in it works.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain

from recollect.query import compiled

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish",
}  # fmt: skip

UNSTEMMED = {"zh", "ja", "ko", "th", "lo", "km", "my", "he", "none"}

_STOP_WORDS = {
    "en": """a about above after again all also am an and any are as at be because been before being below
        between both but by can cannot cant could did do does doing dont down during each few for from further
        had has have having he her here hers herself him himself his how i if in into is isnt it its itself
        just me more most my myself no nor not of off on once only or other our ours ourselves out over own
        please same she should so some such than that the their theirs them themselves then there these they
        this those through to too under until up us very was we were what when where which while who whom
        whose why will with would you your yours yourself yourselves doesnt didnt wasnt werent wont wouldnt
        shouldnt couldnt havent hasnt hadnt arent tell""",
    "de": """aber alle allem allen aller alles als also am an ander andere anderem anderen anderer auch auf
        aus bei bin bis bist da damit dann das dass dein deine dem den denn der des dessen dich die dies diese
        diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
        euer eure für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre
        ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jene jetzt kann kein keine können
        könnte machen man manche mein meine mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein
        seine seinem seinen seiner sich sie sind so solche soll sollte sondern sonst über um und uns unser
        unter viel vom von vor war waren warst was weg weil weiter welche welchem welchen welcher welches wenn
        wer werde werden wie wieder will wir wird wirst wo woher wohin wollen worden wurde wurden zu zum zur
        zwar zwischen""",
    "fr": """à ai au aux avec ce ces cet cette ceux comme comment dans de des du elle elles en entre est et
        été être eu il ils je la le les leur leurs lui ma mais me même mes moi mon ne nos notre nous on ont ou
        où par pas plus pour pourquoi qu que quel quelle quelles quels qui sa sans se ses si son sont sur ta
        te tes toi ton tu un une vos votre vous était étaient avait quand quoi""",
    "es": """a al algo ante antes como con contra cual cuáles cuál cuando cuándo cuánto cómo de del desde
        donde dónde durante e el ella ellas ellos en entre era eran es esa ese eso esta está están este esto
        fue fueron ha hace hay la las le les lo los me mi mis muy más nada ni no nos nosotros o os otra otro
        para pero por porque qué que quien quién se sea ser si sí sin sobre son su sus también te tiene todo
        tu tus un una uno unos y ya yo""",
    "it": """a ad al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di dove
        e è ed era erano essere fu furono gli ha hanno ho i il in io la le lei li lo loro lui ma mi mia mio
        ne nei nel nella noi non o per perché più qual quale quali quando quanto quella quello questa questo
        se si sono su sua sul sulla suo tra tu un una uno vi voi""",
    "pt": """a ao aos as até com como da das de dela dele deles do dos e é ela elas ele eles em entre era
        eram essa esse esta está este eu foi foram há isso isto já lhe mais mas me meu minha muito na não nas
        nem no nos nós o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quem se
        sem ser seu seus são só sua suas também te tem um uma você""",
    "nl": """aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en
        er ge geen had heb heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men
        met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook op over te tegen toch toen tot u
        uit uw van veel voor waar waarom wanneer want waren was wat we wel welke werd wie wij wil worden zal
        ze zelf zich zij zijn zo zonder zou""",
    "sv": """att av blev de den denna deras dess det detta dig din dina ditt du där då efter eller en er ett
        från för ha hade han hans har henne hennes hon honom hur här i icke in inte ingen jag kan man med men
        mig min mina mitt mot mycket ni nu när och om oss på sedan sig sin sina sitt skulle som så till under
        upp ut utan vad var vara varför vem vi vid vilka vilken vilket är över""",
    "ru": """а без бы был была были было быть в вам вас весь во вот все всё вы где да даже для до его ее если
        есть еще же за и из или им их к как какая какие какой когда кто ли меня мне мы на над не него нее нет
        ни них но ну о об он она они оно от по под при с сколько со та так также там те то того тоже только
        том ты у уже чего чем что чтобы эта эти это этого я""",
    "hi": """का की के को में से है हैं था थे थी और या ने पर यह वह ये वे इस उस एक भी तो ही कि जो क्या कौन किस
        कब कहाँ कैसे कितने कितना कितनी क्यों लिए साथ तक गया गई गए हुआ हुई हुए कर करने किया होता होती होते
        रहा रही रहे अपने अपनी उनके उसके इसके किसी द्वारा""",
}  # fmt: skip

STOP_WORDS = {code: frozenset(words.split()) for code, words in _STOP_WORDS.items()}
_LATIN_VOTERS = ("en", "de", "fr", "es", "it", "pt", "nl", "sv")

_SCRIPTS = (
    (0x0370, 0x03FF, "el"),
    (0x0400, 0x052F, "ru"),
    (0x0530, 0x058F, "hy"),
    (0x0590, 0x05FF, "he"),
    (0x0600, 0x06FF, "ar"),
    (0x0900, 0x097F, "hi"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x1000, 0x109F, "my"),
    (0x1100, 0x11FF, "ko"),
    (0x1780, 0x17FF, "km"),
    (0x3040, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0xAC00, 0xD7AF, "ko"),
    (0x20000, 0x3FFFF, "zh"),
)
_LETTERS = re.compile(r"[^\W\d_]+")
_LOOKED_AT = 600


def is_known(language: str) -> bool:
    """Whether `language` is a code that a memory may carry ("en", "de", "zh", … or "none")."""
    return language in STEMMERS or language in UNSTEMMED


def script_language(character: str) -> str | None:
    """The usual language of a character's script; None for Latin and whatever is not listed.

    >>> script_language("д"), script_language("猫"), script_language("e")
    ('ru', 'zh', None)
    """
    code = ord(character)
    if code < 0x0370:
        return None
    return next((language for first, last, language in _SCRIPTS if first <= code <= last), None)


def detect(text: str) -> str:
    """The language of a text: by script, in Latin script by its small words, "en" when unsure.

    >>> detect("Wir haben uns gegen Redis entschieden, weil es zu teuer ist")
    'de'
    >>> detect("我们决定使用 PostgreSQL"), detect("テストを書く"), detect("OK")
    ('zh', 'ja', 'en')
    """
    sample = text[:_LOOKED_AT]
    if not compiled.COMPILED or not sample.isascii():
        return _detected(sample)
    return _LATIN_VOTERS[compiled._text.elections([sample], *_compiled_voters())[0]]


def detect_many(texts: Iterable[str]) -> list[str]:
    """The languages of many texts, sooner than one by one."""
    samples = [text[:_LOOKED_AT] for text in texts]
    if not compiled.COMPILED:
        return list(map(_detected, samples))
    words, voters = _compiled_voters()
    elected = iter(compiled._text.elections([each for each in samples if each.isascii()], words, voters))
    return [_LATIN_VOTERS[next(elected)] if each.isascii() else _detected(each) for each in samples]


@cache
def _voters_of() -> dict[str, tuple[str, ...]]:
    """The languages that have each small word; who asks in a store of one language needs none of it."""
    return {
        word: tuple(voter for voter in _LATIN_VOTERS if word in STOP_WORDS[voter])
        for word in frozenset().union(*(STOP_WORDS[voter] for voter in _LATIN_VOTERS))
    }


@cache
def _not_english() -> frozenset[str]:
    return frozenset(_voters_of().keys() - STOP_WORDS["en"])


@cache
def _compiled_voters() -> tuple[object, bytes]:
    """The small words as C takes them, and for each a byte with a bit for every language that has it."""
    bits = {voter: 1 << number for number, voter in enumerate(_LATIN_VOTERS)}
    return compiled._text.table(tuple(_voters_of())), bytes(
        sum(map(bits.__getitem__, voters)) for voters in _voters_of().values()
    )


def _detected(sample: str) -> str:
    if not sample.isascii():
        foreign = _not_latin().findall(sample)
        if len(foreign) * 3 > sum(map(len, _LETTERS.findall(sample))):
            return _by_script(foreign)
    return _by_small_words(sample)


@cache
def _not_latin() -> re.Pattern[str]:
    """Compiled when it is first needed: it takes milliseconds, and a search should start without."""
    return re.compile("[\u0370-\u1fff\u3040-\ud7af\U00020000-\U0003ffff]")


def _by_script(characters: list[str]) -> str:
    votes: dict[str, int] = {}
    for character in characters:
        language = script_language(character)
        if language:
            votes[language] = votes.get(language, 0) + 1
    if not votes:
        return "none"
    winner = max(votes, key=lambda language: votes[language])
    return "ja" if winner == "zh" and votes.get("ja", 0) else winner


def _by_small_words(sample: str) -> str:
    words = _LETTERS.findall(sample.lower())
    if _not_english().isdisjoint(words):  # whoever gets a vote, English gets it too
        return "en"
    votes = Counter(chain.from_iterable(filter(None, map(_voters_of().get, words))))
    best = max(_LATIN_VOTERS, key=votes.__getitem__)
    return best if votes[best] >= 2 and votes[best] > votes["en"] else "en"


def is_latin(language: str) -> bool:
    """Whether a language is written in Latin letters."""
    return language in STEMMERS and all(language != other for _, _, other in _SCRIPTS) and language != "sr"


def stop_words(languages: Iterable[str]) -> frozenset[str]:
    """The words, in any of these languages, that say nothing by themselves."""
    return _stop_words(tuple(languages))


@lru_cache(maxsize=1_000)
def _stop_words(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(STOP_WORDS.get(language, frozenset()) for language in languages))


class _Stemmers(threading.local):
    """Snowball stemmers by name; one set a thread, because a stemmer must not be shared."""

    def __init__(self) -> None:
        self.by_name: dict[str, object] = {}


_stemmers = _Stemmers()


def stem(word: str, language: str) -> str:
    """The stem of a lower-case word in a language; the word itself where the language has no stemmer.

    >>> stem("migrations", "en"), stem("häuser", "de"), stem("猫", "zh")
    ('migrat', 'haus', '猫')
    """
    name = STEMMERS.get(script_language(word[0]) or language)
    if name is None:
        return word
    stemmer = _stemmers.by_name.get(name)
    if stemmer is None:
        import Stemmer

        stemmer = _stemmers.by_name[name] = Stemmer.Stemmer(name, 0)
    stemmed: str = stemmer.stemWord(word)  # type: ignore[attr-defined]
    return stemmed
