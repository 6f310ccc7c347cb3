"""What a record of forecasts supports, and how surely."""
