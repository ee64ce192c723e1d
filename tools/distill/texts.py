"""Makes the sentences that the static model is trained on; a plain machine does it in minutes.

Promises: the same inputs give the same lines in the same order (one seeded generator, no clock, no
hashing by address), and other inputs than the pinned ones, or other lines than they give, are refused (inputs.py). Reads
two inputs and nothing else: a file of spoken sentences ("source<TAB>sentence") and the dictionary files of WordNet 3.1.
Leaves the choice of a teacher, and the training, to train.py.

Why so many kinds: spoken sentences alone hold few rare nouns, and the dictionary alone holds no talk.
A person's store holds "our whippet yells at the postman" and the question is "which animal do we have?",
so the largest part puts a word where people say it and the word for its kind where people ask.
"""

import collections
import gzip
import pathlib
import random
import re

from inputs import TEXTS, checked, sentences_text, wordnet_texts

SEED = 20261116

STATEMENTS = {
    "thing": [
        "I bought {a} last week", "my {n} is broken again", "I keep {a} in the hallway closet", "we finally sold the {n}",
        "somebody stole my {n} at the station", "the {n} needs to be repaired before winter", "I got {a} for my birthday",
        "I can't find the {n} anywhere", "dug the {n} out of the attic", "lent my {n} to the neighbour",
    ],
    "food": [
        "I had {n} for lunch", "{n} makes me sick", "I can't eat {n}", "we always cook {n} on Sundays", "I'm allergic to {n}",
        "the kids love {n}", "one bite of {n} and my throat swells", "I gave up {n} in January", "I could live on {n}",
    ],
    "animal": [
        "our {n} barked at the mailman", "the {n} needs its shots on Friday", "we adopted {a} in May", "my sister breeds {n}s",
        "the {n} is scared of fireworks", "I grew up with {a}", "we saw {a} on the hike",
    ],
    "person": [
        "I work as {a}", "my brother is {a}", "I used to be {a} before the kids", "she is training to become {a}",
        "my {n} called this morning", "we hired {a}", "he quit his job as {a}",
    ],
    "place": [
        "we are moving to {n}", "I grew up in {n}", "my parents live in {n}", "I'm flying to {n} in March", "we got married in {n}",
        "I went to the {n} yesterday", "the {n} is around the corner from us",
    ],
    "body": ["my {n} hurts", "I broke my {n} skiing", "they operated on my {n}", "the doctor looked at my {n}", "I have a scar on my {n}"],
    "illness": ["I was diagnosed with {n}", "my mother has {n}", "I take pills for my {n}", "the {n} is back", "he is recovering from {n}"],
    "activity": [
        "I do {n} twice a week", "I'm learning {n}", "I gave up {n} years ago", "{n} is how I relax", "I teach {n} to beginners",
        "our {n} is on Thursday evenings", "I signed up for {n}",
    ],
    "plant": ["I planted {a} by the fence", "the {n} is dying", "my {n} finally bloomed", "pollen of the {n} makes me sneeze"],
    "time": ["it happens every {n}", "we leave in {n}", "{n} is always a bad time for me"],
    "money": ["I pay the {n} every month", "the {n} was refused", "I still owe them the {n}"],
    "feeling": ["I felt {n} all day", "he is full of {n} lately", "there was a lot of {n} at home"],
    "other": ["we talked about {n}", "I worry about the {n}", "the {n} changed everything", "it is all because of {n}"],
}
QUESTIONS = {
    "thing": ["What {n} do I own?", "Which {n} did I buy?", "Do I have {a}?", "What happened to my {n}?", "Where is my {n}?"],
    "food": ["What {n} can't I eat?", "Which {n} do I like?", "Do I eat {n}?", "What {n} should be left out?", "Am I allergic to any {n}?"],
    "animal": ["What {n} do we have?", "Do I have {a}?", "Which {n} lives with us?", "What kind of {n} is it?"],
    "person": ["What {n} do I know?", "Who is my {n}?", "Am I {a}?", "What do I do for a living, {n}?", "Is anyone in my family {a}?"],
    "place": ["Which {n} do I live in?", "What {n} am I travelling to?", "Where did I grow up, which {n}?", "Which {n} are we moving to?"],
    "body": ["Which {n} did I injure?", "What is wrong with my {n}?", "What {n} was operated on?"],
    "illness": ["What {n} do I have?", "Which {n} runs in my family?", "Am I ill with {n}?", "What {n} am I treated for?"],
    "activity": ["What {n} do I do?", "Which {n} am I learning?", "Do I do any {n}?", "What is my favourite {n}?"],
    "plant": ["What {n} grows in my garden?", "Which {n} did I plant?", "Do I have {a}?"],
    "time": ["What {n} is it?", "Which {n} suits me?"],
    "money": ["What {n} do I pay?", "How large is my {n}?", "Which {n} is due?"],
    "feeling": ["What {n} did I have?", "How much {n} was there?"],
    "other": ["What {n} did we talk about?", "Which {n} matters to me?", "What about the {n}?"],
}
VERB_STATEMENTS = ["I {v} every morning", "I used to {v}", "I want to {v} this year", "I can't {v} any more", "we {v} together on weekends", "he promised to {v}"]
VERB_QUESTIONS = ["Do I {v}?", "How often do I {v}?", "Who wants to {v}?", "When do we {v}?", "Why can't I {v}?"]
ADJECTIVE_STATEMENTS = ["I am {j} today", "the flat is {j}", "my boss seems {j}", "it was {j} and I left early", "she looked {j} on the phone"]
ADJECTIVE_QUESTIONS = ["Am I {j}?", "How {j} was it?", "Who is {j}?", "Why was it {j}?"]

# The dictionary's own files of nouns ("lexicographer files"), by number, in the groups above.
GROUP_OF_FILE = {
    4: "activity", 5: "animal", 6: "thing", 8: "body", 12: "feeling", 13: "food", 15: "place", 18: "person", 20: "plant",
    21: "money", 26: "illness", 28: "time",
}
FREQUENT = 4  # times that a word is said before it counts as one that people use


def read_sentences(path):
    return [line.split("\t", 1)[1] for line in sentences_text(path).removesuffix("\n").split("\n")]


class Synset:
    def __init__(self, line):
        head, gloss = line.split("|", 1)
        fields = head.split()
        self.offset, self.file, self.pos = fields[0], int(fields[1]), fields[2]
        count = int(fields[3], 16)
        self.words = [re.sub(r"\(.*\)$", "", word).replace("_", " ") for word in fields[4 : 4 + 2 * count : 2]]
        rest = fields[4 + 2 * count :]
        pointers = [rest[1 + 4 * i : 5 + 4 * i] for i in range(int(rest[0]))]
        self.kinds = [p[1] for p in pointers if p[0] in ("@", "@i")]
        parts = [part.strip() for part in gloss.strip().split('; "')]
        self.definition = re.sub(r"^\(.*?\)\s*", "", parts[0]).strip()
        self.examples = [part.strip().strip('"; ') for part in parts[1:]]


def read_wordnet(path):
    """Synsets by part of speech and offset, in the order of the files."""
    texts = wordnet_texts(path)
    return {
        name: {s.offset: s for s in (Synset(line) for line in texts[name].splitlines() if not line.startswith("  "))}
        for name in ("noun", "verb", "adj", "adv")
    }


def with_article(noun):
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def fill(template, word):
    return template.replace("{a}", with_article(word)).replace("{n}", word).replace("{v}", word).replace("{j}", word)


def dictionary_lines(wordnet):
    for pos, synsets in wordnet.items():
        for synset in synsets.values():
            first = synset.words[0]
            yield synset.definition
            yield f"{first}: {synset.definition}"
            if len(synset.words) > 1:
                yield f"{', '.join(synset.words[:4])}" if pos != "noun" else f"{synset.words[1]} means {synset.definition}"
            yield from synset.examples
            yield from synset.words


def kind_words(synset, nouns, frequency):
    """Words for the kinds a noun belongs to, nearest first, that people use."""
    found, seen, at = [], set(), synset
    for _ in range(5):
        if not at.kinds or at.kinds[0] in seen:
            break
        seen.add(at.kinds[0])
        at = nouns.get(at.kinds[0])
        if at is None:
            break
        found += [word for word in at.words if frequency[word.lower()] >= 8]
    return found


def everyday_lines(wordnet, frequency, draw):
    """A word where people say it, and it or the word for its kind where people ask; statement and question follow each other."""
    nouns = wordnet["noun"]
    for synset in nouns.values():
        group = GROUP_OF_FILE.get(synset.file, "other")
        kinds = kind_words(synset, nouns, frequency)
        for word in synset.words:
            said = frequency[word.lower()]
            if said < FREQUENT and (group == "other" or draw.random() > 0.25):
                continue
            times = 1 if said < FREQUENT else 2 if said < 60 else 3
            for _ in range(times):
                yield fill(draw.choice(STATEMENTS[group]), word)
                asked = draw.choice(kinds) if kinds and draw.random() < 0.7 else word
                yield fill(draw.choice(QUESTIONS[group]), asked)
    for name, statements, questions in (("verb", VERB_STATEMENTS, VERB_QUESTIONS), ("adj", ADJECTIVE_STATEMENTS, ADJECTIVE_QUESTIONS)):
        for synset in wordnet[name].values():
            common = [word for word in synset.words if frequency[word.lower()] >= FREQUENT]
            for word in common:
                yield fill(draw.choice(statements), word)
                yield fill(draw.choice(questions), draw.choice(common))


def exchanged_lines(sentences, wordnet, frequency, draw, wanted):
    """Spoken sentences with one noun exchanged for another of its kind, so that near misses stand side by side."""
    siblings = collections.defaultdict(list)
    first_sense = {}
    for synset in wordnet["noun"].values():
        for word in synset.words:
            low = word.lower()
            if synset.kinds and synset.file in GROUP_OF_FILE:
                first_sense.setdefault(low, synset)
                if frequency[low] >= FREQUENT or " " not in low:
                    siblings[synset.kinds[0]].append(low)
    made = 0
    order = list(range(len(sentences)))
    while made < wanted:
        draw.shuffle(order)
        for index in order:
            words = sentences[index].split(" ")
            if not 4 <= len(words) <= 30:
                continue
            places = [i for i, w in enumerate(words) if w.lower().strip(".,!?") in first_sense and len(w) > 3]
            if not places:
                continue
            at = draw.choice(places)
            noun = words[at].lower().strip(".,!?")
            other = draw.choice(siblings[first_sense[noun].kinds[0]] or [noun])
            if other == noun:
                continue
            words[at] = words[at].lower().replace(noun, other)
            yield " ".join(words)
            made += 1
            if made == wanted:
                return


def make_texts(sentences_path, wordnet_path):
    """All lines, and how many of them, from the first on, are talk; the others are the dictionary's."""
    draw = random.Random(SEED)
    sentences = read_sentences(pathlib.Path(sentences_path))
    wordnet = read_wordnet(pathlib.Path(wordnet_path))
    frequency = collections.Counter(word for line in sentences for word in re.findall(r"[a-z']+", line.lower()))
    everyday = list(everyday_lines(wordnet, frequency, draw))
    exchanged = list(exchanged_lines(sentences, wordnet, frequency, draw, 250_000))
    talk = list(dict.fromkeys(line for line in [*sentences, *everyday, *exchanged] if line.strip()))
    known = set(talk)
    books = dict.fromkeys(line for line in dictionary_lines(wordnet) if line.strip() and line not in known)
    texts = talk + list(books)
    checked("the texts made", "\n".join(texts).encode("utf-8"), TEXTS)
    return texts, len(talk)


if __name__ == "__main__":
    import sys

    made, talk = make_texts(sys.argv[1], sys.argv[2])
    with gzip.GzipFile(sys.argv[3], "wb", mtime=0) as out:
        out.write("\n".join(made).encode("utf-8"))
    print(f"{len(made)} lines, {talk} of them talk")
