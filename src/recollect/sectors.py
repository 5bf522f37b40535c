"""Tells what kind of memory a text is, from the words in it.

Every cue is a weight and a pattern. A cue that occurs in the text adds its weight once to its sector, and the
sector with the highest sum wins. A sum below `THRESHOLD` decides nothing: such a text is taken for a fact,
and facts are semantic. Equal sums are decided by `TIE_ORDER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from recollect.cues import Contest, Patterns
from recollect.types import Sector

LOOKED_AT = 2_000
"""How many characters of a text are read; what comes later does not matter."""

TIE_ORDER: tuple[Sector, ...] = ("reflective", "emotional", "procedural", "episodic", "semantic")
"""From the rarest and most telling words to the commonest: a decision made today is a decision."""

STRONG, MEDIUM, WEAK = 3.0, 2.0, 1.0

THRESHOLD = MEDIUM

Cues = tuple[tuple[float, str], ...]

# Words that several cues share; cues are in lower case, and the text is read in it, with ' for ’.
ACTION = (
    r"(run|use|install|open|click|add|set|create|delete|remove|copy|edit|start|stop|"
    r"restart|build|deploy|call|check|configure|enable|disable|execute|export|put|press|"
    r"type|go to|select|clone|update|upgrade|write|mix|bake|cook|boil|turn|wait|ensure|"
    r"avoid|keep|test|push|pull|commit|import|bump|tag|drop|change|upload|increase|"
    r"reduce|replace|rename|move|clean|wash|register|connect|generate|request|squash|ask|"
    r"search|enter|paste|download|load|save|verify|wrap|pass|insert|stir|take|visit|"
    r"log in|sign in|follow|apply|let|point|shape|kill|validate|compare)"
)
NOT_A_NOUN = r"(?!( [\w-]+)? (is|are|was|were|has|have|had|takes?|fails?|failed|runs?|means|of)\b)"
TOOL = (
    r"(npm|pnpm|yarn|git|docker|kubectl|pip|uv|make|cargo|python|pytest|alembic|brew|apt|ssh|curl|sudo|just)"
)
PERSON = r"(i|we|he|she|they|user|team|customer|client|mom|mum|dad|my \w+|[a-z]+'s \w+)"
DID = (
    r"(went|met|had|saw|called|visited|moved|fixed|deployed|merged|finished|started|opened|reported|talked|"
    r"discussed|asked|told|paired|reviewed|released|shipped|bought|attended|travell?ed|completed|tried|"
    r"debugged|spent|caught|watched|joined|mentioned|said|wrote|sent|ran|got|took|came|flew|drove|ate|presented)"
)
WEEKDAY = r"(mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = r"(january|february|march|april|may|june|july|august|september|october|november|december)"
NOT_AN_EVENT = (
    r"(?!(based|used|unused|named|shared|nested|related|required|supported|allowed|hosted|"
    r"deprecated|generated|advanced|limited|typed|dedicated|distributed|managed|scheduled|"
    r"expected|mixed|embed|feed|seed|speed|need|decided|considered|learned|realized|"
    r"realised|rejected)\b)"
)

REFLECTIVE: Cues = (
    (
        STRONG,
        r"\b(decided|agreed|chose|opted|concluded) (to|on|that|not|against|in favou?r|for)\b|\bwe chose\b",
    ),
    (STRONG, r"\b(decision|conclusion|rationale|insight|takeaway|lessons?|retrospective|retro) ?:"),
    (STRONG, r"\blessons? learn(ed|t)\b|\blearn(ed|t) (that|the hard way)\b|\b(takeaways?|post-?mortem)\b"),
    (STRONG, r"\b(in hindsight|in retrospect|looking back|on reflection|with hindsight|next time)\b"),
    (STRONG, r"\btrade-?offs?\b|\bpros and cons\b|\b(key|main|important) insight\b"),
    (STRONG, r"\breali[sz](e|ed|ing)\b|\b(became|becomes|is now) clear\b|\brethink\b"),
    (STRONG, r"\b(understood|understand|figured out) why\b|\b(showed|shows|proved|proves) that\b"),
    (STRONG, r"\b(our|my|the) conclusion\b|\bgoing forward\b|\bin favou?r of\b"),
    (STRONG, r"\bshould(n't| not)? have\b|\bwould have been\b|\b(was|were|been) (a|the) (\w+ )?mistake\b"),
    (STRONG, r"\bbecause\b.{1,200}\b(therefore|thus|hence)\b"),
    (STRONG, r"\b(went|going|sticking|stuck|stay(ing)?) with\b|\b(settled on|ruled out|decided|opted)\b"),
    (MEDIUM, r"\b(root cause|turn(s|ed) out|right (choice|call|decision)|reasons? (for|is|was|we|why|to))\b"),
    (
        MEDIUM,
        r"\b(chose|chosen|choosing|picked|rejected|preferred \w+ over|considered|considering|weighed)\b",
    ),
    (
        MEDIUM,
        r"\b(therefore|ultimately|on balance|worth (it|the)|not worth|better off|outweighs?|overkill)\b",
    ),
    (MEDIUM, r"\b(i|we) (now )?(think|believe|understand|conclude|suspect|learn(ed|t)|found that)\b"),
    (
        WEAK,
        r"\b(because|since|instead of|rather than|so that|approach|strategy|decisions?|mistake|too much)\b",
    ),
)

EMOTIONAL: Cues = (
    (STRONG, r"\b(loves?|loved|hates?|hated|adores?|adored|dislikes?|loathes?|despises?|dreads?|detests?)\b"),
    (
        STRONG,
        r"\b(frustrat|annoy|irritat|disappoint|excit|thrill|terrif|overwhelm|embarrass|delight)(i?ed|ing)\b",
    ),
    (
        STRONG,
        r"\b(afraid|scared|anxious|nervous|worried|upset|angry|furious|jealous|lonely|ashamed|grateful)\b",
    ),
    (STRONG, r"\b(happy|unhappy|sad|proud|glad|thankful|heartbroken|homesick|relieved|stressed|miserable)\b"),
    (STRONG, r"\b(can't|cannot|couldn't) stand\b|\bfed up\b|\b(sick|tired|scared|fond|fan) of\b"),
    (STRONG, r"\benjoy(s|ed|ing)?\b|\blook(s|ing)? forward to\b|\b(passionate|crazy|bored) (about|by)\b"),
    (STRONG, r"\bmakes? (me|him|her|them|us) (\w+ )?(smile|laugh|cry|mad|uneasy)\b|\bcr(ied|ying)\b"),
    (
        STRONG,
        r"\b(find|finds|found) .{1,60}\b(boring|exhausting|confusing|tedious|scary|exciting|annoying)\b",
    ),
    (
        MEDIUM,
        r"\b(feel|feels|feeling|felt|feelings|mood|hopeless|nightmare|panic|grief|mourning|depressed)\b",
    ),
    (MEDIUM, r"\bprefers?\b|\bfavou?rites?\b|\blikes\b|\b(i|they|users?) (really )?(like|miss)\b"),
    (MEDIUM, r"\b(misses|missing) (her|his|their|my|home)\b|\b(doesn't|does not|don't|didn't|really) like\b"),
    (WEAK, r"\b(wish(es)?|hop(es|ing)|fears?|joy|fun|awful|wonderful|amazing|terrible|boring|confusing)\b"),
    (WEAK, r"[😀-😏😒-😭🥰❤💔]|:(?<!\S:)-?[()](?!\S)"),
)

PROCEDURAL: Cues = (
    (
        STRONG,
        r"\bhow to\b|\bstep[- ]by[- ]step\b|\bsteps? ?(\d|:|to\b)|\b(checklist|runbook|recipe|setup) ?:",
    ),
    (STRONG, r"(?m)^[ \t]{0,8}1[.)]\s[\s\S]{1,600}?^[ \t]{0,8}2[.)]\s"),
    (STRONG, r"(?m)^[ \t]{0,8}\$ ?\w"),
    (
        STRONG,
        r"^(in order )?to [a-z]+\b[^.!?\n]{0,120}[,:]|\bin order to\b.{0,120}\b(you|need|must|have to)\b",
    ),
    (STRONG, r"\bfirst,? .{1,200}\bthen\b|\bfirst,? " + ACTION + r"\b"),
    (STRONG, r"\b(always|never) " + ACTION + r"\b|^(always|never|don't|do not) [a-z]+\b"),
    (STRONG, r"\b(make sure|be sure|remember|don't forget) (to|that|you)\b"),
    (STRONG, r"(?m)^[-*>\s]{0,8}(please |just )?" + ACTION + r"\b(?! ?:)" + NOT_A_NOUN),
    (MEDIUM, r"[,;:]\s?(then |and |first |just |please ){0,2}" + ACTION + r"\b" + NOT_A_NOUN),
    (
        MEDIUM,
        r"\b(then|must|should|please|need to|have to|you can) " + ACTION + r"\b|[:`] ?" + TOOL + r" [\w-]",
    ),
    (MEDIUM, r"^(when|if|before|after|whenever)\b[^.!?\n]{1,120}, (please )?[a-z]+ (the|a|an|it|your|all)\b"),
    (MEDIUM, r"^[a-z]+ the \w.{1,120}\b(every|once|until|before|after|with|twice)\b" + NOT_A_NOUN),
    (
        WEAK,
        r"\byou (need|have) to\b|\byou (can|must|should)\b|\brun(ning)? (the )?" + TOOL + r"\b|\bby hand\b",
    ),
    (WEAK, r"\b(before|after) (starting|pushing|running|committing|deploying|merging|you)\b|\bafterwards\b"),
)

EPISODIC: Cues = (
    (STRONG, rf"\b(yesterday|tonight|last (night|week|month|year|session|time|summer|winter|{WEEKDAY}))\b"),
    (STRONG, r"\b(today|this (morning|afternoon|evening|week)),? (we|i|he|she|they|the)\b|\bjust now\b"),
    (STRONG, r"\b(\d+|an?|one|two|three|four|five|few|several) (minute|hour|day|week|month|year)s? ago\b"),
    (STRONG, rf"^\W{{0,4}}\d{{4}}-\d\d-\d\d\b|\bon {WEEKDAY}\b"),
    (
        STRONG,
        r"\b(met( up)? with|met \w+ (at|in|for)|had (lunch|dinner|breakfast|coffee|a (call|meeting|chat)))\b",
    ),
    (STRONG, rf"^(just )?({DID}|{NOT_AN_EVENT}[a-z]+ed)\b (?!by\b)"),
    (MEDIUM, r"\b(today|this (morning|afternoon|evening|week)|at \d{1,2}(:\d\d| ?[ap]m)|o'clock)\b"),
    (MEDIUM, rf"\b(in|on|since) {MONTH}( \d+(st|nd|rd|th)?)?\b|\bin (19|20)\d\d\b|\b\d{{4}}-\d\d-\d\d\b"),
    (MEDIUM, rf"\b{PERSON} (just |then |also )?{DID}\b|^[a-z]+ {DID}\b|^during .{{1,80}}ed\b"),
    (MEDIUM, r"^(the )?[a-z]+ [a-z]+ed (an?|the|\d+|two|three|four|his|her|my|our|their)\b"),
    (WEAK, r"\b(went down|crashed|broke|happened|ran out|arrived|left|moved to|was (born|released|fixed))\b"),
    (
        WEAK,
        r"\b(met|mentioned|reported|merged|uploaded|visited|called (me|us)|attended|discussed|celebrated)\b",
    ),
)

SEMANTIC: Cues = (
    (
        WEAK,
        r"\b(is|are) (defined|located|stored|called|named|written|built|based|configured|a|an|the|part of)\b",
    ),
    (
        WEAK,
        r"\b(means|consists of|contains|depends on|supports|listens on|refers to|uses|lives in|by default)\b",
    ),
    (WEAK, r"\b(birthday|capital|maximum|minimum|default|version) (is|of|are)\b"),
)

# German, Spanish, French, Chinese: a few unmistakable words each.
OTHER_LANGUAGES: dict[Sector, Cues] = {
    "reflective": (
        (STRONG, r"\b(entschieden|beschlossen|im nachhinein|rückblickend|erkenntnis|gelernt, dass)\b"),
        (STRONG, r"\b(decidimos|decidí|hemos decidido|elegimos|en retrospectiva|lección|di(mos)? cuenta)\b"),
        (STRONG, r"\b(décidé|choisi|avec le recul|leçon|avons conclu|compris que|compromis entre)\b"),
        (STRONG, r"决定|选择了|教训|反思|意识到|权衡|结论|事后看"),
    ),
    "emotional": (
        (STRONG, r"\b(lieb(e|t)|hass(e|t)|freu(e|t)|ängstlich|angst|frustriert|traurig|glücklich|wütend)\b"),
        (
            STRONG,
            r"\b(encantan?|odi[oa]|feliz|content[oa]|enfadad[oa]|miedo|frustrad[oa]|prefiero|gustan?)\b",
        ),
        (STRONG, r"\b(adore|aime|déteste|triste|heureu(x|se)|en colère|peur|frustrée?|contente|inquiète?)\b"),
        (STRONG, r"喜欢|讨厌|开心|难过|害怕|担心|生气|沮丧|高兴|喜爱|焦虑"),
    ),
    "procedural": (
        (STRONG, r"\b(führe|zuerst|anschließend|ausführen|schritt \d)\b|\bum .{1,80} zu \w+, |^zum \w+en\b"),
        (STRONG, r"\b(ejecutar?|primero|cómo|instala|paso \d|antes de \w+r)\b|^para \w+r\b"),
        (STRONG, r"\b(exécute[rz]|lancez|d'abord|comment faire|installez|étape \d)\b|^pour \w+(er|ir|re)\b"),
        (STRONG, r"首先|先运行|然后运行|步骤|如何|请先|执行|之前先|运行.{0,20}命令"),
    ),
    "episodic": (
        (STRONG, r"\b(gestern|heute (morgen|haben|früh)|letzten?|vorgestern|am \w+tag)\b"),
        (
            STRONG,
            r"\b(ayer|anoche|esta mañana|la semana pasada|hoy|el (lunes|martes|miércoles|jueves|viernes))\b",
        ),
        (STRONG, r"^hier,? (soir|matin|nous|on|j|il|elle)|\b(ce matin|dernière|avant-hier|aujourd'hui)\b"),
        (STRONG, r"昨天|今天|上周|前天|昨晚|上个月|刚才|早上"),
    ),
}

ENGLISH: dict[Sector, Cues] = {
    "reflective": REFLECTIVE,
    "emotional": EMOTIONAL,
    "procedural": PROCEDURAL,
    "episodic": EPISODIC,
    "semantic": SEMANTIC,
}


@cache
def _cues() -> tuple[list[tuple[Sector, float]], Patterns]:
    """What each cue counts for, and the patterns of them all."""
    cues = [(s, *cue) for s in TIE_ORDER for cue in (*ENGLISH[s], *OTHER_LANGUAGES.get(s, ()))]
    return [(sector, weight) for sector, weight, _ in cues], Patterns([pattern for *_, pattern in cues])


def scores(text: str) -> dict[Sector, float]:
    """Return for every sector the sum of the weights of its cues that occur in the text.

    >>> scores("Lesson learned: test the backups")["reflective"]
    3.0
    """
    _, patterns = _cues()
    return _sums(patterns.in_text(_beginning(text)))


def _beginning(text: str) -> str:
    return text[:LOOKED_AT].strip().lower().replace("’", "'")


def _sums(cues: Iterable[int]) -> dict[Sector, float]:
    counts, _ = _cues()
    sums = dict.fromkeys(TIE_ORDER, 0.0)
    for number in cues:
        sector, weight = counts[number]
        sums[sector] += weight
    return sums


def classify(text: str) -> Sector:
    """Return the sector that a memory belongs to.

    - procedural: how to do something
    - emotional: feelings and preferences
    - reflective: decisions, insights, lessons, trade-offs
    - episodic: what happened at some time
    - semantic: facts, and everything that shows no sign of the others

    >>> classify("To deploy, run npm build then upload to S3")
    'procedural'
    >>> classify("The API routes are defined in src/routes/api.ts")
    'semantic'
    """
    return classify_many([text])[0]


def classify_many(texts: Sequence[str]) -> list[Sector]:
    """The sectors of many texts, sooner than one by one."""
    _, patterns = _cues()
    won = patterns.winners(list(map(_beginning, texts)), _contest())
    return ["semantic" if place is None else TIE_ORDER[place] for place in won]


@cache
def _contest() -> Contest:
    counts, _ = _cues()
    return Contest([TIE_ORDER.index(sector) for sector, _ in counts], [each for _, each in counts], THRESHOLD)
