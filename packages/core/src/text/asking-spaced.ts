/**
 * The words people ask with in English, German, Spanish and French: data for `asking-words.ts`; what each member means
 * is said in `asking-language.ts`. Where a list of verbs stands in a pattern, it is of what an assistant is told to do.
 */
import type { AskingLanguage } from "./asking-language.js";

const ENGLISH_DO =
  "add|address|always|answer|ask|assume|avoid|be|book|call|cite|convert|do not|don['’]?t|end|explain|format|give|include|" +
  "keep|list|make|mention|never|only|please|put|quote|recommend|refer|remember|remind|reply|respond|round|say|send|show|" +
  "speak|start|stop|suggest|summari[sz]e|talk|tell|translate|use|write";
/** What may stand before a wish. */
const ENGLISH_BEFORE =
  "(?:(?:and|also|but|so|ok|okay|oh|hey|hi|thanks|thank you|by the way|btw|note),? )?(?:please,? )?";
/** Behind "always" and "never": it is no wish. */
const ENGLISH_NO_WISH =
  "(?:a|again|am|amazing|an|are|at|been|better|busy|did|done|down|easy|enjoy|excited|felt|fine|found|fun|glad|gone|good|" +
  "got|great|had|happy|hard|heard|her|here|his|hungry|in|is|knew|late|less|like|love|lovely|made|met|mind|more|my|nice|on|" +
  "one|our|quite|ready|really|room|said|saw|seen|so|someone|something|such|the|their|there|thought|tired|told|too|tough|up|" +
  "was|went|were|wonderful|worse|your|\\w+[^e\\W]ed|(?!bring)\\w{2,}ing)\\b";
const ENGLISH_SUBJECT =
  "(?:i|we|he|she|they|it|you|my|our|the|there|people|everyone|everybody|nobody|someone)\\b";
const ENGLISH_PLURAL =
  "(?:(?!always|does|this)\\w{3,}(?<!s)s|people|children|men|women|kids|teeth|mice)";
const ENGLISH_OVER =
  "(?<=\\b(?:did|was|were|had|happened|went|met|saw|said|told|asked|called|came|ate)\\b[^.?!]*)";

/** How English asks. */
export const ENGLISH: AskingLanguage = {
  spaced: true,
  months: [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
  ],
  monthsShort: "jan feb mar apr may jun jul aug sept? oct nov dec".split(" "),
  weeksOfMonth: ["first", "second", "third", "fourth", "last"],
  month:
    "(?:\\b(?<week>WEEK) week of |\\b(?<lead>in|since|until|last) )?(?:\\b(?<day>\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?)?" +
    "\\b(?<month>MONTH)\\b\\.?(?: (?<after>\\d{1,2})(?:st|nd|rd|th)?(?![\\d:]))?(?:,? (?:of )?(?<year>\\d{4})\\b)?",
  // "May" and "march" are words as well.
  bareMonth: "capital",
  year: "\\b(?:in|of|during|since|by) (?<year>\\d{4})\\b",
  weekdays: ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"],
  latestWeekday: ["\\blast DAY\\b", `\\b(?:on|this) DAY\\b${ENGLISH_OVER}`],
  lastWeeksWeekday: ["\\bDAY (?:of )?last week\\b", "\\blast week['’]?s? (?:on )?DAY\\b"],
  seasons: ["spring", "summer", "autumn|fall", "winter"],
  lastSeason: "\\blast SEASON\\b",
  relative: {
    today: "\\btoday\\b|\\bthis morning\\b|\\btonight\\b",
    yesterday: "\\byesterday\\b(?<!\\bday before yesterday)|\\blast night\\b",
    "day before yesterday": "\\bday before yesterday\\b|\\bnight before last\\b",
    "this week": "\\bthis week\\b",
    "last week": "\\b(?:last|past) week\\b(?! of)",
    "this weekend": `\\b(?:this|over the|on the|at the|during the) weekend\\b${ENGLISH_OVER}`,
    "last weekend": "\\b(?:last|past) weekend\\b",
    "this month": "\\bthis month\\b",
    "last month": "\\b(?:last|past) month\\b",
    "this year": "\\bthis year\\b",
    "last year": "\\b(?:last|past) year\\b",
  },
  ago: "\\bN (?:of )?UNIT ago\\b",
  lately: "\\b(?:last|past|previous) (?:N (?:of )?)?UNIT\\b|\\b(?:lately|recently|these days)\\b",
  units: { day: "days?", week: "weeks?", month: "months?", year: "years?" },
  numbers: {
    ...{ a: 1, an: 1, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8 },
    ...{ nine: 9, ten: 10, couple: 2, few: 3 },
  },
  past: [
    "\\b(?:used to|before|previous(?:ly)?|prior|formerly|former|originally|initially|earlier|at first)\\b(?! yesterday\\b)",
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
    "\\b(?:name|tell me|show me|give me) (?:all|every|each)\\b",
    "\\b(?:each|every) (?!day|morning|evening|night|week|month|year|hour|minute|now)\\w+ (?:that |where |which )?(?:i|we|he|she|they)\\b",
    `\\b(?:which|what) (?:\\w+ ){0,2}?${ENGLISH_PLURAL} (?:have|has|had|did|do|does|are|were|can|i|we)\\b`,
    `\\b(?:what|who|which) (?:are|were) (?:all )?(?:of )?(?:the|my|our|his|her|their|\\w+['’]s) (?:\\w+ ){0,2}?${ENGLISH_PLURAL}\\b`,
    "\\b(?:what|which) (?:kinds?|sorts?|types?) of\\b",
  ],
  order: [
    "\\bin (?:what|which|chronological|the right) order\\b|\\bin order\\b(?! to| for| that)",
    "\\border (?:in which|of (?:the )?events)\\b|\\b(?:timeline|chronolog\\w+|sequence of)\\b",
    "\\b(?:first|earliest|oldest) to (?:the )?(?:last|latest|newest)\\b",
    "\\b(?:what|who|which(?: \\w+){0,2}) (?:came|happened) first\\b",
  ],
  telling:
    "aspect aspects bring brought chat chats comprehensive conversation conversations different discuss " +
    "discussed item items list mention mentioned order provide summarise summarize summary talk talked " +
    "throughout timeline various",
  standing: [
    `${ENGLISH_BEFORE}(?:always|never) (?!${ENGLISH_NO_WISH})\\w`,
    `${ENGLISH_BEFORE}(?:make sure|be sure|ensure|remember) (?:to always|you always|to never|you never|that you)\\b`,
    `(?:from now on|going forward|from here on(?: out)?|from this point (?:on|forward))\\b(?!,? ${ENGLISH_SUBJECT}(?!['’]d| would| want| need| should))`,
    `${ENGLISH_BEFORE}(?:${ENGLISH_DO})\\b[^.!?。\\n]*\\b(?:from now on|going forward|from here on(?: out)?|in (?:the )?future)\\b`,
    `(?:whenever|every time|each time|any ?time) (?:i|you|we)\\b[^.?!。\\n]*,\\s*(?!${ENGLISH_SUBJECT})\\w`,
    `(?:when|if|whenever|every time|each time|any ?time) i (?:ask|mention|request|say)\\b[^.?!。\\n]*,\\s*(?!${ENGLISH_SUBJECT})\\w`,
    `${ENGLISH_BEFORE}(?:${ENGLISH_DO})\\b[^.!?。\\n]*\\b(?:whenever|every time|each time) i (?:ask|mention|request)\\b`,
    "(?:could|can|would|will) you (?:please |kindly )*(?:always|never|from now on)\\b",
    `${ENGLISH_BEFORE}i(?:['’]d| would)? (?:really |also |just )?(?:want|like|need|prefer|expect|appreciate)\\b[^.!?。\\n]{0,30}\\byou(?:['’]d| to| would| could)? (?:always|never)\\b`,
    "you (?:should|must|need to|have to|are to) (?:please )?(?:always|never)\\b",
    "(?:please )?(?:do not|don['’]?t) ever\\b|please (?:avoid|refrain from|stop) \\w+ing\\b",
    "please,? (?:do not|don['’]?t) (?:add|address|answer|apologi[sz]e|assume|call|cite|end|format|give|include|mention|offer|put|quote|recommend|refer|repeat|reply|respond|say|start|suggest|translate|use|write)\\b",
  ],
};

const GERMAN_DO =
  "(?:achte|antworte|beginn|benutz|buch|duz|empfiehl|erinner|erklar|erwahn|fass|formatier|frag|gib|halt|lass|mach|nenn|nimm|" +
  "nutz|plan|rechn|ruf|rund|sag|schick|schlag|schreib|setz|siez|sprich|stell|ubersetz|vermeid|verwend|zeig|zitier)e?" +
  "(?:n sie)?|(?:geben|nehmen|sprechen|empfehlen|seien) sie|sei";
const GERMAN_ALWAYS = "(?:immer|nie|niemals|stets)";
const GERMAN_FROM_NOW = "(?:ab jetzt|ab sofort|ab heute|von nun an|kunftig|in zukunft)";
/** Nouns that are several. Many single ones end in -e, so of those the several ones are listed. */
const GERMAN_PLURAL =
  "\\w{2,}(?:en|ern|eln)|\\w{2,}(?<!butt|dau|fed|leb|mau|mutt|numm|schwest|steu|tocht)er|\\w{2,}(?<!bas|hau|i|mau|prax)s|" +
  "\\w*(?:abende|ausfluge|berge|berufe|besuche|briefe|feste|filme|fluge|freunde|gaste|gerate|gerichte|geschenke|hunde|" +
  "instrumente|konzerte|kurse|medikamente|orte|plane|platze|projekte|rezepte|romane|sohne|spiele|stadte|strande|stucke|" +
  "tage|termine|texte|tiere|vereine|vortrage|weine|wunsche|ziele)";
const GERMAN_OVER_BEFORE =
  "(?<=\\b(?:war|waren|warst|hatte\\w*|ging\\w*|gab|geschah|kam\\w*|traf\\w*|rief\\w*|sagte\\w*)\\b[^.?!]*)";
const GERMAN_OVER_BEHIND =
  "(?=[^.?!]*\\b(?:\\w*ge\\w{2,}(?:t|en)|passiert|besucht|erzahlt|erlebt|bekommen|vergessen|verloren|war|hatte)\\b)";

/** How German asks. */
export const GERMAN: AskingLanguage = {
  spaced: true,
  months: [
    "januar|janner",
    "februar|feber",
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
  monthsShort: "jan feb mrz apr mai jun jul aug sept? okt nov dez".split(" "),
  weeksOfMonth: ["erste[nr]?", "zweite[nr]?", "dritte[nr]?", "vierte[nr]?", "letzte[nr]?"],
  month:
    "(?:\\b(?<week>WEEK) woche (?:im |des )?)?(?:\\b(?<day>\\d{1,2})\\.? )?(?:\\b(?<lead>im|seit|bis|ende|anfang|mitte) )?" +
    "\\b(?<month>MONTH)\\b\\.?(?: (?<year>\\d{4})\\b)?",
  bareMonth: "never",
  year: "\\b(?:seit|im jahre?) (?<year>\\d{4})\\b",
  weekdays: [
    "sonntag",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag|sonnabend",
  ],
  latestWeekday: [
    "\\b(?:letzte|vergangene|vorige)[nrs]? DAY\\b",
    `\\bam DAY\\b${GERMAN_OVER_BEHIND}`,
    `\\bam DAY\\b${GERMAN_OVER_BEFORE}`,
  ],
  lastWeeksWeekday: [
    "\\b(?:letzte|vorige) woche (?:am )?DAY\\b",
    "\\bDAY (?:der )?letzter? woche\\b",
  ],
  seasons: ["fruhling|fruhjahr", "sommer", "herbst", "winter"],
  lastSeason: "\\b(?:letzte|vergangene|vorige)[nrs]? SEASON\\b",
  relative: {
    today: "\\bheute\\b",
    yesterday: "\\bgestern\\b|\\bletzte nacht\\b",
    "day before yesterday": "\\bvorgestern\\b",
    "this week": "\\bdiese[rs]? woche\\b",
    "last week": "\\b(?:letzte|vergangene|vorige)[rn]? woche\\b",
    "this weekend": `\\bam wochenende\\b${GERMAN_OVER_BEHIND}|\\bam wochenende\\b${GERMAN_OVER_BEFORE}`,
    "last weekend": "\\b(?:letzte|vergangene|vorige)[sn]? wochenende\\b",
    "this month": "\\bdiese[nmrs]* monat\\b",
    "last month": "\\b(?:letzte|vergangene|vorige)[nrms]* monat\\b",
    "this year": "\\bdiese[sm] jahr(?:es)?\\b|\\bheuer\\b",
    "last year": "\\b(?:letzte|vergangene|vorige)[snm]* jahr\\b",
  },
  ago: "\\bvor N UNIT\\b",
  lately:
    "\\b(?:letzten|vergangenen) (?:N )?UNIT\\b|\\b(?:neulich|kurzlich|in letzter zeit|zuletzt)\\b",
  units: { day: "tag(?:en)?", week: "wochen?", month: "monat(?:en)?", year: "jahr(?:en)?" },
  numbers: {
    ...{ ein: 1, einem: 1, einer: 1, zwei: 2, drei: 3, vier: 4, funf: 5, sechs: 6, sieben: 7 },
    ...{ acht: 8, neun: 9, zehn: 10 },
  },
  past: [
    "\\b(?:fruher|vorher|zuvor|ehemals?|ehemalige\\w*|ursprunglich|anfangs|damals|einst|bisherige\\w*)\\b",
    "\\b(?:nicht mehr|kein\\w* mehr|nicht langer|seinerzeit)\\b",
  ],
  whatever:
    "was|alles?|habe|haben|hast|hatte[nst]?|ich|wir|du|mir|uns|dir|mich|ist|war|waren|gemacht|getan|tat|los|passiert\\w*|" +
    "geschehen|geschah|gab|es|erzahlt|gesagt|besprochen|gesprochen|wor(?:uber|an)|am|im|in|an|den|der|die|das|und|so",
  gathering: [
    "\\bwie (?:viele|oft)\\b|\\b(?:liste|aufzahlen|zahle|nenne|zusammenfassung)\\b",
    "\\b(?:alle|alles|samtliche|jede[rsn]?)\\b",
    `\\bwelche (?:\\w+en )?(?:${GERMAN_PLURAL})\\b|\\b(?:in|mit|an|auf|bei|von|zu|aus|nach) welchen \\w+n\\b`,
    `\\bwas fur (?!ein)(?:\\w+e )?(?:${GERMAN_PLURAL})\\b|\\bw(?:er|as|elche[sr]?) sind (?:alle )?(?:meine|unsere|seine|ihre|deine|die)\\b`,
  ],
  order: [
    "\\breihenfolge\\b|\\bnacheinander\\b|\\bchronologisch\\w*\\b|\\bder reihe nach\\b",
    "\\bvo(?:m|n der) ersten bis zu[mr] letzten\\b|\\b(?:was|wer|welche[rs]?(?: \\w+)?) (?:kam|geschah|passierte|war) (?:zuerst|als erste\\w*)\\b",
  ],
  telling:
    "aufzahlen besprochen erwahnt gesprach gesprache liste nenne reihenfolge verschiedene zusammenfassung",
  standing: [
    `(?:bitte )?${GERMAN_ALWAYS}\\b(?! gern\\b| im leben| wieder| mehr| noch)(?![^.!?。\\n]*\\b(?:ich|wir|er|man|wenn)\\b)[^.!?。\\n]*\\w{2,}e[lr]?n\\s*(?=[.!\\n]|$)`,
    `(?:bitte )?(?:${GERMAN_DO})\\b(?: (?!ich\\b|wir\\b|er\\b)[\\p{L}\\p{N}-]+){0,4}? ${GERMAN_ALWAYS}\\b`,
    `${GERMAN_FROM_NOW}\\b(?![^.!?。\\n]*\\b(?:ich|wir)\\b(?! mochte| will))`,
    `(?:bitte )?(?:${GERMAN_DO})\\b[^.!?。\\n]*\\b${GERMAN_FROM_NOW}\\b`,
    `(?:immer wenn|jedes mal,? wenn|wenn|falls) ich\\b[^.!?。\\n]*\\b(?:frage|bitte|sage|erwahne),? (?:dann )?(?:bitte )?(?:${GERMAN_DO})\\b`,
    `(?:kannst|konntest|wurdest|konnten|wurden) (?:du|sie) (?:mir )?(?:bitte )?(?:\\w+ ){0,2}?(?:${GERMAN_ALWAYS}|${GERMAN_FROM_NOW})\\b`,
    `ich (?:mochte|will|wunsche mir|hatte gern),? dass (?:du|sie)\\b[^.!?。\\n]*\\b${GERMAN_ALWAYS}\\b`,
    `(?:du|sie) (?:sollst|solltest|sollen|sollten|musst|darfst) (?:\\w+ ){0,3}?${GERMAN_ALWAYS}\\b`,
    `bitte (?:${GERMAN_DO})\\b(?: \\w+){0,2}? (?:keine?n?|nicht)\\b|bitte keine?n? (?!sorge|angst|panik|hektik|eile|umstande)\\w`,
  ],
};

const SPANISH_DO =
  "(?:anade|avisa|calcula|cita|comienza|contesta|convierte|empieza|escribe|evita|explica|formatea|habla|incluye|indica|llama|" +
  "manda|manten|menciona|muestra|pregunta|recomienda|recuerda|redondea|reserva|responde|resume|sugiere|termina|traduce|usa|" +
  "utiliza|haz|pon|da|di|se)(?:me|nos|lo|la|los|las)?";
const SPANISH_ALWAYS = "(?:siempre|nunca|jamas)";
const SPANISH_FROM_NOW = "(?:de ahora en adelante|a partir de ahora|desde ahora|en adelante)";
const SPANISH_OVER =
  "(?<=\\b(?:hice|hizo|hicimos|hicieron|fui|fue|fuimos|fueron|estuve|estuvo|estuvimos|paso|dije|dijo|tuve|tuvo|vi|vio|comi|" +
  "compre|llamo|hable|visite|conoci|he|ha|hemos)\\b[^.?!]*)";

/** How Spanish asks. */
export const SPANISH: AskingLanguage = {
  spaced: true,
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
  monthsShort: [],
  weeksOfMonth: ["primera", "segunda", "tercera", "cuarta", "ultima"],
  month:
    "(?:\\b(?<week>WEEK) semana de )?(?:\\b(?<day>\\d{1,2})(?: de)? )?(?:\\b(?<lead>en|desde|hasta) )?" +
    "\\b(?<month>MONTH)\\b(?:,? (?:del? )?(?<year>\\d{4})\\b)?",
  bareMonth: "never",
  year: "\\b(?:en|desde) (?<year>\\d{4})\\b",
  weekdays: ["domingo", "lunes", "martes", "miercoles", "jueves", "viernes", "sabado"],
  latestWeekday: ["\\bel DAY pasado\\b", "\\bel pasado DAY\\b", `\\bel DAY\\b${SPANISH_OVER}`],
  lastWeeksWeekday: ["\\bel DAY de la semana pasada\\b"],
  seasons: ["primavera", "verano", "otono", "invierno"],
  lastSeason: "\\b(?:el|la) (?:pasad[oa] )?SEASON(?: pasad[oa])\\b",
  relative: {
    today: "\\bhoy\\b",
    yesterday: "\\bayer\\b(?<!\\bantes de ayer)|\\banoche\\b(?<!\\bantes de anoche)",
    "day before yesterday": "\\banteayer\\b|\\bantier\\b|\\bantes de ayer\\b|\\banteanoche\\b",
    "this week": "\\besta semana\\b",
    "last week": "\\bla semana pasada\\b",
    "this weekend": `\\b(?:el|este) fin de semana\\b(?! pasado)${SPANISH_OVER}`,
    "last weekend": "\\bel fin de semana pasado\\b|\\bel pasado fin de semana\\b",
    "this month": "\\beste mes\\b",
    "last month": "\\bel mes pasado\\b",
    "this year": "\\beste ano\\b",
    "last year": "\\bel ano pasado\\b",
  },
  ago: "\\bhace N UNIT\\b",
  lately: "\\b(?:ultim|pasad)[oa]s (?:N )?UNIT\\b|\\b(?:ultimamente|recientemente)\\b",
  units: { day: "dias?", week: "semanas?", month: "mes(?:es)?", year: "anos?" },
  numbers: {
    ...{ un: 1, una: 1, dos: 2, tres: 3, cuatro: 4, cinco: 5, seis: 6, siete: 7, ocho: 8 },
    ...{ nueve: 9, diez: 10 },
  },
  past: [
    "\\b(?:antes(?! de ayer)|anteriormente|previamente|originalmente|inicialmente|antiguamente|en el pasado)\\b",
    "\\b(?:ya no|al principio|solia\\w*|en aquel entonces|por entonces|antigu[oa])\\b",
  ],
  whatever:
    "que|cosas?|lo|hice|hicimos|hiciste|he|hemos|has|hecho|paso|pasado|ocurrio|yo|me|nos|te|dije|conte|hablamos|" +
    "hable|fue|hubo|de|en|el|la|los|las|y|todo",
  gathering: [
    "\\b(?:cuales|quienes|cuant[oa]s|enumera|resumen|resume)\\b|\\bcon que frecuencia\\b|\\bla lista\\b|\\buna lista\\b",
    "\\b(?:todos|todas) (?:los|las|mis|sus)\\b|\\btodo lo que\\b|\\b(?:nombra|dime|cita) (?:todos|todas|cada)\\b",
    "\\bque \\w{3,}(?:os|as|es) (?:he|ha|has|hemos|han|me|te|se)\\b",
    // A noun that is several and the verb of somebody; "haces" and its like are verbs themselves.
    "\\bque (?!crees|dices|eres|haces|opinas|piensas|prefieres|puedes|quieres|recomiendas|sabes|sugieres|tienes)\\w{3,}[oae]s " +
      "(?!antes|como|cuando|de|donde|hace|para|que|siempre|sobre|todo)\\w{2,}(?:e|i|o|mos|ron|aba|ia)\\b",
  ],
  order: [
    "\\ben (?:que )?orden\\b|\\bel orden\\b|\\bcronologic\\w+\\b",
    "\\bdel? (?:la )?primer[oa]? al? (?:la )?ultim[oa]\\b|\\bque (?:fue|paso|ocurrio|vino) primero\\b",
  ],
  telling:
    "charla conversacion conversaciones diferentes enumera hablado lista mencionado orden resumen",
  standing: [
    // First persons and what is told of the past are no wishes: "siempre olvido", "siempre me olvido", "nunca fui".
    `(?:por favor,? )?${SPANISH_ALWAYS} (?!(?:a|al|bien|con|de|el|en|era|es|estoy|feliz|fue|fui|habia|hacia|hay|he|hubo|igual|la|` +
      "le|les|lo|me (?!\\w+[ea]s\\b)|mas|nos|podia|queria|quise|que|se|sera|solia|soy|te|tenia|un|una|vivia|voy)\\b|\\w+(?:o|mos|aba|aban|uve|uvo|iste|e que)\\b)\\w",
    `(?:por favor,? )?(?:${SPANISH_DO})(?: [\\p{L}\\p{N}-]+){0,3}? ${SPANISH_ALWAYS}\\b`,
    `${SPANISH_FROM_NOW}\\b(?!,? (?:ya |no )?(?:yo|voy|soy|estoy|he|\\w+mos|\\w+re|(?!quiero|prefiero|necesito)\\w+o)\\b)`,
    `(?:por favor,? )?(?:${SPANISH_DO})\\b[^.!?。\\n]*\\b${SPANISH_FROM_NOW}\\b`,
    "(?:cuando|cada vez que) (?:yo )?(?:te )?(?:pregunte|pida|mencione|hable)\\b[^.!?。\\n]*,\\s*\\w",
    `(?:podrias|puedes|podria|puede) (?:por favor )?(?:\\w+ )?${SPANISH_ALWAYS}\\b`,
    `(?:quiero|quisiera|me gustaria|necesito|prefiero) que (?:\\w+ )?${SPANISH_ALWAYS}\\b`,
    `(?:debes|deberias|tienes que) (?:\\w+ )?${SPANISH_ALWAYS}\\b|${SPANISH_ALWAYS} (?:debes|deberias)\\b`,
    "por favor,? no (?:uses|utilices|escribas|incluyas|menciones|recomiendes|sugieras|me llames|respondas|pongas|repitas)\\b",
  ],
};

const FRENCH_DO =
  "(?:appelle|arrondi|cite|commence|conserve|demande|di|donne|ecri|evite|explique|fai|formate|garde|inclu|indique|mentionne|met|" +
  "montre|note|parle|pense|precise|propose|rappelle|recommande|redige|repond|resume|suggere|termine|tradui|tutoie|utilise|" +
  "verifie|vouvoie)(?:s|z|ez|sez|vez|tez)?(?:-(?:moi|nous|le|la|les|lui))?|sois|soyez|faites|dites";
const FRENCH_FROM_NOW = "(?:desormais|dorenavant|a partir de maintenant|a l['’]avenir)";
/** Words that are French and nothing else: "hier" is German for "here". */
const FRENCH_MARK =
  "(?:j['’]\\w+|ai-je|qu['’]\\w+|d['’]\\w+|est|qui|quoi|ou|nous|vous|avons|avez|etais|etait|etions|ma|mes|mon|les|du|des)\\b";
const FRENCH_OVER =
  "(?<=\\b(?:fait|fais|dit|vu|mange|achete|rencontre|appele|etais|etait|alle|allee|venu|venue|passe|parle|lu|recu|visite)\\b[^.?!]*)";

/** How French asks. */
export const FRENCH: AskingLanguage = {
  spaced: true,
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
  monthsShort: [],
  weeksOfMonth: ["premiere", "deuxieme|seconde", "troisieme", "quatrieme", "derniere"],
  month:
    "(?:\\b(?<week>WEEK) semaine (?:de |d['’]))?(?:\\b(?<day>\\d{1,2})(?:er)? )?(?:\\b(?<lead>en|depuis|debut|fin|mi)[ -])?" +
    "\\b(?<month>MONTH)\\b(?: (?<year>\\d{4})\\b)?",
  bareMonth: "never",
  year: "\\b(?:en|depuis) (?<year>\\d{4})\\b",
  weekdays: ["dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"],
  latestWeekday: [
    "\\bDAY (?:dernier|passe)\\b",
    `\\bDAY\\b(?<!\\ble \\w+)(?! prochain)${FRENCH_OVER}`,
  ],
  lastWeeksWeekday: ["\\bDAY de la semaine (?:derniere|passee)\\b"],
  seasons: ["printemps", "ete", "automne", "hiver"],
  lastSeason: "\\b(?:le |l['’])SEASON (?:dernier|passe)\\b",
  relative: {
    today: "\\baujourd['’]hui\\b",
    yesterday: `\\bhier\\b(?<!\\bavant[- ]hier)(?:(?<=\\b${FRENCH_MARK}[^]*)|(?=[^]*\\b${FRENCH_MARK}))`,
    "day before yesterday": "\\bavant[- ]hier\\b",
    "this week": "\\bcette semaine\\b",
    "last week": "\\bla semaine (?:derniere|passee)\\b",
    "this weekend": `\\b(?:le|ce) week-?end\\b(?! (?:dernier|passe|prochain))${FRENCH_OVER}`,
    "last weekend": "\\ble week-?end (?:dernier|passe)\\b",
    "this month": "\\bce mois\\b",
    "last month": "\\ble mois (?:dernier|passe)\\b",
    "this year": "\\bcette annee\\b",
    "last year": "\\bl['’]an(?:nee)? (?:dernier|derniere|passe|passee)\\b",
  },
  ago: "\\bil y a N UNIT\\b",
  lately:
    "\\b(?:ces|les) (?:N )?derni(?:er|ere)s UNIT\\b|\\b(?:recemment|dernierement|ces derniers temps)\\b",
  units: { day: "jours?", week: "semaines?", month: "mois", year: "ans?|annees?" },
  numbers: {
    ...{ un: 1, une: 1, deux: 2, trois: 3, quatre: 4, cinq: 5, six: 6, sept: 7, huit: 8 },
    ...{ neuf: 9, dix: 10 },
  },
  past: [
    "\\b(?:avant(?![- ]hier)|auparavant|autrefois|precedemment|anciennement|a l['’]origine|au debut|jadis)\\b",
    "\\b(?:ne|n['’]\\w+) [^.?!]*\\bplus\\b|\\bdans le passe\\b|\\ba l['’]epoque\\b|\\bancien(?:ne)?s?\\b",
  ],
  whatever:
    "qu['’]?|que|quoi|est|ce|s['’]est|il|j['’]ai|ai|je|nous|avons|avez|vous|tu|as|a|on|fait|passe|arrive|dit|parle|raconte|" +
    "etait|y|de|en|le|la|les|et|tout|toutes?|choses?|dans|au|cours|durant",
  gathering: [
    "\\b(?:quels|quelles|combien d|combien de|liste|enumere|resume)\\b|\\bqui sont\\b",
    "\\b(?:tous|toutes) (?:les|mes|ses|nos)\\b|\\btout ce qu|\\bchaque \\w+ (?:ou|que|dont)\\b",
  ],
  order: [
    "\\bdans quel ordre\\b|\\bdans l['’]ordre\\b|\\bl['’]ordre\\b|\\bchronologi\\w+\\b",
    "\\bdu premier au dernier\\b|\\bde la premiere a la derniere\\b|\\bqu['’]?(?:est-ce qui|i)?[^.?!]* en premier\\b",
  ],
  telling: "conversation conversations differents enumere liste mentionne ordre parle resume",
  standing: [
    "(?:merci de |s['’]il te plait,? |s['’]il vous plait,? )?(?:toujours|ne jamais) \\w+(?:er|ir|re)\\b",
    `(?:merci de |s['’]il te plait,? |s['’]il vous plait,? )?(?:${FRENCH_DO})(?: [\\p{L}\\p{N}'’-]+){0,3}? toujours\\b`,
    "(?:n['’]|ne (?:me |m['’]|nous )?)(?!a |ai |est |ont |avons |etait |suis )\\w+ (?:\\w+ )?jamais\\b(?! (?:ete|eu|vu|fait))",
    `${FRENCH_FROM_NOW}\\b(?!,? (?:je|j['’]|nous|on|il|elle|mon|ma)\\b(?! (?:veux|voudrais|aimerais)))`,
    `(?:s['’]il te plait,? |s['’]il vous plait,? )?(?:${FRENCH_DO})\\b[^.!?。\\n]*\\b${FRENCH_FROM_NOW}\\b`,
    `(?:quand|lorsque|chaque fois que|si) je (?:te |vous )?(?:demande|parle|mentionne|pose)\\b[^.!?。\\n]*,\\s*(?:${FRENCH_DO}|n['’])`,
    "(?:peux-tu|pourrais-tu|pouvez-vous|pourriez-vous) (?:s['’]il te plait |s['’]il vous plait )?(?:\\w+ )?(?:toujours|ne jamais)\\b",
    "(?:je (?:veux|voudrais|souhaite|prefere)|j['’]aimerais) que (?:tu|vous)\\b[^.!?。\\n]*\\b(?:toujours|jamais)\\b",
    "(?:tu dois|vous devez|tu devrais|vous devriez|tu ne dois) (?:\\w+ )?(?:toujours|jamais)\\b",
    "merci de ne (?:pas|jamais|plus)\\b|s['’]il (?:te|vous) plait,? (?:n['’]|ne )\\w+ (?:pas|jamais|plus)\\b",
  ],
};
