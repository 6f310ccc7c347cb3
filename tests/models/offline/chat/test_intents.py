"""What is understood: a broad table of what people say, and what it wants of the memory, if anything."""

import pytest

from keepbook.models.offline.chat.intents import ACTING, read

SAVES = {
    "Remember that my dog is called Bo": "my dog is called Bo",
    "please remember I'm allergic to peanuts": "I'm allergic to peanuts",
    "Could you remember that I live in Oslo?": "I live in Oslo",
    "Can you please note that I fly on Mondays?": "I fly on Mondays",
    "I'd like you to remember that I hate olives": "I hate olives",
    "hey, please keep in mind that I work nights": "I work nights",
    "Please keep in mind: no meetings before 9": "no meetings before 9",
    "bear in mind that I'm colour-blind": "I'm colour-blind",
    "note: my blood type is 0 negative": "my blood type is 0 negative",
    "Make a note that the bins go out on Tuesday": "the bins go out on Tuesday",
    "Write down: I am allergic to nuts": "I am allergic to nuts",
    "jot down that my locker is number 12": "my locker is number 12",
    "save this: I prefer aisle seats": "I prefer aisle seats",
    "store that I use Emacs": "I use Emacs",
    "memorize that our anniversary is 4 May": "our anniversary is 4 May",
    "Add to your memory: I speak Norwegian": "I speak Norwegian",
    "add that I play chess to your notes": "I play chess",
    "don't forget that I have two kids": "I have two kids",
    "Don't forget: I'm on a diet": "I'm on a diet",
    "never forget that I hate mornings": "I hate mornings",
    "do not forget I'm vegan": "I'm vegan",
    "From now on, answer in bullet points": "answer in bullet points",
    "from now on call me Al": "call me Al",
    "Call me Al from now on": "Call me Al",
    "going forward, use metric units": "use metric units",
    "I only trade mornings from now on": "I only trade mornings",
    "remember to use metric units": "use metric units",
    "Remember to always cite sources": "always cite sources",
    "Remember my wife is called Ana": "my wife is called Ana",
    "remember Sarah is vegetarian": "Sarah is vegetarian",
    "remember: I hate olives": "I hate olives",
    "Remember, I don't eat pork": "I don't eat pork",
    "for the record, I'm 34": "I'm 34",
    "For future reference: my budget is 900 euros": "my budget is 900 euros",
    "Just so you know, I'm left-handed": "I'm left-handed",
    "you can note that I moved to Lyon": "I moved to Lyon",
    "My dog is called Bo. Remember that.": "My dog is called Bo",
    "How lovely! My dog is called Bo. Remember that.": "My dog is called Bo",
    "my favourite colour is green, please remember that": "my favourite colour is green",
    "I want you to remember something: my landlord is Olsen": "my landlord is Olsen",
    "could you make a note of the fact that I'm moving in June?": "I'm moving in June",
    "save to memory: I run 10 km every Sunday": "I run 10 km every Sunday",
    "Put in your notes that I fast on Tuesdays": "I fast on Tuesdays",
    "Hey there, could you maybe remember that I take my coffee black?": "I take my coffee black",
    "Make sure you remember that Jonas is my accountant": "Jonas is my accountant",
    "I hope you'll remember that I am shy": "I am shy",
    "Can you store the following? My passport expires in 2029.": "My passport expires in 2029",
    "remember - I hate cilantro": "I hate cilantro",
    "Recuerda que soy vegano": "soy vegano",
    "Por favor, ten en cuenta que no como carne": "no como carne",
    "¿Puedes recordar que vivo en Madrid?": "vivo en Madrid",
    "A partir de ahora, respóndeme en español": "respóndeme en español",
    "Merk dir, dass ich in Köln wohne": "ich in Köln wohne",
    "Bitte notiere: mein Hund heißt Rex": "mein Hund heißt Rex",
    "Ab jetzt bitte kurze Antworten": "bitte kurze Antworten",
    "Husk at jeg bor i Oslo": "jeg bor i Oslo",
    "Kan du huske at jeg ikke spiser kjøtt?": "jeg ikke spiser kjøtt",
    "Fra nå av, svar på norsk": "svar på norsk",
}

CORRECTIONS = {
    "actually, I live in Bergen": ("I live in Bergen", ""),
    "Actually I have three kids": ("I have three kids", ""),
    "no, I live in Bergen": ("I live in Bergen", ""),
    "No, it's Rex": ("it's Rex", ""),
    "that's wrong, I live in Bergen": ("I live in Bergen", ""),
    "sorry, I meant Tuesday": ("Tuesday", ""),
    "Correction: the budget is 600": ("the budget is 600", ""),
    "Update: I now work at Bolt": ("I now work at Bolt", ""),
    "change my budget to 700": ("700", "my budget"),
    "please update my address to Storgata 5": ("Storgata 5", "my address"),
    "could you replace Oslo with Bergen?": ("Bergen", "Oslo"),
    "make it 600": ("600", ""),
    "it should say Bergen": ("Bergen", ""),
    "I no longer work at Acme, I'm at Bolt now": ("I'm at Bolt now", "work at Acme"),
    "not Bo but Rex": ("Rex", "Bo"),
    "Sorry, not Oslo, Bergen": ("Bergen", "Oslo"),
    "I said Oslo but I meant Bergen": ("Bergen", "Oslo"),
    "hmm no, my budget's 800": ("my budget's 800", ""),
    "En realidad vivo en Sevilla": ("vivo en Sevilla", ""),
    "cambia Madrid por Sevilla": ("Sevilla", "Madrid"),
    "Nein, ich wohne in Bonn": ("ich wohne in Bonn", ""),
    "Eigentlich wohne ich in Bonn": ("wohne ich in Bonn", ""),
    "Egentlig bor jeg i Bergen": ("bor jeg i Bergen", ""),
    "endre Oslo til Bergen": ("Bergen", "Oslo"),
}

FORGETS = {
    "forget that I live in Oslo": "I live in Oslo",
    "Forget I live in Oslo": "I live in Oslo",
    "please forget my address": "my address",
    "you can forget my old job": "my old job",
    "Could you forget that I like tea?": "I like tea",
    "forget about my ex": "my ex",
    "Forget everything about Oslo": "Oslo",
    "delete what you know about my sister": "my sister",
    "delete everything you have on my ex": "my ex",
    "forget what I told you about my boss": "my boss",
    "remove the note about the dentist": "the dentist",
    "erase the memory that I smoke": "I smoke",
    "please remove my address from your memory": "my address",
    "delete my address": "my address",
    "stop remembering my weight": "my weight",
    "I want you to forget where I work": "I work",
    "Please delete the entry on my sister": "my sister",
    "erase Acme": "Acme",
    "olvida que vivo en Madrid": "vivo en Madrid",
    "borra lo que sabes de mi jefe": "mi jefe",
    "Vergiss, dass ich in Köln wohne": "ich in Köln wohne",
    "Lösche alles über meinen Chef": "meinen Chef",
    "Glem at jeg bor i Oslo": "jeg bor i Oslo",
    "slett alt om sjefen min": "sjefen min",
}

ENDED = {
    "I no longer work at Acme": "work at Acme",
    "I don't eat meat anymore": "eat meat",
    "I'm not vegan any more": "vegan",
    "we no longer have a car": "have a car",
    "it's no longer true that I smoke": "I smoke",
    "my budget of 500 is no longer valid": "my budget of 500",
    "ya no fumo": "fumo",
    "Ich wohne nicht mehr in Köln": "wohne in Köln",
    "Jeg bor ikke lenger i Oslo": "bor i Oslo",
}

CONFIRMS = {
    "yes, still true": "",
    "Yes still the same": "",
    "that's still right": "",
    "still correct": "",
    "nothing has changed": "",
    "yes I still live in Oslo": "live in Oslo",
    "I'm still vegan": "vegan",
    "Yep, we still have two kids": "have two kids",
    "Yes, that's all still correct": "",
    "still at Acme": "at Acme",
    "Still allergic to peanuts, yes": "allergic to peanuts",
    "my budget is still 500": "my budget 500",
    "Sí, sigue siendo cierto": "",
    "Ja, das stimmt noch": "",
    "Ja, ich wohne immer noch in Bonn": "wohne in Bonn",
    "Ja, jeg bor fortsatt i Oslo": "bor i Oslo",
}

DECLINES = (
    "don't remember that", "please don't save this", "Don't keep that", "do not write that down", "forget I said that",
    "forget it", "forget what I just said", "that's private", "leave that out", "no need to remember that",
    "I'd rather you didn't remember that", "scrap that", "Don't store my address", "I don't want you to know my age",
    "keep this between us", "don't remember that I like tea", "no lo guardes", "olvida eso", "Merk dir das nicht",
    "vergiss das", "ikke husk det", "glem hva jeg sa",
)  # fmt: skip

ASIDES = (
    "This stays between us: I'm pregnant", "off the record, I'm looking for a new job", "this is off the record",
    "Between you and me, I hate my boss", "entre nosotros, odio mi trabajo", "unter uns, ich kündige",
    "mellom oss, jeg slutter",
)  # fmt: skip

READS = {
    "what do you know about me?": "list",
    "What do you remember?": "list",
    "what have you stored about me so far?": "list",
    "list everything": "list",
    "show me all my memories": "list",
    "tell me everything you know about me": "list",
    "what's in my book?": "list",
    "list my preferences": "list",
    "¿Qué sabes de mí?": "list",
    "Was weißt du über mich?": "list",
    "Hva vet du om meg?": "list",
    "what do you know about Bo?": "about",
    "What do you remember about my dog?": "about",
    "tell me about my sister": "about",
    "do you have anything on my budget?": "about",
    "¿Qué sabes de mi perro?": "about",
    "Was weißt du über meinen Hund?": "about",
    "Hva vet du om hunden min?": "about",
    "what did I say about my dog?": "said",
    "when did I tell you that I moved?": "said",
    "have I told you about my sister?": "said",
    "did I ever mention my boss?": "said",
    "do you remember my dog?": "said",
    "Do you remember that I'm vegan?": "said",
    "can you remember my birthday?": "said",
    "Remember when we talked about Rome?": "said",
    "¿Cuándo te dije que vivo en Madrid?": "said",
    "Husker du hunden min?": "said",
    "where do I live?": "ask",
    "what's my dog's name?": "ask",
    "do I have kids": "ask",
    "¿Dónde vivo?": "ask",
    "Wo wohne ich?": "ask",
    "Hvor bor jeg?": "ask",
    "what changed about my budget?": "history",
    "how is my momentum skill doing?": "performance",
    "how's my BTC bot doing this week?": "performance",
    "what's my win rate?": "performance",
    "what is coming up?": "upcoming",
    "any upcoming events?": "upcoming",
}

TALK = {
    "hello": "greet", "Good morning!": "greet", "Hola": "greet", "Guten Tag": "greet", "hei": "greet",
    "thanks!": "thanks", "thank you very much": "thanks", "no thanks": "thanks", "gracias": "thanks", "takk": "thanks",
    "bye": "bye", "who are you?": "help", "what can you do?": "help", "are you an AI?": "help",
    "can you remember things?": "help", "never mind": "cancel", "forget everything": "erase", "undo that": "undo",
    "that's wrong": "wrong", "forget that": "drop", "delete it": "drop", "my address has changed": "stale",
    "remind me to call mum tomorrow": "remind", "don't forget to call mum": "remind", "keep that in mind": "save_it",
    "remember this": "save_it",
}  # fmt: skip

HARMLESS = (
    # questions
    "should I remember to bring a coat?", "Would you remember it if I told you my birthday?", "how do I forget my ex?",
    "Do you ever forget things?", "What if I said forget my address?", "Is it hard to remember names?",
    "remember that I'm vegan?", "forget my address?", "why should I change my budget to 700?",
    "Can you forget?", "did you remember to save it?", "is my dog called Rex?",
    # suppositions and hedges
    "If I asked you to remember my name, would you?", "Suppose I told you to forget everything.",
    "actually I might move to Bergen", "actually, maybe I live in the wrong city", "Perhaps I should change my job",
    "Imagine I said: remember that I am rich", "I wish I could forget that I live in Oslo",
    # quotes and pasted text
    'Translate this: "remember that I hate cats"', 'She wrote "please forget my address" and left',
    "Please summarise:\nSubject: Memory\nRemember that the meeting is at 9. Forget everything else.",
    "> remember that I owe you 500 euros", "`remember that x = 5`", 'The sign said: "Remember that smoking kills"',
    # about somebody else, or nobody
    "She said remember that I love you", "My boss told me to forget about it", "He asked me to remember his birthday",
    "I forgot to remember that it is Monday", "My sister no longer lives in Rome, they say",
    "I can't remember where I put my keys", "I remember that day well", "I'll never forget that trip",
    "People forget that markets fall", "you remember too much", "My friend remembers everything",
    "interest rates will rise from now on", "Note the market moved", "the market is still open",
    # talk
    "no, that's a good idea", "Actually, thanks!", "actually, what do you know about me?", "no", "yes", "ok great",
    "I'm tired today", "lol", "delete the second paragraph", "delete my account", "remove that email",
    "still waiting for the bus", "I still don't understand", "change the subject", "I live in Oslo",
    "I like tea, not coffee", "What a day", "", "   ", "👍",
)  # fmt: skip


@pytest.mark.parametrize(("text", "matter"), SAVES.items())
def test_a_wish_to_keep_is_understood(text: str, matter: str) -> None:
    (intent,) = read(text)
    assert (intent.kind, intent.matter) == ("save", matter)


@pytest.mark.parametrize(("text", "told"), CORRECTIONS.items())
def test_a_correction_is_understood(text: str, told: tuple[str, str]) -> None:
    (intent,) = read(text)
    assert (intent.kind, (intent.matter, intent.old)) == ("correct", told)


@pytest.mark.parametrize(("text", "matter"), FORGETS.items())
def test_a_wish_to_forget_is_understood(text: str, matter: str) -> None:
    (intent,) = read(text)
    assert (intent.kind, intent.matter) == ("forget", matter)


@pytest.mark.parametrize(("text", "matter"), ENDED.items())
def test_what_is_over_is_understood(text: str, matter: str) -> None:
    (intent,) = read(text)
    assert (intent.kind, intent.matter) == ("ended", matter)


@pytest.mark.parametrize(("text", "matter"), CONFIRMS.items())
def test_what_still_holds_is_understood(text: str, matter: str) -> None:
    (intent,) = read(text)
    assert (intent.kind, intent.matter) == ("confirm", matter)


@pytest.mark.parametrize("text", DECLINES)
def test_a_wish_not_to_keep_is_understood(text: str) -> None:
    assert [intent.kind for intent in read(text)] == ["decline"]


@pytest.mark.parametrize("text", ASIDES)
def test_an_aside_is_understood(text: str) -> None:
    assert read(text)[0].kind == "aside"


@pytest.mark.parametrize(("text", "kind"), [*READS.items(), *TALK.items()])
def test_a_question_or_talk_is_understood(text: str, kind: str) -> None:
    assert read(text)[0].kind == kind


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_wish_wants_nothing_kept_or_forgotten(text: str) -> None:
    kinds = {intent.kind for intent in read(text)}
    # A correction or a "still" may be read into it; whether it is one the book decides.
    assert not kinds & (ACTING - {"correct", "ended"}), kinds


def test_a_message_may_want_several_things() -> None:
    wanted = read("Hi! Remember that I'm vegan. Forget my address. What do you know about me?")
    assert [intent.kind for intent in wanted] == ["save", "forget", "list"]


def test_what_is_dictated_goes_on_to_the_end() -> None:
    wanted = read("Remember the following: I'm vegan. I live in Oslo. My dog is Bo.")
    assert [(intent.kind, intent.matter) for intent in wanted] == [
        ("save", "I'm vegan"), ("save", "I live in Oslo"), ("save", "My dog is Bo"),
    ]  # fmt: skip


def test_a_list_is_dictated_line_by_line() -> None:
    wanted = read("Remember:\n- I'm vegan\n- I live in Oslo")
    assert [intent.matter for intent in wanted] == ["I'm vegan", "I live in Oslo"]
