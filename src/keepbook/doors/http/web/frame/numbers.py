"""Numbers as pages write them."""


def plain_number(value: float) -> str:
    """`3,412`, `0.66`, `−1.5`: what the digits say and no more."""
    text = f"{abs(value):,.8f}".rstrip("0").rstrip(".")
    if value < 0 and text != "0":
        return f"−{text}"
    return text
