"""A book in Telegram: `/memory` for what is known, everything else is talk.

    letter           a message before it is sent: text with marks, cut into pieces that Telegram takes
    replies          the words of each answer
    correspondence   one Telegram chat and its owner's book: commands, turns, threads
    bot              the line to Telegram: who is served, in which order, what is tried again

Only `bot` needs the library of the extra `keepbook[telegram]`.
"""
