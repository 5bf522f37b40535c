-- Weights that a namespace is tuned to, for the model that they are for, and those that were in force before.
ALTER TABLE namespace ADD COLUMN tuned TEXT;
ALTER TABLE namespace ADD COLUMN tuned_before TEXT;
