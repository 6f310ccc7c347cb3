"""What was used last is held within a bound."""

from keepbook.book.recall.bounded_cache import BoundedCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    held: BoundedCache[str, int] = BoundedCache(2)
    held.put("a", 1)
    held.put("b", 2)
    assert held.get("a") == 1
    held.put("c", 3)
    assert [held.get(key) for key in "abc"] == [1, None, 3]


def test_each_counts_as_much_as_it_weighs() -> None:
    held: BoundedCache[str, str] = BoundedCache(10, weigh=len)
    held.put("a", "12345")
    held.put("b", "12345")
    held.put("a", "1")  # what it weighed before is given back
    held.put("c", "1234")
    assert [held.get(key) for key in "abc"] == ["1", "12345", "1234"]
    held.put("d", "1")
    assert [held.get(key) for key in "abcd"] == [None, "12345", "1234", "1"]


def test_the_newest_stays_whatever_it_weighs() -> None:
    held: BoundedCache[str, str] = BoundedCache(3, weigh=len)
    held.put("a", "1")
    held.put("b", "12345")
    assert (held.get("a"), held.get("b")) == (None, "12345")
    held.put("c", "1")
    assert (held.get("b"), held.get("c")) == (None, "1")
