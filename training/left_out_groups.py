"""The hands that are left out together."""

GROUPS = ("hkrw", "imsx", "jnty", "louvz")
