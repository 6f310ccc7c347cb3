"""What every room stands on: instants, ids, limits, due work, leases, kept answers, the JSON shape, an opened book."""
