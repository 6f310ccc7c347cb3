import pytest, time
from tests.models.notebook.test_one_unit import *
from tests.models.notebook.test_one_unit import fill
def test_big(kb, monkeypatch):
    counts=[]
    for owner, memories, turns in (("small", 10, 2), ("large", 100_000, 2), ("long", 10, 500)):
        book = kb.book(owner); t=time.time()
        for k in range(0,memories,10_000):
            with book.transaction():
                for number in range(k,min(k+10_000,memories)):
                    book.remember(f"Keeps bees in hive {number} near village {number % 17}", force=True)
        print(owner,"filled",time.time()-t,flush=True)
        chat = book.threads.start()
        for number in range(turns // 2):
            chat.add("user", f"The weather is like day {number}.")
            chat.add("assistant", "Noted.")
        say(kb, chat, "I keep bees in Oslo.")
        for text in ("I live in Oslo with my wife Kari.","where do I live?","forget where I live"):
            with counting(kb, monkeypatch) as counted:
                t=time.time(); say(kb, chat, text); t=time.time()-t
            counts.append((owner,text,counted.transactions, counted.reads,round(t,2)))
    for c in counts: print(c)
