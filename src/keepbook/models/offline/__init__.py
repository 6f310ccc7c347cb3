"""The offline model: deterministic, no key, no network, honest about what it is.

As an extractor it reads first-person statements by rules of grammar and word classes
(who speaks, is it lasting, is it meant), never by look-ups of known sentences.
"""
