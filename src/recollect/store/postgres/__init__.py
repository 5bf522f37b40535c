"""The Store on PostgreSQL with pgvector, on one server or distributed over many by Citus."""
