"""Pages about the visit itself: signing in, settings, the API as a page."""
