"""What every room needs: instants, ids, limits, due work, leases, stored answers, the JSON form, an open book."""
