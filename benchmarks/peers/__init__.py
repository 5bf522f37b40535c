"""Recollect beside its peers, on the same texts, vectors and questions: see README.md in this folder."""
