"""The same book on a server elsewhere: what each method asks there, and how an answer becomes the value again.

What a method does is written once, as steps that give a request and take an answer; one connection carries them,
waiting or awaiting.
"""
