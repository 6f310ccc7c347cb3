"""The geometry of an agent's charts."""

from keepbook.extensions.agents.pages.charts import HEAD, LEFT, SQUARE, reliability


def test_a_point_as_stated_lies_on_the_diagonal_of_a_square() -> None:
    plot = reliability([(0, 0.0, (0.0, 0.3), 1), (50, 0.5, (0.2, 0.8), 9), (100, 1.0, (0.7, 1.0), 400)])
    for point in plot.points:
        assert point.x - LEFT == HEAD + SQUARE - point.y
        assert HEAD <= point.top <= point.y <= point.bottom <= HEAD + SQUARE
    first, middle, last = plot.points
    assert first.radius < middle.radius < last.radius <= 14
    assert plot.path == f"M{first.x:g} {first.y:g}L{middle.x:g} {middle.y:g}L{last.x:g} {last.y:g}"
    assert [level for *_, level in plot.marks] == [0, 25, 50, 75, 100]


def test_more_that_came_right_lies_higher() -> None:
    low, high = reliability([(60, 0.4, (0.2, 0.6), 5), (60, 0.7, (0.5, 0.9), 5)]).points
    assert high.y < low.y
    assert high.x == low.x


def test_the_words_on_the_diagonal_keep_clear_of_bars_and_of_the_line() -> None:
    groups = [(13, 0.17, (0.03, 0.56), 6), (32, 0.17, (0.03, 0.56), 6), (72, 0.71, (0.36, 0.92), 7)]
    plot = reliability([*groups, (85, 0.5, (0.19, 0.81), 6)])
    right, base = plot.label
    for point in plot.points:
        beside = not right - 55 <= point.x <= right
        assert beside or point.top > base or point.bottom < base - 12, "no bar goes through them"
    assert reliability([]).label == (106.0, 221.0)
