"""How good forecasts were: proper scores, slices, two agents side by side, and the record of what was brought in."""
