/**
 * The words people ask with in Chinese and Japanese, which write no spaces: data for `asking-words.ts`; what each
 * member means is said in `asking-language.ts`.
 */
import type { AskingLanguage } from "./asking-language.js";

const HAN_DIGITS = "一二三四五六七八九";
/** Months are numbered, in digits or in words. */
const MONTHS = [
  ...[..."一二三四五六七八九十"].map((word, at) =>
    at === 9 ? `10|${word}` : `0?${at + 1}|${word}`,
  ),
  "11|十一",
  "12|十二",
];
const MONTH =
  `(?:(?<year>\\d{4})年)?(?<![\\d十${HAN_DIGITS}])(?<month>MONTH)月(?:份)?(?![曜間间])` +
  "(?:(?<day>\\d{1,2})[日号])?";
const COUNTS = { 一: 1, 二: 2, 三: 3, 四: 4, 五: 5, 六: 6, 七: 7, 八: 8, 九: 9, 十: 10 };
const CHINESE_OVER = "(?=[^。！？?!]*[了过])";

/** How Chinese asks. */
export const CHINESE: AskingLanguage = {
  spaced: false,
  months: MONTHS,
  monthsShort: [],
  weeksOfMonth: [],
  month: MONTH,
  bareMonth: "always",
  year: "(?<!\\d)(?<year>\\d{4})年(?!前)",
  weekdays: ["日|天", "一", "二", "三", "四", "五", "六"],
  latestWeekday: [`(?<![上下个])(?:周|星期|礼拜)(?:DAY)${CHINESE_OVER}`],
  lastWeeksWeekday: ["上个?(?:周|星期|礼拜)(?:DAY)"],
  seasons: [],
  lastSeason: "",
  relative: {
    today: "今天|今晚|今早",
    yesterday: "昨天|昨晚",
    "day before yesterday": "(?<!大)前天",
    "this week": "这周(?![末一二三四五六日天])|本周(?!末)|这个?星期(?![一二三四五六日天])",
    "last week": "上个?(?:周|星期|礼拜)(?![一二三四五六日天末])",
    "this weekend": `(?<!上个?)周末${CHINESE_OVER}`,
    "last weekend": "上个?周末",
    "this month": "这个月|本月",
    "last month": "上个?月",
    "this year": "今年",
    "last year": "去年",
  },
  ago: "N个?UNIT(?:之|以)?前",
  lately: "(?:最近|过去|这)的?N个?UNIT|最近",
  units: { day: "天|日", week: "周|星期|礼拜", month: "月", year: "年" },
  numbers: { ...COUNTS, 两: 2, 几: 3 },
  past: ["以前|之前|曾经|过去|原来|当初|当时|不再|本来|从前"],
  whatever: "什么|哪些|我们?|你们?|做|干|了|过|都|在|有|发生|事情?|的|说|聊|谈|和|吗|呢",
  gathering: [
    "哪些|哪几|多少|几次|几个|列出|列举|所有|全部|一切|总结|有谁|谁都",
    // "Which book(s) did I read": no word says how many, so what was done and its kind of thing ask for all.
    "[了过]什么(?!时候|原因|意思|颜色|名字|价|关系|事)(?![吗呢呀啊吧])\\p{Script=Han}",
    "有什么(?:爱好|宠物|朋友|兴趣|习惯|计划|过敏)|(?:爱好|朋友|兴趣)(?:都)?(?:有|是)(?:什么|谁|哪)",
    "都(?:去|看|读|吃|买|见|玩|学|做|住)过?了?(?:什么|哪|谁)",
  ],
  order: [
    "顺序|先后|时间线|从头到尾|从最早到最[近晚后]|(?:哪个|什么|谁)[^。？?]{0,6}(?:最先|最早|在先)",
  ],
  telling: "列出 列举 总结 顺序 提到 谈到 对话",
  standing: [
    "[^.!?。\\n]{0,12}请(?:你)?(?:总是|始终|永远|一直|每次|务必|一律|从不|永远不要|不要再)",
    "(?:请|请你)?(?:从现在起|从今以后|从现在开始|今后|以后)[，,]?(?:请|你|都|总是|始终|务必|一律|不要|别)",
    "(?:总是|始终|每次都?|一律|永远)(?:用|以|使用|回答|先用|提供|引用|称呼)|(?:请|你)?(?:不要再|别再)(?:用|使用|说|叫|提|推荐|建议|写)",
    "(?:当|每当|每次|如果)我(?:问|提到|要求|说到)[^.!?。\\n]*[，,](?:请|你|都|就|总是|用|不要|别)",
    "我(?:希望|想要|要)你(?:总是|始终|永远|以后|每次|不要|都)|你(?:应该|必须|要)(?:总是|始终|永远|一直|每次)",
  ],
};

const JAPANESE_ASKS =
  "(?:ください|下さい|てほしい|て欲しい|でほしい|お願い|おねがい|ようにして|こと[。！]?$)";

/** How Japanese asks. */
export const JAPANESE: AskingLanguage = {
  spaced: false,
  months: MONTHS,
  monthsShort: [],
  weeksOfMonth: [],
  month: MONTH,
  bareMonth: "always",
  year: "(?<!\\d)(?<year>\\d{4})年(?!前)",
  weekdays: ["日", "月", "火", "水", "木", "金", "土"],
  latestWeekday: [
    "(?<!先週の?|来週の?|今週の?|次の)(?:DAY)曜日?(?=[^。！？?!]*(?:した|だった|いた|った|んだ|ました|たか|たの))",
  ],
  lastWeeksWeekday: ["先週の?(?:DAY)曜"],
  seasons: [],
  lastSeason: "",
  relative: {
    today: "今日|今朝|今晩|今夜",
    yesterday: "(?<!一)昨日|昨夜|昨晩|ゆうべ|(?<!おと)きのう",
    "day before yesterday": "一昨日|おととい",
    "this week": "今週(?!末|の[日月火水木金土]曜)",
    "last week": "先週(?!末|の?[日月火水木金土]曜)",
    "this weekend": "(?<!先)週末(?=[^。！？?!]*(?:した|だった|いた|った|ました))",
    "last weekend": "先週末|先週の週末",
    "this month": "今月",
    "last month": "先月",
    "this year": "今年",
    "last year": "去年|昨年",
  },
  ago: "N(?:か|ヶ|カ|ケ|箇)?UNIT前",
  lately: "(?:この|ここ|過去|最近の?)N(?:か|ヶ|カ|ケ|箇)?UNIT間?|最近",
  units: { day: "日", week: "週間?", month: "月", year: "年" },
  numbers: { ...COUNTS, 数: 3 },
  past: ["以前|昔|かつて|もともと|元々|当初|当時|前は|前に"],
  whatever:
    "何|なに|どんな|私たち|私|僕|俺|あなた|こと|もの|話し合|話|言|し|まし|た|てい|い|っ|あり|あっ|起き|起こ|すべて|全部|ついて|" +
    "[はがをにでとのもかねよ]|です|ます",
  gathering: [
    "すべて|全て|全部|一覧|リスト|列挙|挙げて|まとめて|どれくらい|何[回度冊本個人匹枚軒件]|いくつ|誰と誰|どこどこ",
    "どんな[\\p{Script=Han}\\p{Script=Katakana}ー]+[をにとへ][^。？?]*(?:した|った|んだ|いた|ました|だか)",
    "(?:趣味|友達|友人|ペット)は(?:何|誰|だれ|どんな)",
  ],
  order: [
    "順番|順序|時系列|最初から最後|先に[^。？?]*(?:どちら|どれ|何)|(?:どちら|どれ|何)が(?:最初|先)",
  ],
  telling: "一覧 会話 順番 順序 話した まとめて",
  standing: [
    `[^.!?。\\n]{0,20}(?:いつも|常に|毎回|必ず|絶対に)[^.!?。\\n]*${JAPANESE_ASKS}`,
    `[^.!?。\\n]{0,20}(?:今後|これから|以後|これ以降)は?[^.!?。\\n]*${JAPANESE_ASKS}`,
    "(?:今後|これから)は[^.!?。\\n]*で(?:[。！]|$)",
    `[^.!?。\\n]*(?:聞い|尋ね|頼ん|質問し|言っ)(?:たら|だら|たとき|た時|たときは|た時は)[^.!?。\\n]*${JAPANESE_ASKS}`,
  ],
};
