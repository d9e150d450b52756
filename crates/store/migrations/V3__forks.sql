-- A run may begin where another one stood: with that one's events, which are told to nobody twice.

ALTER TABLE workflow_runs ADD COLUMN forked_from TEXT;    -- id of the run it was forked from
ALTER TABLE workflow_runs ADD COLUMN forked_at INTEGER;   -- the last event both have
ALTER TABLE workflow_runs ADD COLUMN inherited_micros INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_runs ADD COLUMN inherited_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_events ADD COLUMN inherited INTEGER NOT NULL DEFAULT 0;
