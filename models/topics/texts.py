"""Short texts on eight topics, written by a grammar, for the model `topics`, and its tokenizer.

A text is a main clause, which has the topic, and mostly something before or behind it.  That may be of another
topic: "after the concert we ate noodles" is food, "after lunch we went to a concert" is music.  So words alone do
not tell the topic.

Standard library alone.  `python3 texts.py` writes a few texts with their topics.
"""

import random
import re
import zlib

# for each topic: what people do, as (verbs, objects); what things are, as (things, qualities); occasions
TOPICS = {
    "weather": (
        [("watched|feared|expected|enjoyed", "the storm|heavy rain|the first snow|thick fog|a warm breeze|the thunder|the sunset"),
         ("got soaked|froze|stayed dry|shivered", "in the rain|in the wind|in the snow|under the grey sky")],
        [("the sky|the wind|the morning|the air|the night", "was cold|was cloudy|was mild|was damp|will be clear|was stormy"),
         ("rain|snow|hail|fog|frost", "is expected|fell all day|came from the north|covered the hills")],
        "the storm|the rain|the frost|a sunny spell|the snowfall"),
    "food": (
        [("cooked|ate|ordered|tasted|shared", "noodles|a bowl of soup|fried rice|an apple pie|fresh bread|grilled fish|a salad"),
         ("added|chopped|fried|peeled", "some onions|two tomatoes|a little garlic|the potatoes|more salt")],
        [("the soup|the bread|the sauce|the cheese|the curry", "was too salty|smelled wonderful|was burnt|tasted sweet|was still hot"),
         ("this recipe|the menu|the dish", "needs more pepper|calls for butter|was delicious|is spicy")],
        "lunch|dinner|the barbecue|breakfast|the tasting"),
    "sport": (
        [("won|lost|watched|played", "the match|the final|a game of tennis|the semifinal|a close game|the relay"),
         ("scored|missed|saved|took", "a penalty|the winning goal|two goals|a free kick|the last shot")],
        [("the goalkeeper|our team|the striker|the coach|the referee", "was injured|played badly|was sent off|trained hard|deserved the cup"),
         ("the race|the match|the league|the marathon", "ended in a draw|was cancelled|went into overtime|starts on sunday")],
        "the match|training|the marathon|the tournament|practice"),
    "travel": (
        [("booked|missed|caught|took", "the night train|a flight|the last ferry|a cheap hotel|the early bus"),
         ("visited|explored|reached|left", "the old town|the island|the airport|the harbour|the border|the museum quarter")],
        [("the train|our flight|the ferry|the bus", "was delayed|was full|left on time|was two hours late|stopped at the border"),
         ("the hotel|our room|the hostel", "had a view of the sea|was far from the station|was booked out|had no heating")],
        "the flight|the crossing|the holiday|the road trip|check in"),
    "music": (
        [("played|practised|recorded|heard", "the violin|a slow waltz|an old ballad|the drums|a piano sonata|a guitar solo"),
         ("went to|sang at|performed at|left", "a concert|the opera|a jazz club|the choir evening|the recital")],
        [("the singer|the orchestra|the band|the choir|the pianist", "was out of tune|played an encore|released an album|forgot the melody|sang beautifully"),
         ("the song|the melody|the chorus|the symphony", "is in a minor key|has a quick rhythm|was written in spring|gets stuck in the ear")],
        "the concert|the rehearsal|the opera|band practice|the recital"),
    "money": (
        [("paid|checked|forgot|disputed", "the invoice|the electricity bill|the rent|the bank fee|the tax bill"),
         ("saved|borrowed|invested|withdrew", "two hundred dollars|some money|half of the salary|a small fortune|a thousand euros")],
        [("the bank|the lender|the accountant|the insurer", "raised the fees|refused the loan|sent a reminder|lowered the interest|closed the account"),
         ("the price|the loan|the budget|the mortgage", "went up again|is too high|was approved|must be cut|is due on friday")],
        "payday|the audit|the auction|the tax year|the meeting at the bank"),
    "health": (
        [("caught|treated|ignored|had", "a cold|a fever|a sore throat|the flu|a bad cough|a headache"),
         ("saw|called|thanked|waited for", "the doctor|the nurse|the dentist|an ambulance|the surgeon")],
        [("the patient|the doctor|the nurse|the surgeon", "was in pain|took a blood sample|prescribed tablets|recovered quickly|needed rest"),
         ("the wound|my back|the fever|the ankle", "still hurts|is healing well|got worse|was swollen")],
        "the operation|the checkup|the vaccination|the surgery|the dentist"),
    "school": (
        [("passed|failed|studied for|dreaded", "the exam|the chemistry test|the final paper|the spelling quiz|the oral exam"),
         ("forgot|finished|handed in|corrected", "the homework|an essay|the worksheet|the lab report|the book report")],
        [("the teacher|the professor|the pupil|the class", "explained the lesson|gave good marks|was late for class|asked a question|left the classroom"),
         ("the lecture|the lesson|the homework|the exam", "was about fractions|is on page twelve|was graded|is due on monday|was too hard")],
        "class|the exam|the lecture|graduation|homework time"),
}
NAMES = list(TOPICS)
PEOPLE = "i|we|they|my sister|my brother|anna|our neighbour|the twins|mister brown|everyone|my friend"
BEFORE = "yesterday|last week|this time|to be honest|in the end|on friday|you know"
BEHIND = "yesterday|again|last night|on friday|with anna|for the first time|as usual|this morning"
WHEN = "after|before|right after|because of|instead of|thanks to"


def one(rng, choices):
    return rng.choice(choices.split("|"))


def main_clause(rng, topic):
    deeds, facts, _ = TOPICS[topic]
    if rng.random() < 0.55:
        verbs, objects = rng.choice(deeds)
        return "%s %s %s" % (one(rng, PEOPLE), one(rng, verbs), one(rng, objects))
    things, qualities = rng.choice(facts)
    return "%s %s" % (one(rng, things), one(rng, qualities))


def write(rng, kept_apart):
    """A text and the number of its topic; of main clauses that training sees, or of the others: one of six."""
    while True:
        topic = rng.choice(NAMES)
        clause = main_clause(rng, topic)
        if (zlib.crc32(clause.encode()) % 6 == 0) == kept_apart:
            break
    chance = rng.random()
    if chance < 0.5:
        occasion = "%s %s" % (one(rng, WHEN), one(rng, TOPICS[rng.choice(NAMES)][2]))
        clause = "%s, %s" % (occasion, clause) if rng.random() < 0.5 else "%s %s" % (clause, occasion)
    elif chance < 0.7:
        clause = "%s, %s" % (one(rng, BEFORE), clause)
    elif chance < 0.9:
        clause = "%s %s" % (clause, one(rng, BEHIND))
    return clause + ".", NAMES.index(topic)


# ---- the tokenizer: a token for each word ----

UNKNOWN, FIRST, NOTHING = 0, 1, 2
SPECIAL = ["[UNK]", "[CLS]", "[PAD]"]


def all_words():
    texts = [PEOPLE, BEFORE, BEHIND, WHEN]
    for deeds, facts, occasions in TOPICS.values():
        texts += [text for pair in deeds + facts for text in pair] + [occasions]
    return sorted(set(re.findall(r"\w+", " ".join(texts).replace("|", " "))))


TOKENS = SPECIAL + [".", ","] + all_words()
IDS = {token: i for i, token in enumerate(TOKENS)}


def encode(text):
    return [FIRST] + [IDS.get(word, UNKNOWN) for word in re.findall(r"\w+|[^\w\s]+", text.lower())]


def tokenizer():
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i, token in enumerate(SPECIAL)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                     {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [FIRST], "tokens": ["[CLS]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordLevel", "vocab": IDS, "unk_token": "[UNK]"},
    }


if __name__ == "__main__":
    rng = random.Random(1)
    for _ in range(16):
        text, topic = write(rng, False)
        print("%-8s %s" % (NAMES[topic], text))
