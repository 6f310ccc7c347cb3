"""Secrets: what must never be stored, and the everyday text that must not be taken for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepbook.book.text.secrets import MARK, FoundSecret, find_secrets, redact

# Each text marks its secret with ‹ and ›. Keys are put together here, so that no scanner takes this file for a leak.
HEX = "9fceb02d0ae598e95dc970b74767f19372d61af8"
BASE62 = "aB3xK9mQ2wE7rT5yU1iO8pZ4"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".dBjftJeZ4CVPmB92K27uhbUJU1p1r"
PEM = "-----BEGIN RSA PRIVATE " + "KEY----- MIIEpAIBAAKCAQEA7 -----END RSA PRIVATE " + "KEY-----"
WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"

CARDS = [
    "pay with ‹4111 1111 1111 1111›, thanks",
    "pay with ‹4111-1111-1111-1111›.",
    "‹5555555555554444›",
    "amex ‹3782 822463 10005› please",
    "diners ‹3056 930902 5904›",
    "maestro ‹6759 6498 2643 8453›",
    "nineteen digits: ‹4000 0000 0000 0000 006›",
    "it is ‹2223 0000 4841 0010› exp. tomorrow",
    "room 12 and then ‹4111 1111 1111 1111› 2 nights",
    "the card's ‹4929 1180 5523 0071 exp 08/29›",  # mistyped, but called a card
    "Visa: ‹4111 1111 1111 1112›",
    "my card number is ‹4111111111111111, cvv 123›",
    "Kredittkort ‹4111 1111 1111 1111 (exp 01/2030, cvc 999›)",
    "order with ‹4111 1111 1111 1111›",
]
NUMBERS = [
    "IBAN ‹NO93 8601 1117 947› is mine",
    "room AB12 ‹gb29 nwbk 6016 1331 9268 19› and then some",
    "our social: ‹219-09-9999›",
    "wire it to ‹DE89370400440532013000›",
    "‹gb29 nwbk 6016 1331 9268 19› thanks",
    "‹FR14-2004-1010-0505-0001-3M02-606›",
    "my social is ‹078-05-1120›.",
    "SSN ‹078051120›",
    "social security number is ‹078 05 1120›",
]
KEYS = [
    f"use ‹sk-{BASE62}› for now",
    f"‹sk-proj-{BASE62}_{BASE62}›",
    f"OPENAI_API_KEY=‹sk-ant-api03-{BASE62}›",
    f"token ‹ghp_{BASE62}{BASE62[:12]}›",
    f"‹github_pat_11ABCDEFG0{BASE62}›",
    "‹AKIA" + "IOSFODNN7EXAMPLE› is the id",
    "‹xoxb-" + "123456789012-abcdefghijkl›",
    "maps: ‹AIza" + "SyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v›",
    f"‹glpat-{BASE62}›",
    f"‹sk_live_{BASE62}›",
    f"‹hf_{BASE62}{BASE62}›",
    "bot ‹123456789:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw›",
    f"see ‹{JWT}›",
    f"Authorization: Bearer ‹{BASE62}›",
    f"https://example.org/x?user=1&token=‹{BASE62}›&page=2",
    "postgresql://bob:‹s3cret›@localhost/db",
    f"here ‹{PEM}› done",
    "cut off: ‹-----BEGIN PRIVATE " + "KEY----- MIIEpAIBAAKCAQEA7›",
    f"the string ‹{HEX}{HEX[::-1]}›",
    f"‹{BASE62}{BASE62[::-1]}› was on the note",
]
PASSWORDS = [
    "my password is ‹hunter2›",
    "My password is ‹swordfish›.",
    "my password is ‹swordfish› and my dog is Rex",
    "the wifi password: ‹Blume77›",
    'the password for the wifi at the cabin is "‹correct horse battery›"',
    "the wifi at the cabin is HeronNest / pw: ‹q7!Velvet-Moose›, can you put that in the guest sheet",
    "password to my laptop is still ‹Tr0ub4dor&3›",
    "I changed my password to ‹Summer!2024› yesterday",
    "password ‹hunter2› does not work",
    "‹hunter2› is my password",
    '{"user": "anna", "password": "‹hunter2›"}',
    "DB_PASSWORD=‹hunter2›",
    "api key: ‹abcd1234efgh›",
    "passphrase: ‹OpenSesame›",
    "Mein Passwort ist ‹Sommer2024›",
    "Das WLAN-Passwort lautet ‹Blumenwiese›.",
    "Kennwort: ‹Geheim99›",
    "Passordet er ‹Fjordland›",
    "wifi-passordet på hytta er ‹Multe123›",
    "La contraseña es ‹gato›",
    "la contraseña del wifi: ‹Sol-y-mar7›",
    "mi clave es ‹luna2020›",
    "the wifi pass is ‹kittens99›",
    "user: bob pass: ‹kitten›",
    "Wi-Fi: CabinNet, password ‹CabinFever22›, enjoy",
]
CODES = [
    "the pin is ‹4321›",
    "my PIN: ‹4321›",
    "PIN for my card is ‹0071›",
    "my pin ‹4321›.",
    "And the alarm code's ‹5518›, same sheet",
    "the code to the garage is ‹5518›",
    "door code ‹#4711*›",
    "the combination of the safe is ‹12-34-56›",
    "the security code on the back is ‹123›",
    "cvv ‹123›",
    "your verification code is ‹482 913›",
    "‹482913› is your Google verification code.",
    "use ‹482913› as your one-time code",
    "Your code is ‹482913›",
    "passcode: ‹112233›",
    "Alarmkoden er ‹5518›",
    "koden til alarmen er ‹5518›",
    "Meine Geheimzahl ist ‹4321›",
    "el código de la alarma es ‹5518›",
]
SEEDS = [
    f"my seed phrase is ‹{WORDS}›",
    f"Recovery phrase: ‹{WORDS.replace(' ', ', ')}›.",
    f"wallet seed words ‹{WORDS} {WORDS}›",
    "mnemonic: ‹" + " ".join(f"{n}. {word}" for n, word in enumerate(WORDS.split(), 1)) + "›",
]
KINDS = {
    "card": CARDS, "key": KEYS[:15] + KEYS[16:18], "random": KEYS[18:], "code": CODES, "seed_phrase": SEEDS,
    "password": [marked for marked in PASSWORDS if not marked.startswith(("api key", "mi clave"))],
}  # fmt: skip


@pytest.mark.parametrize("marked", CARDS + NUMBERS + KEYS + PASSWORDS + CODES + SEEDS)
def test_a_secret_is_found_and_nothing_around_it(marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    expected = marked[marked.index("‹") + 1 : marked.index("›")]
    assert [text[secret.start : secret.end] for secret in find_secrets(text)] == [expected]
    assert redact(text) == text.replace(expected, MARK)


@pytest.mark.parametrize(("kind", "marked"), [(kind, marked) for kind, texts in KINDS.items() for marked in texts])
def test_a_secret_is_called_what_it_is(kind: str, marked: str) -> None:
    assert [secret.kind for secret in find_secrets(marked.replace("‹", "").replace("›", ""))] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        # talk about secrets
        "I forgot my password", "my password manager is 1Password", "I use 1Password as my password manager",
        "1Password is my password manager", "my password is too long", "my password is hard to remember",
        "My password is weak.", "The password was changed in 2024", "my passwords are stored in Bitwarden",
        "password: forgotten", "the password is in the safe", "Password protected file", "password: <password>",
        "DB_PASSWORD=${DB_PASSWORD}", "password: ********", "we talked about password policies: nobody likes them",
        "my password is [secret]", "never tell anyone your PIN", "my PIN has 4 digits", "Pin 2024 goals to the board",
        "I have a safety pin", "Mein Passwort ist falsch", "He olvidado mi contraseña", "Glemte passordet",
        "my seed phrase is in the safe at the bank", "plant the seed potatoes in April with the other kids please",
        "I need the api key for maps", "the key is under the mat", "a bearer of misunderstandings and responsibilities",
        "The secret key to success is patience", "la clave es paciencia", "passwords are evil",
        "my password is 12 characters long", "Password must be 12+ characters", "the password reset mail never came",
        "the password \"field\" is empty", "the access token expires in 3600 seconds", "Pinterest is my favourite1",
        # other codes and numbers
        "The building code is strict", "the code for the building project is ready",
        "zip code is 94110", "the area code is 415", "promo code SAVE20", "error code 5002 again", "dress code: casual",
        "order number 7740-2281-9", "order 4111111111111111", "invoice no. 4539148803436467", "booking ref QX7P2L",
        "loyalty number is 7740-2281-9", "tracking 1Z999AA10123456784", "ISBN 978-3-16-148410-0",
        "call +47 22 33 44 55 66", "call 0047 2233 4455 6677", "+1 (555) 123-4567", "tel. 555-12-3456-789",
        "costs 4 111 111 111 111 111 kr", "4,111,111,111,111,111", "4111111111111111.00", "about 1234567890123456",
        "4111 1111 1111 1112", "1763177199123", "born 1990-05-12, retired 2050-01-01", "from 2026-03-05 10:15 to 11:30",
        "about 48,000 a year", "IBAN NO93 8601 1117 948", "DE07 ABCD 0044 0532 0130 00", "219-09-9999",
        "GB is 29 times larger", "666-12-3456", "000-12-3456",
        "192.168.100.200", "it's 10.30 at the 3rd gate",
        # ids and names that only look wild
        "id 550e8400-e29b-41d4-a716-446655440000", f"commit {HEX}", f"sha256: {HEX}{HEX[:24]}",
        "https://example.org/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "my-long-blog-post-title-2024-part2-of-3", "ThisIsMyVeryLongCamelCaseName2024", "2024-01-15_notes_v2_final_3x",
        "src/keepbook/book/SomethingElse/index2024", "Donaudampfschifffahrtsgesellschaftskapitän1234",
        "risk-adjusted-returns-and-more-of-it2", "INV-2024-000123-2025-000456-XYZ-789", "a1b2c3d4",
        "Prefers index funds, no single stocks", "",
    ],
)  # fmt: skip
def test_everyday_text_is_no_secret(text: str) -> None:
    assert find_secrets(text) == []
    assert redact(text) == text


def test_several_secrets_come_in_order_and_apart() -> None:
    text = "pin is 4321, card 4111 1111 1111 1111, password: hunter2, pin is 4321"
    assert redact(text) == "pin is [secret], card [secret], password: [secret], pin is [secret]"
    assert [secret.kind for secret in find_secrets(text)] == ["code", "card", "password", "code"]


def test_each_code_of_a_list_is_a_secret() -> None:
    assert redact("backup codes are 1234-5678, 8765-4321 and 2222 3333.") == (
        "backup codes are [secret], [secret] and [secret]."
    )


def test_a_key_that_is_called_a_password_is_one_secret() -> None:
    assert find_secrets(f"my password is ghp_{BASE62}") == [FoundSecret("key", 15, 15 + 4 + len(BASE62))]


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    end = 0
    for secret in find_secrets(text):
        assert end <= secret.start < secret.end <= len(text)
        end = secret.end


PLAIN = [marked.replace("‹", "").replace("›", "") for marked in CARDS + NUMBERS + KEYS + PASSWORDS + CODES + SEEDS]


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=4), st.sampled_from(["\n", ". ", " – ", " | "]))
def test_nothing_is_left_to_find_in_a_redacted_text(texts: list[str], between: str) -> None:
    assert find_secrets(redact(between.join(texts))) == []
