"""The MCP door: a book for any client that speaks the Model Context Protocol.

`server` answers, `stdio` and `asgi` serve it over a pipe and over HTTP, `clients` knows the config files of the
well-known programs. Nothing is imported here: a command that only writes a config needs no server.
"""
