"""The notebook's replies: what a turn did and asked, answers of extensions and from recall. `compose` puts a reply
together."""
