"""The reader: what of a person's words is worth keeping, decided by a small model that has learned it.

`ChatReader.read` cuts every user turn of a chat into pieces and labels each in its context; a piece it is sure of is
kept, a likely one proposed, the rest left. Two readers answer to one contract (`ChatReader`): the encoder, where the
embedder's packages are installed, and a linear one that needs nothing. Both were trained by `training/` on the chats
there; what was learned lies in `weights/`, its checksums in `pins`. `choice.open_reader` gives the better one that can
run here.
"""
