"""SQL, and the only package that knows which engine runs it. It knows rows and columns, not what they mean.

`database` opens a database and its transactions, `tables` has every table, `schema` and `migrations` their versions.
"""
