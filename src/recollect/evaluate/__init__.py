"""How good, how fast? The measures behind `recollect eval`, `recollect tune` and `recollect bench`.

Quality: `reading` makes an `EvalSet` of files, `filling` puts its documents into a store, `running` asks its
questions, `metrics` says how good the rankings are, `report` and `page` show it; `probes` and `exchanges`
make questions of memories that nobody has labelled, and `tuning` proposes weights from them. Speed: `bench`
times stores by turns, with the `texts` and `vectors`.
"""
