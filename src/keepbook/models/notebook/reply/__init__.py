"""The notebook's replies: what a turn did and asked, answers from recall, figures of trading. `compose` puts a reply
together."""
