"""Writes the table of signs that cannot be seen, `book/text/for_models/unseen_table.py`, from Unicode's own lists.

Python knows which characters are of the category Cf, and another Python other ones; it does not know which are
default-ignorable, which are pictures, and which take a variation selector. So the lists stand here, as Unicode 17 has
them, and the table is the same on every machine: the bytes of a block depend on it.
"""

from pathlib import Path

TABLE = Path(__file__).parent.parent / "src" / "keepbook" / "book" / "text" / "for_models" / "unseen_table.py"

IGNORABLE = """
00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8
1BCA0-1BCA3 1D173-1D17A E0000-E0FFF
"""  # DerivedCoreProperties.txt, Default_Ignorable_Code_Point
FORMAT = """
00AD 0600-0605 061C 06DD 070F 0890-0891 08E2 180E 200B-200F 202A-202E 2060-2064 2066-206F FEFF FFF9-FFFB 110BD 110CD
13430-1343F 1BCA0-1BCA3 1D173-1D17A E0001 E0020-E007F
"""  # DerivedGeneralCategory.txt, Cf
BLANK = "2800 3164 FFA0"
"""Drawn as nothing, though two of them count as letters and one as a symbol."""

TAKES_SELECTOR = """
0023 002A 0030-0039 00A9 00AE 203C 2049 2122 2139 2194-2199 21A9-21AA 2328 23CF 23ED-23EF 23F1-23F2 23F8-23FA 24C2
25AA-25AB 25B6 25C0 25FB-25FC 2600-2604 260E 2611 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642
265F-2660 2663 2665-2666 2668 267B 267E 2692 2694-2697 2699 269B-269C 26A0 26A7 26B0-26B1 26C8 26CF 26D1 26D3 26E9
26F0-26F1 26F4 26F7-26F9 2702 2708-2709 270C-270D 270F 2712 2714 2716 271D 2721 2733-2734 2744 2747 2763-2764 27A1
2934-2935 2B05-2B07 3030 303D 3297 3299 1F170-1F171 1F17E-1F17F 1F202 1F237 1F321 1F324-1F32C 1F336 1F37D 1F396-1F397
1F399-1F39B 1F39E-1F39F 1F3CB-1F3CE 1F3D4-1F3DF 1F3F3 1F3F5 1F3F7 1F43F 1F441 1F4FD 1F549-1F54A 1F56F-1F570
1F573-1F579 1F587 1F58A-1F58D 1F590 1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3
1F5E8 1F5EF 1F5F3 1F5FA 1F6CB 1F6CD-1F6CF 1F6E0-1F6E5 1F6E9 1F6F0 1F6F3
"""  # emoji-data.txt: Emoji without Emoji_Presentation, which are pictures only by their selector
PICTURES = """
00A9 00AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0
25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 2648-2653
265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE
26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712 2714 2716
271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07
2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F0CF 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F202 1F21A 1F22F
1F232-1F23A 1F250-1F251 1F300-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F4FD
1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8
1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5
1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF 1F7DC-1F7F0 1F90C-1F93A 1F93C-1F945 1F947-1F9FF 1FA6E-1FAFF
"""  # emoji-data.txt, Extended_Pictographic as far as it has or may get emoji, and the skin tones 1F3FB-1F3FF
JOINING = """
0610-061A 0620-063F 0641-064A 0656-065F 066E-066F 0671-06D3 06D5-06DC 06DF-06E8 06EA-06EF 06FA-06FC 06FF 0710-074A
074D-077F 07CA-07F5 07FA 07FD 0840-085B 0860-086A 0870-0887 0889-088F 0897-08E1 08E3-0950 0955-0963 0971-0983 0985-098C
098F-0990 0993-09A8 09AA-09B0 09B2 09B6-09B9 09BC-09C4 09C7-09C8 09CB-09CE 09D7 09DC-09DD 09DF-09E3 09F0-09F1 09FC 09FE
0A01-0A03 0A05-0A0A 0A0F-0A10 0A13-0A28 0A2A-0A30 0A32-0A33 0A35-0A36 0A38-0A39 0A3C 0A3E-0A42 0A47-0A48 0A4B-0A4D 0A51
0A59-0A5C 0A5E 0A70-0A75 0A81-0A83 0A85-0A8D 0A8F-0A91 0A93-0AA8 0AAA-0AB0 0AB2-0AB3 0AB5-0AB9 0ABC-0AC5 0AC7-0AC9
0ACB-0ACD 0AD0 0AE0-0AE3 0AF9-0AFF 0B01-0B03 0B05-0B0C 0B0F-0B10 0B13-0B28 0B2A-0B30 0B32-0B33 0B35-0B39 0B3C-0B44
0B47-0B48 0B4B-0B4D 0B53-0B57 0B5C-0B5D 0B5F-0B63 0B71 0B82-0B83 0B85-0B8A 0B8E-0B90 0B92-0B95 0B99-0B9A 0B9C 0B9E-0B9F
0BA3-0BA4 0BA8-0BAA 0BAE-0BB9 0BBE-0BC2 0BC6-0BC8 0BCA-0BCD 0BD0 0BD7 0C00-0C0C 0C0E-0C10 0C12-0C28 0C2A-0C39 0C3C-0C44
0C46-0C48 0C4A-0C4D 0C55-0C56 0C58-0C5A 0C5C-0C5D 0C60-0C63 0C80-0C83 0C85-0C8C 0C8E-0C90 0C92-0CA8 0CAA-0CB3 0CB5-0CB9
0CBC-0CC4 0CC6-0CC8 0CCA-0CCD 0CD5-0CD6 0CDC-0CDE 0CE0-0CE3 0CF1-0CF3 0D00-0D0C 0D0E-0D10 0D12-0D44 0D46-0D48 0D4A-0D4E
0D54-0D57 0D5F-0D63 0D7A-0D7F 0D81-0D83 0D85-0D96 0D9A-0DB1 0DB3-0DBB 0DBD 0DC0-0DC6 0DCA 0DCF-0DD4 0DD6 0DD8-0DDF
0DF2-0DF3 0F00 0F18-0F19 0F35 0F37 0F39 0F3E-0F47 0F49-0F6C 0F71-0F84 0F86-0F97 0F99-0FBC 0FC6 1000-103F 1050-108F
109A-109D 1780-17B3 17B6-17D3 17D7 17DC-17DD 1820-1878 1880-18AA 1B00-1B4C 1B6B-1B73 A840-A873 A8E0-A8F7 A8FB A8FD-A8FF
A980-A9C0 A9E0-A9EF A9FA-A9FE AA60-AA76 AA7A-AA7F FB50-FBB1 FBD3-FD3D FD50-FD8F FD92-FDC7 FDF0-FDFB FE70-FE74 FE76-FEFC
1E900-1E94B
"""  # Scripts.txt: letters and marks of the scripts whose letters join, Arabic to Javanese
MONGOLIAN = "1820-1878 1880-18AA"
"""They take a selector of their own, for the form of a letter."""

HEAD = '''\
"""Signs that cannot be seen, and those around which some of them are needed. Written by `scripts/unseen.py`.

Each is the inside of a character class. See `unseen.py`.
"""

'''


def code_points(ranges: str) -> set[int]:
    found: set[int] = set()
    for one in ranges.split():
        first, _, last = one.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


def character_class(points: set[int]) -> str:
    """The inside of a character class, with every sign escaped."""
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs and runs[-1][1] == point - 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(escaped(first) if first == last else f"{escaped(first)}-{escaped(last)}" for first, last in runs)


def escaped(point: int) -> str:
    return f"\\U{point:08x}" if point > 0xFFFF else f"\\u{point:04x}"


def constant(name: str, inside: str) -> str:
    """An assignment in lines that are short enough, each of whole signs."""
    lines, room = [""], 108
    for piece in inside.replace("\\", " \\").split():
        if len(lines[-1]) + len(piece) > room:
            lines.append("")
        lines[-1] += piece
    if len(lines) == 1:
        return f'{name} = r"{lines[0]}"\n'
    return f"{name} = (\n" + "".join(f'    r"{line}"\n' for line in lines) + ")\n"


def made() -> str:
    tables = {
        "UNSEEN": code_points(IGNORABLE) | code_points(FORMAT) | code_points(BLANK),
        "TAKES_SELECTOR": code_points(TAKES_SELECTOR),
        "PICTURES": code_points(PICTURES),
        "JOINING": code_points(JOINING),
        "MONGOLIAN": code_points(MONGOLIAN),
    }
    return HEAD + "".join(constant(name, character_class(points)) for name, points in tables.items())


if __name__ == "__main__":
    TABLE.write_text(made(), encoding="utf-8")
    print(f"{TABLE.name} written")
