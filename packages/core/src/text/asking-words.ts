/**
 * The words people ask with, as data per language: how they speak of time, of what was, of all of something,
 * of an order, and how they tell an assistant what always holds. What a sentence is for is read off them: a
 * question that asks for all of something, one that asks for an order, or a wish of the user that holds for every
 * answer. A sentence that none of them fits is an ordinary one.
 *
 * Promise: what reads the data, here and in `recall/time-words.ts`, knows no word of its own; a language is added
 * by one more row. Patterns are read against text in lower case without accents, all languages at once, because
 * people mix them: a phrase is written so that it says nothing in the others. Where words are not spaced a pattern
 * is a plain stretch of characters.
 */
import { withoutAccents } from "./analyse.js";

/** A stretch of days that a phrase means, counted back from today. */
export type RelativeDays =
  | "today"
  | "yesterday"
  | "this week"
  | "last week"
  | "last weekend"
  | "this month"
  | "last month"
  | "last year";

/** What a unit of "… ago" is called. */
export type AgoUnit = "day" | "week" | "month" | "year";

/** How one language asks. Every pattern is the source of a regular expression. */
interface AskingWords {
  /** January first; each the alternatives of one month. Empty where months are numbered. */
  readonly months: readonly string[];
  /** What stands before a month that has neither day nor year. */
  readonly beforeMonth: string;
  /** Sunday first. */
  readonly weekdays: readonly string[];
  /** The phrase of a past weekday, `DAY` standing for its name. */
  readonly lastWeekday: string;
  readonly relative: { readonly [days in RelativeDays]?: string };
  /** A count and a unit back: `N` stands for the count, `UNIT` for the unit. */
  readonly ago: string;
  readonly units: { readonly [unit in AgoUnit]: string };
  readonly numbers: { readonly [word: string]: number };
  /** Asks for what was, negations of the present among it. */
  readonly past: readonly string[];
  /** Words of a question that asks for whatever there was at a time, and for nothing else. */
  readonly whatever: string;
  /** Asks for all of something. */
  readonly gathering: readonly string[];
  /** Asks for what came first and what then. */
  readonly order: readonly string[];
  /** Words about the talk and its telling, which say nothing of its subject where all of it is asked for. */
  readonly telling: string;
  /** Tells an assistant what holds for every answer, at the beginning of a sentence. */
  readonly standing: readonly string[];
}

const ENGLISH: AskingWords = {
  months: [], // The pattern of English months knows more of their forms: `time-words.ts`.
  beforeMonth: "",
  weekdays: ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"],
  lastWeekday: "\\blast DAY\\b",
  relative: {
    today: "\\btoday\\b|\\bthis morning\\b|\\btonight\\b",
    yesterday: "\\byesterday\\b|\\blast night\\b",
    "this week": "\\bthis week\\b",
    "last week": "\\b(?:last|past) week\\b(?! of)",
    "last weekend": "\\blast weekend\\b",
    "this month": "\\bthis month\\b",
    "last month": "\\b(?:last|past) month\\b",
    "last year": "\\b(?:last|past) year\\b",
  },
  ago: "\\bN (?:of )?UNIT ago\\b",
  units: { day: "days?", week: "weeks?", month: "months?", year: "years?" },
  numbers: {
    a: 1,
    an: 1,
    one: 1,
    two: 2,
    three: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    nine: 9,
    ten: 10,
    couple: 2,
    few: 3,
  },
  past: [
    "\\b(?:used to|before|previous(?:ly)?|prior|formerly|former|originally|initially|earlier|at first)\\b",
    "\\b(?:no longer|not any longer|any ?more|history of|changed|in the past|in the old days)\\b",
    "\\b(?:in those days|back (?:then|when|in the day)|at the time|ever since|until)\\b",
    // "use to" is the past only behind "did": what one uses to cook is not.
    "\\bdid(?:n['’]t| not)?\\b[^.?!]*\\buse to\\b",
    // "old" only where it is no age.
    "(?<!\\b(?:how|years?|months?|weeks?|days?|hours?|is|are|too|this|that|grow|grows|get|gets)[ -])\\bold\\b(?! enough)",
  ],
  whatever:
    "what(?:['’]s)?|which|things?|did|done|do|doing|have|has|had|was|were|been|being|am|is|are|be|i|we|you|me|us|my|our|the|" +
    "a|on|in|of|at|to|for|with|about|up|going|go|went|happen(?:ed|ing)?|tell|told|say|said|talk(?:ed|ing)?|" +
    "discuss(?:ed)?|everything|anything|something|all|that|there|and|new|list|show|remember|remind|please|can|" +
    "could|back|during|since|from|between|over",
  gathering: [
    "\\bhow (?:many|often)\\b|\\b(?:list|enumerate|summari[sz]e|summary)\\b",
    "\\b(?:all|each|every|everything) (?:of )?(?:the|my|our|his|her|their|i|we|things?|times?)\\b",
    "\\b(?:which|what) (?:\\w+ ){0,2}?\\w{3,}(?<!s)s (?:have|has|had|did|do|does|are|were|can|i|we)\\b",
    "\\b(?:what|which) (?:kinds?|sorts?|types?) of\\b",
  ],
  order: [
    "\\bin (?:what|which|chronological|the right) order\\b|\\bin order\\b(?! to| for| that)",
    "\\border (?:in which|of (?:the )?events)\\b|\\b(?:timeline|chronolog\\w+|sequence of)\\b",
  ],
  telling:
    "aspect aspects bring brought chat chats comprehensive conversation conversations different discuss " +
    "discussed item items list mention mentioned order provide summarise summarize summary talk talked " +
    "throughout timeline various",
  standing: [
    "(?:please )?(?:always|never)\\b(?! (?:been|had|was|were|mind))",
    "(?:please )?(?:make sure|remember) (?:to always|you always|to never|that you)\\b",
    "from now on\\b|(?:whenever|every time|each time|any time) (?:i|you|we)\\b[^.?!]*,",
    "(?:please )?(?:do not|don['’]?t) ever\\b",
  ],
};

const GERMAN: AskingWords = {
  months: [
    "januar|janner",
    "februar",
    "marz|maerz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
  ],
  beforeMonth: "im|seit|ende|anfang|mitte",
  weekdays: [
    "sonntag",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag|sonnabend",
  ],
  lastWeekday: "\\b(?:letzte|vergangene|vorige)[nrs]? DAY\\b",
  relative: {
    today: "\\bheute\\b",
    yesterday: "\\bgestern\\b",
    "this week": "\\bdiese[rs]? woche\\b",
    "last week": "\\b(?:letzte|vergangene|vorige)[rn]? woche\\b",
    "last weekend": "\\b(?:letzte|vergangene|vorige)[sn]? wochenende\\b",
    "this month": "\\bdiese[nmrs]* monat\\b",
    "last month": "\\b(?:letzte|vergangene|vorige)[nrms]* monat\\b",
    "last year": "\\b(?:letzte|vergangene|vorige)[snm]* jahr\\b",
  },
  ago: "\\bvor N UNIT\\b",
  units: { day: "tag(?:en)?", week: "wochen?", month: "monat(?:en)?", year: "jahr(?:en)?" },
  numbers: {
    ein: 1,
    einem: 1,
    einer: 1,
    zwei: 2,
    drei: 3,
    vier: 4,
    funf: 5,
    sechs: 6,
    sieben: 7,
    acht: 8,
    neun: 9,
    zehn: 10,
  },
  past: [
    "\\b(?:fruher|vorher|zuvor|ehemals?|ehemalige\\w*|ursprunglich|anfangs|damals|einst|bisherige\\w*)\\b",
    "\\b(?:nicht mehr|kein\\w* mehr|nicht langer|seinerzeit)\\b",
  ],
  whatever:
    "was|alles?|habe|haben|hast|hatte[nst]?|ich|wir|du|mir|uns|dir|mich|ist|war|waren|gemacht|getan|tat|los|passiert\\w*|" +
    "geschehen|geschah|gab|es|erzahlt|gesagt|besprochen|gesprochen|wor(?:uber|an)|am|im|in|an|der|die|das|und|so",
  gathering: [
    "\\bwie (?:viele|oft)\\b|\\b(?:liste|aufzahlen|zahle|nenne|zusammenfassung)\\b",
    "\\b(?:alle|alles|samtliche|jede[rsn]?)\\b|\\bwelche \\w+(?:n|e|er|s)\\b",
  ],
  order: ["\\breihenfolge\\b|\\bnacheinander\\b|\\bchronologisch\\w*\\b"],
  telling:
    "aufzahlen besprochen erwahnt gesprach gesprache liste nenne reihenfolge verschiedene zusammenfassung",
  standing: [
    "(?:bitte )?(?:immer|nie|niemals)\\b",
    "ab jetzt\\b|von nun an\\b|\\w+ (?:bitte )?(?:immer|nie|niemals)\\b",
  ],
};

const SPANISH: AskingWords = {
  months: [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre|setiembre",
    "octubre",
    "noviembre",
    "diciembre",
  ],
  beforeMonth: "en|desde",
  weekdays: ["domingo", "lunes", "martes", "miercoles", "jueves", "viernes", "sabado"],
  lastWeekday: "\\bel DAY pasado\\b",
  relative: {
    today: "\\bhoy\\b",
    yesterday: "\\bayer\\b|\\banoche\\b",
    "this week": "\\besta semana\\b",
    "last week": "\\bla semana pasada\\b",
    "last weekend": "\\bel fin de semana pasado\\b",
    "this month": "\\beste mes\\b",
    "last month": "\\bel mes pasado\\b",
    "last year": "\\bel ano pasado\\b",
  },
  ago: "\\bhace N UNIT\\b",
  units: { day: "dias?", week: "semanas?", month: "mes(?:es)?", year: "anos?" },
  numbers: {
    un: 1,
    una: 1,
    dos: 2,
    tres: 3,
    cuatro: 4,
    cinco: 5,
    seis: 6,
    siete: 7,
    ocho: 8,
    nueve: 9,
    diez: 10,
  },
  past: [
    "\\b(?:antes|anteriormente|previamente|originalmente|inicialmente|antiguamente|en el pasado)\\b",
    "\\b(?:ya no|al principio|solia\\w*|en aquel entonces|por entonces|antigu[oa])\\b",
  ],
  whatever:
    "que|cosas?|lo|hice|hicimos|hiciste|he|hemos|has|hecho|paso|pasado|ocurrio|yo|me|nos|te|dije|conte|hablamos|" +
    "hable|fue|hubo|de|en|el|la|y|todo",
  gathering: [
    "\\b(?:cuales|cuant[oa]s|enumera|resumen|resume)\\b|\\bcon que frecuencia\\b|\\bla lista\\b|\\buna lista\\b",
    "\\b(?:todos|todas) (?:los|las|mis|sus)\\b|\\btodo lo que\\b|\\bque \\w{3,}(?:os|as|es) (?:he|ha|has|hemos|han|me|te|se)\\b",
  ],
  order: ["\\ben (?:que )?orden\\b|\\bel orden\\b|\\bcronologic\\w+\\b"],
  telling:
    "charla conversacion conversaciones diferentes enumera hablado lista mencionado orden resumen",
  standing: [
    "(?:por favor,? )?(?:siempre|nunca|jamas)\\b",
    "(?:de ahora en adelante|a partir de ahora)\\b",
  ],
};

const FRENCH: AskingWords = {
  months: [
    "janvier",
    "fevrier",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "aout",
    "septembre",
    "octobre",
    "novembre",
    "decembre",
  ],
  beforeMonth: "en|depuis",
  weekdays: ["dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"],
  lastWeekday: "\\bDAY dernier\\b",
  relative: {
    today: "\\baujourd['’]hui\\b",
    yesterday: "\\bhier\\b",
    "this week": "\\bcette semaine\\b",
    "last week": "\\bla semaine (?:derniere|passee)\\b",
    "last weekend": "\\ble week-?end (?:dernier|passe)\\b",
    "this month": "\\bce mois\\b",
    "last month": "\\ble mois (?:dernier|passe)\\b",
    "last year": "\\bl['’]an(?:nee)? (?:dernier|derniere|passe|passee)\\b",
  },
  ago: "\\bil y a N UNIT\\b",
  units: { day: "jours?", week: "semaines?", month: "mois", year: "ans?|annees?" },
  numbers: {
    un: 1,
    une: 1,
    deux: 2,
    trois: 3,
    quatre: 4,
    cinq: 5,
    six: 6,
    sept: 7,
    huit: 8,
    neuf: 9,
    dix: 10,
  },
  past: [
    "\\b(?:avant|auparavant|autrefois|precedemment|anciennement|a l['’]origine|au debut|jadis)\\b",
    "\\b(?:ne|n['’]\\w+) [^.?!]*\\bplus\\b|\\bdans le passe\\b|\\ba l['’]epoque\\b|\\bancien(?:ne)?s?\\b",
  ],
  whatever:
    "qu['’]?|que|quoi|est|ce|s['’]est|il|j['’]ai|ai|je|nous|avons|avez|vous|tu|as|a|on|fait|passe|arrive|dit|parle|raconte|" +
    "etait|y|de|en|le|la|les|et|tout|toutes?|choses?",
  gathering: [
    "\\b(?:quels|quelles|combien d|combien de|liste|enumere|resume)\\b",
    "\\b(?:tous|toutes) (?:les|mes|ses|nos)\\b|\\btout ce qu",
  ],
  order: ["\\bdans quel ordre\\b|\\bdans l['’]ordre\\b|\\bl['’]ordre\\b|\\bchronologi\\w+\\b"],
  telling: "conversation conversations differents enumere liste mentionne ordre parle resume",
  standing: [
    "(?:merci de |s['’]il te plait,? )?(?:toujours|jamais)\\b|ne \\w+ jamais\\b",
    "(?:desormais|a partir de maintenant|dorenavant)\\b|\\w+ toujours\\b",
  ],
};

const CHINESE: AskingWords = {
  months: [], // Numbered: `time-words.ts`.
  beforeMonth: "",
  weekdays: ["日|天", "一", "二", "三", "四", "五", "六"],
  lastWeekday: "上(?:个)?(?:周|星期|礼拜)(?:DAY)",
  relative: {
    today: "今天|今晚|今早",
    yesterday: "昨天|昨晚",
    "this week": "这周|本周|这个?星期",
    "last week": "上个?(?:周|星期|礼拜)(?![一二三四五六日天末])",
    "last weekend": "上个?周末",
    "this month": "这个月|本月",
    "last month": "上个?月",
    "last year": "去年",
  },
  ago: "N个?UNIT(?:之|以)?前",
  units: { day: "天|日", week: "周|星期|礼拜", month: "月", year: "年" },
  numbers: { 一: 1, 二: 2, 两: 2, 三: 3, 四: 4, 五: 5, 六: 6, 七: 7, 八: 8, 九: 9, 十: 10, 几: 3 },
  past: ["以前|之前|曾经|过去|原来|当初|当时|不再|本来|从前"],
  whatever: "什么|哪些|我们?|你们?|做|干|了|过|都|在|有|发生|事情?|的|说|聊|谈|和|吗|呢",
  gathering: ["哪些|多少|几次|几个|列出|列举|所有|全部|一切|总结"],
  order: ["顺序|先后|时间线"],
  telling: "列出 列举 总结 顺序 提到 谈到 对话",
  standing: ["请?(?:总是|始终|永远|一直|每次|从不|从现在起|以后|不要再)"],
};

/** Every language whose asking words are known. */
export const ASKING_WORDS = {
  english: ENGLISH,
  german: GERMAN,
  spanish: SPANISH,
  french: FRENCH,
  chinese: CHINESE,
} as const satisfies { readonly [language: string]: AskingWords };

/** What a question wants. */
interface QuestionShape {
  /** All of something: several memories answer together. */
  readonly gathers: boolean;
  /** What came first and what then. */
  readonly inOrder: boolean;
}

/** Text as the patterns of asking words are read against it. */
export function plainText(text: string): string {
  return withoutAccents(text.normalize("NFKC").toLowerCase());
}

/** One pattern of every language's words of a kind. */
export function anyOf(words: (language: AskingWords) => readonly string[]): RegExp {
  return new RegExp(Object.values(ASKING_WORDS).flatMap(words).join("|"), "u");
}

const GATHERING = anyOf(({ gathering, order }) => [...gathering, ...order]);
const ORDER = anyOf(({ order }) => order);
const STANDING = new RegExp(
  `(?:^|[.!?\\n。！？;])\\s*(?:${anyOf(({ standing }) => standing).source})`,
  "u",
);

/** What a question wants. */
export function questionShape(question: string): QuestionShape {
  const text = plainText(question);
  return { gathers: GATHERING.test(text), inOrder: ORDER.test(text) };
}

/** Words about the telling, in every language. */
export const TELLING = Object.values(ASKING_WORDS)
  .map(({ telling }) => telling)
  .join(" ");

/** A longer text is material that was handed over, not a wish. */
const STANDING_UNITS = 2000;

/** Whether somebody says what shall hold for every answer: a sentence of theirs begins so. */
export function isStanding(text: string): boolean {
  if (text.length > STANDING_UNITS) return false;
  return STANDING.test(plainText(text));
}
