"""Write short tales: the training text of the model `tale`.

A tale is drawn from a plot (a function below) over a cast that is fixed before the first sentence:
a hero, a friend, an elder, a thing, a place with its hiding spots. Every sentence is chosen among
paraphrases and filled from that one cast, so names, pronouns and facts agree from start to end.

Expects: a seed and a count. Leaves: the tales, the same for a seed on every machine: the only
source of chance is Random.random(), whose sequence Python promises to keep.

    python3 tales.py --seed 1 --count 3
"""

import argparse
import random

GIRLS = "Lily Mia Anna Rose Ella Nora Clara Ruby Emma Ivy Hazel Alice".split()
BOYS = "Tom Ben Max Sam Leo Finn Jack Oscar Hugo Theo Felix Noah".split()
SHE_NAMES = "Daisy Luna Willow Poppy Bella Honey Misty Dot".split()
HE_NAMES = "Rusty Bruno Milo Otis Toby Barney Scout Teddy".split()

CHILD_HOMES = ["in a small house by the sea", "in a quiet village", "on a farm near the hills",
               "in a tall house in the town", "at the edge of a green forest"]
ANIMAL_HOMES = {
    "rabbit": ["in a warm burrow under a hill", "at the edge of a green forest"],
    "fox": ["in a warm den under a hill", "at the edge of a green forest"],
    "mouse": ["in a tiny house under the stairs", "in a warm barn on a farm"],
    "hedgehog": ["under a pile of leaves", "at the bottom of a garden"],
    "squirrel": ["in a hollow tree", "high in an old oak tree"],
    "owl": ["in a hollow tree", "high in an old oak tree"],
    "otter": ["by a clear river", "on the bank of a stream"],
    "duck": ["by a quiet pond", "on the bank of a stream"],
    "frog": ["by a quiet pond", "on the bank of a stream"],
    "bear": ["in a deep cave", "at the foot of a mountain"],
    "kitten": ["in a warm barn on a farm", "in a small house by the sea"],
    "puppy": ["in a warm barn on a farm", "in a small house by the sea"],
}
ADJECTIVES = "little kind shy clever brave happy curious gentle quiet cheerful".split()
COLOURS = "red blue green yellow white orange purple brown".split()

# thing: what one does with it
THINGS = {"kite": "fly", "ball": "throw", "hat": "wear", "scarf": "wear", "drum": "play", "bell": "ring",
          "book": "read", "boat": "sail", "whistle": "blow", "lamp": "light", "flute": "play", "cap": "wear"}
FRAGILE = {"cup": "drink from", "plate": "eat from", "vase": "look at", "lamp": "light", "bowl": "eat from",
           "jar": "look at"}
# place with its preposition: the spots in it
PLACES = {
    "to the park": ["under the bench", "behind the big tree", "near the swings", "in the tall grass",
                    "beside the gate"],
    "to the beach": ["under a boat", "behind a rock", "in the soft sand", "beside a pool", "near the waves"],
    "to the forest": ["under a log", "behind a bush", "in a pile of leaves", "beside the path",
                      "near the old oak"],
    "to the garden": ["under the roses", "behind the wall", "near the beans", "in the tall grass",
                      "beside the gate"],
    "to the river": ["under the bridge", "behind a rock", "near the reeds", "in the mud", "beside the path"],
    "to the farm": ["under the cart", "behind the barn", "in the hay", "near the pigs", "beside the well"],
    "to the market": ["under a table", "behind the apples", "near the fish", "in a big basket",
                      "beside the well"],
    "up the hill": ["under a log", "behind a rock", "in the tall grass", "near the old mill",
                    "beside the path"],
}
FOODS = "an apple,a pear,a cake,a pie,a loaf of bread,a bun,a plum,a piece of cheese".split(",")
DAYS = ["One day", "One sunny day", "One morning", "One cold morning", "One windy day", "One afternoon",
        "One spring day", "One warm day"]
LOST_ANIMALS = "bird lamb duckling kitten puppy bee mole turtle".split()
STRANGERS = "a wise old owl,a tall deer,a busy bee,an old turtle,a black crow,a grey goose".split(",")
# fear: (how it is named, what it turns out to be, what the elder or friend says)
FEARS = [
    ("the dark", "The dark is just the day with its eyes shut", "looked up and saw a hundred stars"),
    ("the dark", "In the dark we can see the stars", "looked up and saw the big round moon"),
    ("thunder", "Thunder is only the clouds playing drums", "counted the claps and began to laugh"),
    ("thunder", "The noise can not hurt you", "listened until the storm went away"),
    ("the deep water", "The water will hold you up if you let it", "took a big breath and began to swim"),
    ("the old bridge", "Look at me and not at the water", "took one step, and then one more"),
    ("the big dog", "He barks because he wants a friend", "held out some bread, and the dog wagged his tail"),
]
SEEDS = {"seed": "a tall yellow flower", "bean": "a green vine full of beans", "nut": "a young tree",
         "bulb": "a bright red tulip", "stone of a plum": "a little plum tree"}
BUILDS = {"a tower of stones": "fell down", "a boat of sticks": "sank", "a house of snow": "fell in",
          "a bridge of logs": "broke in the middle", "a castle of sand": "was washed away",
          "a raft of reeds": "came apart"}
GIFTS = {
    "a crown of flowers": ["daisies", "long grass"],
    "a warm soup": ["carrots", "beans"],
    "a necklace of shells": ["white shells", "string"],
    "a soft pillow": ["feathers", "cloth"],
    "a berry pie": ["berries", "flour"],
    "a small nest of wool": ["wool", "twigs"],
}
ELDERS = {"mother": "she", "father": "he", "grandmother": "she", "grandfather": "he", "aunt": "she",
          "uncle": "he"}
PRONOUNS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}


class Cast:
    """The facts of one tale, and `say`, which tells one sentence about them."""

    def __init__(self, chance):
        self.chance = chance
        self.facts = {}
        self.draw_hero()
        self.draw_friend()
        elder = self.pick(list(ELDERS))
        self.facts.update(elder=elder, ehe=ELDERS[elder], day=self.pick(DAYS))

    def pick(self, items):
        return items[int(self.chance.random() * len(items))]

    def maybe(self, share):
        return self.chance.random() < share

    def pick_some(self, items, count):
        """count different items, in drawn order."""
        rest = list(items)
        return [rest.pop(int(self.chance.random() * len(rest))) for _ in range(count)]

    def draw_person(self, taken):
        if self.maybe(0.5):
            gender, kind = self.pick([("she", "girl"), ("he", "boy")])
            names, homes = (GIRLS if gender == "she" else BOYS), CHILD_HOMES
        else:
            gender, kind = self.pick(["she", "he"]), self.pick(list(ANIMAL_HOMES))
            names, homes = (SHE_NAMES if gender == "she" else HE_NAMES), ANIMAL_HOMES[kind]
        return gender, kind, self.pick([n for n in names if n != taken]), self.pick(homes)

    def draw_hero(self):
        gender, kind, name, home = self.draw_person(None)
        he, him, his = PRONOUNS[gender]
        adjective = self.pick(ADJECTIVES)
        self.facts.update(H=name, kind=kind, home=home, Home=home[0].upper() + home[1:], adj=adjective,
                          he=he, him=him, his=his, He=he.capitalize(), His=his.capitalize())

    def draw_friend(self):
        gender, kind, name, _ = self.draw_person(self.facts["H"])
        he, him, his = PRONOUNS[gender]
        friend = name if kind in ("girl", "boy") else name + " the " + kind
        self.facts.update(F=name, friend=friend, fhe=he, fhim=him, fhis=his, Fhe=he.capitalize())

    def set(self, **facts):
        self.facts.update(facts)

    def say(self, *paraphrases):
        return self.pick(paraphrases).format(**self.facts)


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def open_tale(c):
    c.set(a_hero=article(c.facts["adj"] + " " + c.facts["kind"]))
    return c.say("Once upon a time, there was {a_hero} named {H}. {He} lived {home}.",
                 "Once upon a time, {a_hero} named {H} lived {home}.",
                 "{H} was {a_hero}. {He} lived {home}.",
                 "There once was {a_hero} named {H} who lived {home}.",
                 "{Home} lived {a_hero} named {H}.",
                 "Long ago, {a_hero} named {H} lived {home} with {his} {elder}.")


def draw_thing(c):
    noun = c.pick(list(THINGS))
    colour = c.pick(COLOURS)
    c.set(thing=colour + " " + noun, a_thing=article(colour + " " + noun), use=THINGS[noun], noun=noun)


def draw_place(c):
    place = c.pick(list(PLACES))
    first, second, third = c.pick_some(PLACES[place], 3)
    c.set(place=place, spot1=first, spot2=second, spot3=third)


def plot_lost_thing(c):
    draw_thing(c)
    draw_place(c)
    start = c.say("{H} had {a_thing}, and {he} loved to {use} it.",
                  "{He} had {a_thing} from {his} {elder}, and {he} loved to {use} it every day.",
                  "The thing {he} loved most was {his} {thing}.")
    loss = c.say("{day}, {he} went {place}. When {he} came home, the {noun} was gone!",
                 "{day}, {H} took the {noun} {place}. {He} played for a long time, and then {he} could not "
                 "find it.",
                 "{day}, {he} went {place} and lost the {noun}. {H} began to cry.")
    meet = c.say('"Why are you sad?" asked {friend}. "I lost my {thing}," said {H}. '
                 '"I will help you look," said {F}.',
                 '{He} met {friend}. "Have you seen my {thing}?" asked {H}. "No," said {F}, "but I can '
                 'help you find it."',
                 '{H} told {friend}. "Do not worry," said {F}. "We will find your {noun} together."')
    search = c.say("They looked {spot1}. It was not there. They looked {spot2}. It was not there.",
                   "They looked {spot1}, but the {noun} was not there. They looked {spot2}, but it was not "
                   "there.",
                   "First they looked {spot1}. Then they looked {spot2}. There was no {noun}.")
    find = c.say("At last, they looked {spot3}, and there was the {thing}!",
                 'Then {F} looked {spot3}. "Here it is!" {fhe} said. It was the {thing}!',
                 "Then {H} saw something {spot3}. It was the {thing}!")
    end = c.say("{H} gave {F} a big hug. From that day on, {he} took good care of the {noun}.",
                '"Thank you, {F}," said {H}. "You are a good friend."',
                "{H} was so happy. {He} let {F} {use} the {noun} all the way home.",
                '"Thank you!" said {H}, and they went home with the {noun}.')
    return [start, loss + " " + meet, search + " " + find + " " + end]


def plot_trapped_animal(c):
    draw_place(c)
    c.set(animal=c.pick([a for a in LOST_ANIMALS if a != c.facts["kind"]]),
          pull=c.pick(["a rope", "a stick", "a net"]))
    c.set(an_animal=article("little " + c.facts["animal"]))
    with_friend = c.maybe(0.4)
    start = (c.say("{day}, {he} walked {place} with {friend}.", "{day}, {H} and {friend} went {place}.")
             if with_friend else
             c.say("{day}, {he} went {place}.", "{day}, {H} went {place} all alone."))
    hear = c.say("There {he} heard a small cry. {H} looked {spot1}, and there was {an_animal}.",
                 "{H} heard a sad sound. It came from {an_animal} {spot1}.",
                 "On the way, {H} found {an_animal} {spot1}.")
    talk = c.say('"Please help me," said the {animal}. "My foot is stuck."',
                 '"I am stuck," said the {animal}. "Can you help me?"',
                 '"I can not get out," said the {animal}. "I am so afraid."')
    first = c.say('"I will help you," said {H}. {He} pulled and pulled, but the {animal} did not move.',
                  '"Do not be afraid," said {H}. {He} tried to lift the {animal}, but {he} was not strong '
                  "enough.")
    if with_friend:
        get = c.say("Then {F} came with {pull}.", '"We need {pull}," said {F}, and {fhe} ran to get it.')
    else:
        get = c.say("So {he} ran to {friend} and asked for {pull}. They came back together.",
                    "Just then {friend} came by with {pull}.",
                    "{H} called {friend}, and {F} came with {pull}.")
    free = c.say("{H} and {F} worked together, and soon the {animal} was free.",
                 "They pulled as hard as they could. Pop! The {animal} was free.",
                 "One, two, three! Out came the {animal}.")
    end = c.say('"Thank you!" said the {animal}. From that day on, the three of them were friends.',
                "The {animal} was very happy and danced around them.",
                '"You saved me," said the {animal}. "I will never forget it."',
                "They took the {animal} home to its mother, and she thanked them all.")
    return [start, hear + " " + talk + " " + first, get + " " + free + " " + end]


def plot_sharing(c):
    draw_place(c)
    food = c.pick(FOODS)
    c.set(a_food=food, food=food.split(" ", 1)[1].split(" of ")[-1])
    start = c.say("{day}, {his} {elder} gave {him} {a_food}. {H} was very happy.",
                  "{day}, {H} found {a_food} in the kitchen. {His} {elder} said that {he} could have it.",
                  "{day}, {he} got {a_food} from {his} {elder}.")
    meet = c.say("{He} took it {place}. There {he} saw {friend}, who looked sad.",
                 "{H} went {place} to eat it. {friend} was there, all alone.",
                 "{He} went {place} and met {friend}.")
    talk = c.say('"What is wrong?" asked {H}. "I am hungry, and I have nothing to eat," said {F}.',
                 '"I have had no food today," said {F}. "I am so hungry."',
                 '"Can I have some of that?" asked {F}. "I am very hungry."')
    doubt = c.say("{H} looked at the {food}. {He} wanted to eat it all. But {he} saw how sad {F} was.",
                  '"No, it is mine," said {H}. {F} began to cry, and {H} felt bad.',
                  "{H} thought for a moment. The {food} was not very big.")
    share = c.say("So {H} cut the {food} in two and gave half to {F}.",
                  '"Here," said {H}. "Half of the {food} is for you."',
                  '"We can share," said {H}, and {he} gave {F} half of the {food}.')
    end = c.say("They sat down and ate together. The {food} was better than ever.",
                '"Thank you," said {F} with a smile. It was the best meal of the day for both of them.',
                "The next day, {F} came with some berries and shared them with {H}.",
                "{H} was not so full, but {his} heart was warm.")
    return [start, meet + " " + talk + " " + doubt, share + " " + end]


def plot_fear(c):
    swims = c.facts["kind"] in ("duck", "otter", "frog")
    fear, advice, action = c.pick([row for row in FEARS if not (swims and row[0] == "the deep water")])
    c.set(fear=fear, advice=advice, action=action)
    start = c.say("{H} was not afraid of many things, but {he} was afraid of {fear}.",
                  "{He} was afraid of {fear}.", "There was just one thing {he} did not like. It was {fear}.")
    night = {"the dark": "One night, the light went out.", "thunder": "One night, a big storm came.",
             "the deep water": "{day}, all the others went to swim in the lake.",
             "the old bridge": "{day}, {he} had to go over the old bridge to get home.",
             "the big dog": "{day}, the big dog stood in the middle of the road."}[fear]
    scene = c.say(night)
    hide = c.say("{H} closed {his} eyes and began to shake.", "{H} did not know what to do.",
                 "{H} wanted to run away and hide.")
    helper = c.pick(["{friend}", "{his} {elder}"]).format(**c.facts)
    short, he = (c.facts["F"], c.facts["fhe"]) if helper == c.facts["friend"] else (helper, c.facts["ehe"])
    c.set(helper=helper, short=short, Short=short[0].upper() + short[1:], ahe=he)
    talk = c.say('Then {helper} came. "What is wrong?" asked {short}. "I am afraid of {fear}," said {H}.',
                 '"Are you afraid?" asked {helper}. "Yes," said {H} in a small voice.',
                 '{H} called for {helper}. "I am afraid!" {he} cried.')
    comfort = c.say('"{advice}," said {short}. "I will stay with you."',
                    '"I was afraid of {fear} too, once," said {short}. "{advice}."',
                    '{Short} stood close to {him}. "{advice}," {ahe} said.')
    act = c.say("{H} {action}.", "So {H} {action}.", "{H} was still a little afraid, but {he} {action}.")
    end = c.say("After that, {he} was never afraid of {fear} again.",
                '"I did it!" said {H}. "You were very brave," said {short}.',
                'It was not so bad after all. {H} smiled and said, "I am not afraid of {fear} any more."',
                "From that day on, everyone called {him} {H} the brave.")
    return [start + " " + scene + " " + hide, talk + " " + comfort, act + " " + end]


def plot_gift(c):
    gift = c.pick(list(GIFTS))
    first, second = c.pick_some(GIFTS[gift], 2)
    place, other = c.pick_some([p for p in PLACES if p.startswith("to")], 2)
    noun = gift.split(" of ")[0].split()[-1]
    c.set(gift=gift, noun=noun, part1=first, part2=second, place=place, other=other)
    start = c.say("It was the birthday of {his} {elder}, and {H} wanted to make {gift} for {ehim}.",
                  '{His} {elder} was ill in bed. "I will make {gift}," said {H}, "to make {ehim} happy."',
                  "{day}, {he} wanted to make {gift} for {his} {elder}.")
    parts = c.say("{He} needed some {part1} and some {part2}.",
                  "For this, {he} had to find some {part1} and some {part2}.")
    gather = c.say("{He} went {place} and found some {part1}. But {he} could not find any {part2}.",
                   "First {he} went {place} and got some {part1}. Then {he} went {other} and looked for "
                   "some {part2}.")
    talk = c.say('There {he} met {friend}. "I need some {part2} for my {elder}," said {H}. "I have some '
                 '{part2} at home," said {F}. "I will give you mine."',
                 '"What are you looking for?" asked {friend}. "I need some {part2}," said {H}. "Come with '
                 'me," said {F}. "I know a good place."')
    make = c.say("{H} went home and made {gift}.",
                 "{H} ran home with the {part1} and the {part2}. Soon {gift} was ready.",
                 "All day {H} and {F} worked on the {noun}.")
    end = c.say('"It is lovely!" said {his} {elder}, and {ehe} gave {H} a kiss.',
                '{His} {elder} smiled. "This is the best gift of all," {ehe} said.',
                "When {his} {elder} saw the {noun}, {ehe} was so happy that {ehe} began to sing.",
                '"Did you make this for me?" asked {his} {elder}. "Yes," said {H}, "and {F} helped me."')
    return [start + " " + parts, gather + " " + talk, make + " " + end]


def plot_broken(c):
    noun, colour = c.pick(list(FRAGILE)), c.pick(COLOURS)
    c.set(noun=noun, thing=colour + " " + noun, a_thing=article(colour + " " + noun), use=FRAGILE[noun],
          toy=c.pick(["a ball", "a hoop", "a stick", "a kite"]))
    start = c.say("{His} {elder} had {a_thing} and loved to {use} it.",
                  "On the table there was {a_thing}. It belonged to {his} {elder}.")
    crash = c.say("{day}, {H} played in the house with {toy}. Crash! The {noun} fell and broke.",
                  "{day}, {he} ran around the table with {friend}. Crash! The {thing} fell to the floor.",
                  "{day}, {H} wanted to hold the {noun}. It was too heavy. It fell and broke in two.")
    hide = c.say("{H} hid the pieces under the bed. But {he} could not sleep.",
                 '"Oh no!" said {H}. "What will I do now?"',
                 "{H} was afraid. At first {he} wanted to run away.")
    advice = c.say('"You must tell the truth," said {friend}.', '{friend} said, "Tell your {elder}. It is '
                   'the right thing to do."', '{H} asked {friend} what to do. "Be honest," said {F}.')
    tell = c.say('So {H} went to {his} {elder}. "I broke your {thing}," {he} said. "I am sorry."',
                 '{H} went to {his} {elder} and told {ehim} about the {noun}. "I am so sorry," {he} said.')
    mend = c.say('{His} {elder} was not angry. "Thank you for telling me," {ehe} said. They fixed the {noun} '
                 "with glue.",
                 '"It was only {a_thing}," said {his} {elder}. "I am glad that you told the truth."',
                 '{His} {elder} was sad about the {noun}, but {ehe} gave {H} a hug. "We can fix it," {ehe} '
                 "said.")
    end = c.say("{H} felt much better. After that, {he} always told the truth.",
                "That night, {H} slept very well.",
                "From then on, {H} was careful in the house.")
    return [start + " " + crash, hide + " " + advice, tell + " " + mend + " " + end]


def plot_seed(c):
    seed = c.pick(list(SEEDS))
    c.set(seed=seed, a_seed="the " + seed if " " in seed else article(seed), plant=SEEDS[seed],
          word=seed.split()[0], grown=SEEDS[seed].split(" full")[0].split()[-1])
    start = c.say("{day}, {H} found {a_seed} on the road.", "{day}, {his} {elder} gave {him} {a_seed}.",
                  "{day}, {friend} gave {him} {a_seed}.")
    talk = c.say('"What is it for?" asked {H}. "Put it in the ground and wait," said {his} {elder}.',
                 '"If you give it water, it will grow," said {his} {elder}.')
    plant = c.say("{H} dug a hole and put the {word} in it. Every day {he} gave it water.",
                  "So {H} put the {word} in the garden. {He} gave it water every morning.")
    wait = c.say('For a week, nothing came up. "It will never grow," said {H}.',
                 "Day after day, {he} looked at the ground. There was nothing to see.",
                 '{H} waited and waited. "Maybe it is asleep," {he} said.')
    hope = c.say('"Do not give up," said {friend}. "Good things take time."',
                 '"You must wait a little longer," said {friend}.',
                 '{friend} came to look. "Sing to it," said {F}, so {H} sang a song.')
    grow = c.say("Then, one morning, there was a tiny green leaf! It grew and grew until it was {plant}.",
                 "Then the rain came, and after the rain, the sun. Up came {plant}!",
                 "One day, {H} ran out and saw {plant}.")
    end = c.say("{H} was very proud. {He} showed the {grown} to everyone.",
                '"You see?" said {F}. "You only had to wait."',
                "{H} and {F} danced around the {grown} and laughed.",
                '"I am glad that I did not give up," said {H}.')
    return [start + " " + talk + " " + plant, wait + " " + hope, grow + " " + end]


def plot_build(c):
    build = c.pick(list(BUILDS))
    c.set(build=build, part=build.split(" of ")[1], noun=build.split()[1], fail=BUILDS[build])
    start = c.say("{day}, {H} wanted to build {build}.", '{day}, {he} said, "I will build {build}!"',
                  "{H} had a big plan. {He} wanted to build {build}.")
    first = c.say("{He} worked all morning, but the {noun} {fail}.",
                  "{He} got some {part} and began. But soon the {noun} {fail}.",
                  "{He} did it very fast, and the {noun} {fail}.")
    again = c.say('{H} tried again, and again the {noun} {fail}. "I can not do it," {he} said.',
                  '{H} sat down and cried. "It is too hard for me," {he} said.',
                  "{H} was angry. {He} kicked the {part} away.")
    talk = c.say('{friend} came and saw the {part}. "Can I help?" asked {F}. "Two are better than one."',
                 '"You should go slowly," said {friend}. "Let us try it together."',
                 '"Do not give up," said {friend}. "I will hold the {part} for you."')
    work = c.say("{H} and {F} worked side by side. This time the {noun} was strong.",
                 "They took more {part} and worked slowly. When the sun went down, the {noun} was ready.",
                 "{F} held the {part}, and {H} put them in place. Soon they had {build}."
                 if c.facts["part"][-1] == "s" else
                 "{F} brought the {part}, and {H} put it in place. Soon they had {build}.")
    end = c.say('"We did it!" they cried.', '"It is the best {noun} in the world!" said {H}.',
                '{H} smiled at {F}. "I could not have done it without you," {he} said.',
                "They were tired, but they were very proud of the {noun}.")
    return [start + " " + first, again + " " + talk, work + " " + end]


def plot_lost_way(c):
    draw_place(c)
    helper = c.pick(STRANGERS)
    c.set(a_helper=helper, helper=helper.split()[-1], sign=c.pick(["river", "moon", "path", "big star"]),
          lure=c.pick(["butterfly", "bird", "leaf", "feather"]))
    start = c.say("{day}, {he} ran after a {lure}. {He} ran so far that {he} was lost.",
                  "{day}, {H} went {place} alone. {He} saw a {lure} and ran after it.")
    lost = c.say("It got dark, and {H} did not know the way home.",
                 'Soon {he} could not see the way back. "Where is my home?" {he} cried.',
                 "When {he} looked up, nothing was the same. {H} was lost.")
    meet = c.say('Then {he} met {a_helper}. "Why do you cry?" asked the {helper}. "I am lost," said {H}.',
                 '"Who is there?" asked a voice. It was {a_helper}. "I am {H}, and I am lost," said {H}.')
    ask = c.say('"Where do you live?" asked the {helper}. "I live {home}," said {H}.',
                '"I want to go home to my {elder}," said {H}.')
    guide = c.say('"Follow the {sign}, and you will get there," said the {helper}.',
                  '"I know the way," said the {helper}. "You must follow the {sign}."',
                  '"Look at the {sign}," said the {helper}. "It goes the same way as you."')
    walk = c.say("{H} thanked the {helper} and followed the {sign}.",
                 "So {H} walked and walked, and always followed the {sign}.")
    home = c.say("At last, {he} saw a light in the window. {His} {elder} was at the door.",
                 "Soon {he} was home again. {His} {elder} ran out to meet {him}.")
    end = c.say('"I am so glad to see you!" said {his} {elder}.',
                "{H} told {ehim} about the {helper}, and then {he} fell asleep.",
                "After that, {H} never ran after a {lure} again.",
                '"The {helper} was very kind," said {H}, and {he} went to bed.')
    return [start + " " + lost, meet + " " + ask + " " + guide, walk + " " + home + " " + end]


def plot_quarrel(c):
    draw_thing(c)
    draw_place(c)
    start = c.say("{His} best friend was {friend}. They did everything together.",
                  "{He} had a good friend. It was {friend}.")
    find = c.say("{day}, they went {place} and found {a_thing} {spot1}.",
                 "{day}, they walked {place}. There was {a_thing} {spot1}.")
    fight = c.say('"It is mine!" said {H}. "No, I saw it first!" said {F}.',
                  '"I want to {use} it," said {H}. "No, I want to {use} it," said {F}.',
                  "Both of them wanted the {noun}. {H} pulled on one side, and {F} pulled on the other.")
    part = c.say("{F} went home without a word. {H} had the {noun} now, but {he} was not happy.",
                 "{H} ran away with the {noun}. But it was no fun to {use} it alone.",
                 "They were so angry that they did not speak for a week.")
    think = c.say('"A friend is better than a {noun}," thought {H}.',
                  '"You look sad," said {his} {elder}. "I miss {F}," said {H}.',
                  '"What is {a_thing} without a friend?" asked {his} {elder}.')
    sorry = c.say('So {H} took the {noun} and went to {F}. "I am sorry," {he} said. "You can have it."',
                  '{H} went to see {F}. "I am sorry," said {H}. "Let us share the {noun}."')
    end = c.say('"I am sorry too," said {F}. From that day on, they shared the {thing}.',
                '{F} smiled. "We can {use} it together," {fhe} said. And they did.',
                "{F} gave {H} a hug, and they were friends again.")
    return [start + " " + find, fight + " " + part, think + " " + sorry + " " + end]


PLOTS = [plot_lost_thing, plot_trapped_animal, plot_sharing, plot_fear, plot_gift, plot_broken, plot_seed,
         plot_build, plot_lost_way, plot_quarrel]


def write_tale(chance):
    """One tale: two or three paragraphs, one newline between them."""
    c = Cast(chance)
    c.set(ehim=PRONOUNS[c.facts["ehe"]][1])
    opening = open_tale(c)
    paragraphs = c.pick(PLOTS)(c)
    paragraphs[0] = opening + " " + paragraphs[0]
    return "\n".join(paragraphs)


def write_tales(seed, count):
    chance = random.Random(seed)
    return [write_tale(chance) for _ in range(count)]


def main():
    options = argparse.ArgumentParser(description="print short tales, an empty line between them")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=3)
    chosen = options.parse_args()
    print("\n\n".join(write_tales(chosen.seed, chosen.count)))


if __name__ == "__main__":
    main()
