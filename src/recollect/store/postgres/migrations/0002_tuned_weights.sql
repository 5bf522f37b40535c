-- Weights that a namespace is tuned to, for the model that they are for, and those that were in force before.
ALTER TABLE recollect.namespace ADD COLUMN tuned text;
ALTER TABLE recollect.namespace ADD COLUMN tuned_before text;
