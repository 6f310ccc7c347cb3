"""SQL, and the only place that knows which engine it is. Rows and columns, not what they mean.

`database` opens and serves transactions, `tables` has every table, `schema` and `migrations` their versions.
"""
