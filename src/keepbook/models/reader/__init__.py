"""The reader: a small trained model that decides which of a person's words are worth keeping.

`ChatReader.read` cuts every user turn of a chat into pieces and labels each in its context; a piece it is sure of is
kept, a likely one proposed, the rest left. There are two readers with one interface (`ChatReader`): the encoder, where
the embedder's packages are installed, and a linear one that needs nothing. Both were trained by `training/` on the
chats there; the weights lie in `weights/`, their checksums in `pins`. `choice.open_reader` gives the better one that
can run here.
"""
