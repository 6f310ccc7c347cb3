"""What several formats share: options by their names, legs of ledgers, the days of brokers of shares."""
