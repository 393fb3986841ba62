"""First-party plugin: keeps the record of each run in MLflow (a local SQLite store, a database,
or a server).
"""
