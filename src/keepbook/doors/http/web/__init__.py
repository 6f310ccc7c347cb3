"""The web app: server-rendered pages over the same engine, with small scripts that add and never replace."""
