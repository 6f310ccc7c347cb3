"""Everything that must change nothing, said to every preset; and how the model speaks of itself."""

import pytest
from tests.models.offline.chat.conftest import Open
from tests.models.offline.chat.test_intents import HARMLESS, READS, TALK

PRESETS = ("general", "advisor", "assistant", "coach")
OPINIONS = (
    "no, it's fine", "no, that's great", "actually, that's a pity", "no, it's not a problem", "no, it's over",
    "well, that's interesting", "it's ok", "no, that's not the point", "actually, it's complicated", "wait, really",
)  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
def test_what_only_looks_like_a_wish_writes_nothing(chat: Open, preset: str) -> None:
    talk = chat(preset)
    for text in (*HARMLESS, *READS, *TALK):
        talk.said.clear()
        talk.tell(text)
        assert not talk.wrote, text


@pytest.mark.parametrize("preset", PRESETS)
def test_nothing_is_written_when_it_is_said_after_an_answer(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("what do you know about me?")
    before = list(talk.said)
    for text in HARMLESS:
        talk.said = [*before]
        talk.tell(text)
        assert not talk.wrote, text


@pytest.mark.parametrize("preset", PRESETS)
def test_nothing_is_written_when_it_is_said_after_one_memory_was_told(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("where do I work?")
    before = list(talk.said)
    # A yes or an "actually" has a memory to mean now; a mere opinion still has none.
    for text in (*HARMLESS, *OPINIONS):
        talk.said = [*before]
        talk.tell(text)
        assert not talk.wrote, text


@pytest.mark.parametrize(
    ("preset", "keeps"),
    [
        ("general", "When this chat closes I keep what is worth keeping."),
        ("assistant", "When this chat closes I suggest what is worth keeping, for you to say yes or no."),
    ],
)
@pytest.mark.parametrize("text", ["hello", "who are you?", "write me a poem about the sea"])
def test_it_says_what_it_is_and_what_becomes_of_what_is_said(chat: Open, preset: str, keeps: str, text: str) -> None:
    said = chat(preset).tell(text)
    assert "offline model" in said
    assert keeps in said
    assert "what do you know about me?" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thanks!", "You are welcome."),
        ("bye", "Goodbye. When this chat closes I keep what is worth keeping."),
        ("I live in Oslo with my wife", "I hear you. When this chat closes I keep what is worth keeping."),
        ("never mind", "All right, I leave it at that."),
        ("ok", "Good."),
        ("gracias", "De nada."),
        ("danke", "Gern geschehen."),
        ("takk", "Bare hyggelig."),
    ],
)
def test_small_talk_is_answered_shortly(chat: Open, text: str, said: str) -> None:
    assert chat().tell(text) == said


def test_a_silent_preset_does_not_speak_of_keeping(chat: Open) -> None:
    assert chat("coach").tell("I only trade the London open") == "Understood."


def test_a_reminder_is_not_promised(chat: Open) -> None:
    talk = chat()
    assert talk.tell("remind me to call mum tomorrow").startswith("I cannot remind you at a set time.")
    assert not talk.wrote


@pytest.mark.parametrize(
    ("tongue", "hello"),
    [("hola", "Soy el modelo sin conexión"), ("guten Tag", "Offline-Modell"), ("hei", "frakoblet-modellen")],
)
def test_it_answers_in_the_language_it_is_spoken_to(chat: Open, tongue: str, hello: str) -> None:
    assert hello in chat().tell(tongue)


@pytest.mark.parametrize(
    ("turns", "memories", "last"),
    [
        (["Recuerda que vivo en Madrid", "¿Dónde vivo?"], ["Vivo en Madrid"], "Tu libro dice: «Vivo en Madrid»"),
        (["Recuerda que vivo en Madrid", "En realidad vivo en Sevilla"], ["Vivo en Sevilla"], "Actualizado: "),
        (["Recuerda que vivo en Madrid", "olvida que vivo en Madrid"], [], "Olvidado: Vivo en Madrid."),
        (["Recuerda que vivo en Madrid", "Sí, todavía vivo en Madrid"], ["Vivo en Madrid"], "Bien, sigue siendo así"),
        (["Recuerda que vivo en Madrid", "no lo guardes"], [], "De acuerdo, retirado: Vivo en Madrid."),
        (
            ["Recuerda que tengo un perro", "¿Qué sabes de mí?"],
            ["Tengo un perro"],
            "Esto es lo que tu libro dice de ti:",
        ),
        (
            ["Merk dir, dass ich in Köln wohne", "Wo wohne ich?"],
            ["Ich wohne in Köln"],
            "In deinem Buch steht: „Ich wohne",
        ),
        (["Merk dir: ich wohne in Köln", "Nein, ich wohne in Bonn"], ["Ich wohne in Bonn"], "Geändert: "),
        (["Merk dir: ich wohne in Köln", "Vergiss, dass ich in Köln wohne"], [], "Vergessen: Ich wohne in Köln."),
        (["Merk dir: ich wohne in Köln", "Ich wohne nicht mehr in Köln"], [], "Vergessen: Ich wohne in Köln."),
        (["Merk dir: ich wohne in Köln", "Ja, das stimmt noch"], ["Ich wohne in Köln"], "Gut, das gilt also weiter"),
        (["Husk at jeg bor i Oslo", "Hvor bor jeg?"], ["Jeg bor i Oslo"], "I boka di står det: «Jeg bor i Oslo»"),
        (["Husk at jeg bor i Oslo", "Egentlig bor jeg i Bergen"], ["Jeg bor i Bergen"], "Endret: "),
        (["Husk at jeg bor i Oslo", "Jeg bor ikke lenger i Oslo"], [], "Glemt: Jeg bor i Oslo."),
        (["Husk at jeg bor i Oslo", "Hva vet du om meg?"], ["Jeg bor i Oslo"], "Dette står det i boka om deg:"),
    ],
)
def test_the_basics_work_in_other_languages(chat: Open, turns: list[str], memories: list[str], last: str) -> None:
    talk = chat(seeds=())
    said = [talk.tell(text) for text in turns]
    assert talk.memories == memories
    assert said[-1].startswith(last)
