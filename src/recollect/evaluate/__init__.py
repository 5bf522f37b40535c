"""How good are the answers? Labelled sets and probes of one's own memories, measured and reported.

`reading` makes an `EvalSet` of files, `filling` puts its documents into a store, `running` asks its
questions, `metrics` says how good the rankings are, `report` and `page` show it; `probes` makes questions
of memories that nobody has labelled.
"""
