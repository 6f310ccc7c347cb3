"""What every page is made with: the visit, the sidebar around it, files, times, charts, marked changes."""
