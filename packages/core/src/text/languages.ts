/**
 * The languages words can be reduced by: which ending goes, which words say nothing by themselves,
 * and what accents and apostrophes mean.
 *
 * Promise: the list is closed and the rules are fixed for a version of the analyser; whoever changes
 * one counts `ANALYSER_VERSION` up, and every index is built again. The only file that names the
 * library of stemmers, which is loaded when it is first needed: it takes 20 ms.
 */
import { LANGUAGES, type Language } from "../contract/config.js";
import { unreachable } from "../errors.js";

/** What holds unless a graph is configured otherwise. */
export const LANGUAGE_DEFAULT: Language = "english";

/** True for a name of the list. */
export function isLanguage(name: unknown): name is Language {
  return (LANGUAGES as readonly unknown[]).includes(name);
}

/** How words of a language are treated. */
export interface LanguageRules {
  /** The word without its ending; may be the word itself. */
  readonly stem: (word: string) => string;
  /** Whether accents go before the ending is looked at; see `accentsFirst`. */
  readonly accentsFirst: boolean;
  /** `l'avion` is two words; elsewhere an apostrophe joins what it stands in. */
  readonly splitsApostrophes: boolean;
  /** Words a query can do without, in lower case and without accents. */
  readonly stopWords: ReadonlySet<string>;
  /** Words whose forms no ending tells ("write", "wrote", "written"), the forms of one word in a string. */
  readonly irregular: readonly string[];
  /** Words of one family that another ending or beginning tells, see `FAMILIES`. */
  readonly families: readonly Family[];
  /** Words that ask, which no answer holds: a query does without them, names are not told by them. */
  readonly questionWords: ReadonlySet<string>;
}

/** How words of one family differ once their endings are gone. */
interface Family {
  /** `…` stands for what they share, which has so many letters or more. */
  readonly shapes: readonly string[];
  readonly least: number;
}

/** Loads the rules of a language. */
export async function loadLanguage(language: Language): Promise<LanguageRules> {
  const rules = {
    accentsFirst: accentsFirst(language),
    splitsApostrophes: ["french", "italian", "catalan"].includes(language),
    stopWords: wordSet(STOP_WORDS[language]),
    questionWords: wordSet(QUESTION_WORDS[language]),
    irregular: IRREGULAR[language]?.split(", ") ?? [],
    families: FAMILIES[language] ?? [],
  };
  if (language === "none") return { ...rules, stem: (word) => word };
  const { newStemmer } = await import("snowball-stemmers");
  const stemmer = newStemmer(language);
  return { ...rules, stem: (word) => stemmer.stem(word) };
}

function wordSet(words = ""): ReadonlySet<string> {
  return new Set(words.split(" ").filter((word) => word !== ""));
}

/**
 * Some algorithms tell endings by their accents ("mangé", "mangée"): those see the word as it is
 * written, and an accent in an ending may then make two words of it. Everywhere else accents go
 * first, so that "résumé" is "resume" whatever the ending.
 */
function accentsFirst(language: Language): boolean {
  switch (language) {
    case "basque":
    case "catalan":
    case "czech":
    case "french":
    case "hungarian":
    case "irish":
    case "italian":
    case "portuguese":
    case "romanian":
    case "slovene":
    case "spanish":
    case "turkish":
      return false;
    case "none":
    case "arabic":
    case "armenian":
    case "danish":
    case "dutch":
    case "english":
    case "finnish":
    case "german":
    case "norwegian":
    case "porter":
    case "russian":
    case "swedish":
    case "tamil":
      return true;
    default:
      return unreachable(language);
  }
}

const ENGLISH =
  "a about after all also am an and any are as at be been before being both but by can could did do " +
  "does doing dont for from had has have having he her here hers him his how i if in into is it its " +
  "just me more most my no nor not of off on once only or other our out over own same she should so " +
  "some such than that the their them then there these they this those through to too under until " +
  "up very was we were what when where which while who whom why will with would you your";

const INDEFINITE =
  "anybody anyone anything ever everybody everyone everything many much somebody someone something";

/** What asks in each language, beyond the stop words; it changes no index, since only queries are read by it. */
const QUESTION_WORDS: { readonly [L in Language]?: string } = {
  english: INDEFINITE,
  porter: INDEFINITE,
  german:
    "habe haben hast warum wann welchem welchen welcher welches wem wen wessen wieso wieviel wieviele viel viele wohin woher " +
    "worin wurde",
  french: "combien comment pourquoi quand quel quelle quelles quels",
  spanish: "adonde cuales cuanta cuantas cuanto cuantos han has he hemos",
};

/**
 * The same where words are not spaced, in Chinese and Japanese: taken out of a query before it is cut into
 * pairs, because the pairs across their ends stand in no answer either.
 */
export const UNSPACED_QUESTIONS =
  /什么时候|为什么|什么|哪[里儿些个年天家种本位]|多少|多久|多大|多长|多远|怎么样|怎么|怎样|如何|几次|几(?=[个岁点本次位只天年月])|有没有|是不是|是谁|谁|吗|呢|いつ|どこ|だれ|誰|なぜ|どうして|どんな|どちら|どれ|どの|いくつ|いくら|何時|何|でしょうか|でしたか|ですか|ますか|ましたか|ませんか/gu;

/** Pairs of characters of a Chinese query that say nothing, as stop words elsewhere: "我的", "我是", "他们". */
export const UNSPACED_STOP = /^[我你您他她它们的了是在有和也都就很与及把被这那个]{2}$/u;

const ENGLISH_IRREGULAR =
  "arise arose arisen, awake awoke awoken, become became, begin began begun, bend bent, bind bound, bite bit " +
  "bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, " +
  "buy bought, catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug, draw drew drawn, " +
  "dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, " +
  "fight fought, find found, flee fled, fly flew flown, forget forgot forgotten, forgive forgave forgiven, " +
  "freeze froze frozen, give gave given, go went gone, grind ground, grow grew grown, hang hung, hear heard, " +
  "hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led, learn learnt, leave left, lend lent, " +
  "lose lost, make made, mean meant, meet met, pay paid, prove proven, ride rode ridden, ring rang rung, " +
  "rise rose risen, run ran, see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken, " +
  "shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, " +
  "slide slid, speak spoke spoken, spend spent, spill spilt, spin spun, stand stood, steal stole stolen, stick stuck, " +
  "sting stung, strike struck, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, " +
  "take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown, " +
  "understand understood, wake woke woken, wear wore worn, weave wove woven, weep wept, win won, " +
  "withdraw withdrew withdrawn, write wrote written, child children, foot feet, goose geese, half halves, " +
  "knife knives, leaf leaves, mouse mice, shelf shelves, tooth teeth, wife wives, wolf wolves";

/**
 * Words of which a question has one form and its answer another ("What did I buy?", "I bought"). A question alone looks for
 * all of them, so the list changes no index. Of the commonest, "get" and "say", other forms find noise.
 */
const IRREGULAR: { readonly [L in Language]?: string } = {
  english: ENGLISH_IRREGULAR,
  porter: ENGLISH_IRREGULAR,
  german:
    "beginnen begann begonnen, bekommen bekam, bleiben blieb geblieben, brechen brach gebrochen, bringen brachte " +
    "gebracht, denken dachte gedacht, essen aß gegessen isst, fahren fährt fuhr gefahren, fallen fiel gefallen, finden " +
    "fand gefunden, fliegen flog geflogen, geben gab gegeben, gehen geht ging gegangen, gewinnen gewann gewonnen, " +
    "heißen hieß, helfen half geholfen hilft, kaufen kaufte gekauft, kennen kannte gekannt, kommen kam gekommen, " +
    "laufen läuft lief gelaufen, lesen las gelesen liest, lernen lernte gelernt, machen machte gemacht, nehmen nahm " +
    "genommen nimmt, reisen reiste gereist, rufen rief gerufen, schlafen schlief geschlafen, schreiben schrieb " +
    "geschrieben, schwimmen schwamm geschwommen, sehen sah gesehen sieht, singen sang gesungen, spielen spielte " +
    "gespielt, sprechen sprach gesprochen spricht, stehen stand gestanden, sterben starb gestorben, tragen trug getragen, " +
    "treffen traf getroffen trifft, trinken trank getrunken, tun tat getan, verlieren verlor verloren, wohnen wohnte " +
    "gewohnt, arbeiten arbeitete gearbeitet, werfen warf geworfen, ziehen zog gezogen umziehen umgezogen, " +
    "backen buk gebacken, beißen biss gebissen, bewerben bewarb beworben, bieten bot geboten, bitten bat gebeten, braten " +
    "briet brät, brennen brannte gebrannt, einladen eingeladen lud, empfehlen empfahl empfohlen, entscheiden entschied entschieden, fangen fing gefangen, " +
    "gefallen gefiel gefällt, genießen genoss genossen, halten hält hielt gehalten, lassen lässt ließ, leiden litt gelitten, " +
    "leihen lieh geliehen, liegen lag gelegen, mögen mag mochte gemocht, reiten ritt geritten, riechen roch gerochen, " +
    "schließen schloss geschlossen, schneiden schnitt geschnitten, sitzen saß gesessen, springen sprang gesprungen, " +
    "stehlen stahl gestohlen, steigen stieg gestiegen, streiten stritt gestritten, vergessen vergaß vergisst, verstehen " +
    "verstand verstanden, wachsen wächst wuchs gewachsen, waschen wäscht wusch gewaschen, wiegen wog gewogen, " +
    "wissen weiß wusste gewusst",
  french:
    "aller vais va allé allons, apprendre apprend appris, battre bat battu, boire bu boit, comprendre comprend compris, " +
    "conduire conduit, connaître connu connus connais connaît, construire construit, courir couru, croire cru crois croit, " +
    "cuire cuit, découvrir découvert, devenir devenu devenus devient, dire dit dis, dormir dort dors, écrire écrit écris, " +
    "faire fait fais, lire lu lus lisait, mettre mis mets met, mourir mort meurt, naître né née naissance, offrir offert, " +
    "ouvrir ouvert, peindre peint peins, perdre perdu perdus, prendre pris prend, recevoir reçu reçus reçois reçoit, rendre " +
    "rendu rendus, revenir revenu revient, savoir su sais sait, servir sert, sortir sort sors, suivre suit suivi, tenir tenu " +
    "tenus tient, travail travaille travaux, vendre vendu vendus, venir venu venus vient, vivre vécu vit, voir vu vus vois voit, " +
    "vouloir veux veut voulu",
  spanish:
    "abrir abierto, acostar acuesto, almorzar almuerzo almorcé, caer caigo cayó, cerrar cierro, conducir conduje condujo, conocer conozco, " +
    "construir construyo construyó, costar cuesta, dar di dio doy, decir dije dijo dicho digo, despertar despierto, doler " +
    "duele, dormir duermo durmió, empezar empiezo empecé, encontrar encuentro, escribir escrito, hacer hice hizo hecho hago, ir fui " +
    "voy, jugar juego jugué, leer leo lee leí leyó leído, morir murió muero muerto, mostrar muestro, mover muevo, nacer nazco, " +
    "oír oigo oyó, pedir pido pidió, pensar pienso, perder pierdo, poder puedo pudo, poner puse puso puesto pongo, preferir " +
    "prefiero prefirió, probar pruebo, querer quise quiso quiero, recordar recuerdo, romper roto, saber supe supo, salir salgo, " +
    "seguir sigo siguió, sentir siento sintió, servir sirvo sirvió, soñar sueño, tener tuve tuvo tengo, traer traje trajo, " +
    "venir vine vengo, ver vi vio visto veo, volar vuelo, volver vuelto vuelvo",
};

/** "Allergy" and "allergic", "history" and "historic", "bakery" and "baker"; in other languages too. */
const THING_AND_QUALITY: Family = { shapes: ["…", "…i"], least: 5 };

/**
 * Families of words that stemmers keep apart; a question alone looks for all of one. German verbs keep the t of "kocht" and
 * "gekocht", and a woman's occupation its "in"; Spanish writes "toqué", "llegué" and "empecé" of "tocar", "llegar" and
 * "empezar".
 */
const FAMILIES: { readonly [L in Language]?: readonly Family[] } = {
  english: [THING_AND_QUALITY],
  porter: [THING_AND_QUALITY],
  french: [THING_AND_QUALITY],
  spanish: [
    THING_AND_QUALITY,
    { shapes: ["…c", "…qu"], least: 2 },
    { shapes: ["…g", "…gu"], least: 3 },
    { shapes: ["…z", "…c"], least: 4 },
  ],
  german: [
    THING_AND_QUALITY,
    { shapes: ["…", "…t", "ge…t"], least: 3 },
    { shapes: ["…", "…et", "ge…et"], least: 4 },
    { shapes: ["…", "…in", "…erin"], least: 4 },
  ],
};

/**
 * Function words only: a word that can carry meaning is not in a list, since dropping it from a query
 * loses answers, and keeping it only costs time. Languages without a list drop nothing.
 */
const STOP_WORDS: { readonly [L in Language]?: string } = {
  english: ENGLISH,
  porter: ENGLISH,
  german:
    "aber als am an auch auf aus bei bin bis bist da das dass dem den der des dich die dir doch du " +
    "ein eine einem einen einer eines er es fur hat hatte hatten ich ihm ihn ihr im in ist ja kann " +
    "mein mich mir mit nach nicht noch nur ob oder sein seine sich sie sind so uber um und uns " +
    "unser unter vom von vor war was weil welche wenn wer werden wie wir wird wo zu zum zur",
  french:
    "a ai as au aux avec c ce ces cet cette d dans de des du elle elles en es est et eu il ils j je " +
    "l la le les leur leurs lui m ma mais me mes mon n ne nos notre nous on ont ou par pas pour qu " +
    "que qui quoi s sa se ses si son sont sur t ta te tes toi ton tu un une vos votre vous y",
  italian:
    "a ad ai al alla alle anche c che chi ci come con cui d da dai dal dalla del della delle dei di " +
    "e ed egli ella era gli ha hai ho i il in io l la le lei lo loro lui ma mi mia mio ne nei nel " +
    "nella noi non o per perche piu quale quando quello questo se sei si sia sono su sua sui sul " +
    "suo ti tra tu tuo un una uno vi voi",
  spanish:
    "a al algo como con cual cuando de del desde donde e el ella ellas ellos en entre era es esa ese " +
    "eso esta este esto fue ha hay la las le les lo los mas me mi mis muy ni no nos o para pero por " +
    "porque que quien se si sin sobre son su sus tambien te tu tus un una uno unos y ya yo",
  portuguese:
    "a ao aos as com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta " +
    "este eu foi ha isso isto ja lhe mais mas me meu minha muito na nao nas nem no nos nossa nosso " +
    "num numa o os ou para pela pelo por qual quando que quem se sem seu sua sao tambem te tem um " +
    "uma voce",
  dutch:
    "aan al als ben bij dan dat de der des die dit doch doen door dus een en er ge had heb hebben " +
    "heeft het hij hoe hun iets ik in is ja je kan maar me men met mij mijn na naar niet nog nu of om " +
    "onder ons ook op over te tot uit uw van veel voor was wat we wel werd wie wij wil worden zal ze " +
    "zich zij zijn zo zou",
  swedish:
    "alla att av blev bli da dar de dem den denna det detta dig din du efter ej eller en er ett fran " +
    "for ha hade han har hon hur i icke in inte jag kan man med men mig min mot na nar ni nu och om " +
    "oss pa sa sig sin som till under upp ut utan vad var vem vi vid",
  danish:
    "af alle at blev blive da de dem den denne der deres det dig din dine du efter eller en er et for " +
    "fra ham han hans har havde hende her hun hvad hvem hvis hvor i ikke ind jeg kan man med men mig " +
    "min nar nu og om op os over pa sa sig sin som til ud under var vi vil",
  norwegian:
    "a alle at av ble bli da de deg dem den denne der det dette du eller en enn er et etter for fra " +
    "ha hadde han har hun hva hvem hvis hvor i ikke inn jeg kan man med meg men min na nar og om opp " +
    "oss over pa sa seg sin skal som til under ut var vi vil",
  finnish:
    "ei eli en etta han he hyvin ja jo joka jos kanssa kuin kun me mika mina missa mita mutta myos " +
    "ne niin nyt oli olla on ovat se sen sina siis tai tama te vai vaan vain",
  russian:
    "а без был была были было быть в вам вас во вот все вы где да для до его ее если есть еще же за " +
    "и из или им их к как ко когда кто ли мне мой мы на над не него нее нет но о об он она они оно " +
    "от по под при с со так там то тоже только ты у уже что чтобы это этот эта эти я",
};
