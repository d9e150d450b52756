-- Each event carries two digests: of its run's events up to it, and of the whole log up to it. What is changed, taken out
-- or moved later does not fit what follows. Events of older databases get theirs when this step runs.

ALTER TABLE workflow_events ADD COLUMN run_hash BLOB;   -- SHA-256
ALTER TABLE workflow_events ADD COLUMN log_hash BLOB;   -- SHA-256
