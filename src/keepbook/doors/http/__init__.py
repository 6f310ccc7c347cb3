"""The HTTP door: the API, MCP and the web pages, in one process."""
