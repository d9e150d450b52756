-- A run waits in its user's queue until it is let in.

ALTER TABLE workflow_runs ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
ALTER TABLE workflow_runs ADD COLUMN parent TEXT;    -- id of the run whose task it works on

-- completed_at is written only when a run ends, so a run costs the first index two writes in its life. The two columns
-- that are always NULL in it spare the look at the rows themselves.
CREATE INDEX workflow_runs_open_idx ON workflow_runs(user_id, completed_at, parent)
  WHERE completed_at IS NULL AND parent IS NULL;
CREATE INDEX workflow_runs_waiting_idx ON workflow_runs(user_id, status)
  WHERE status IN ('awaiting_approval', 'awaiting_clarification', 'paused', 'stuck');

-- A third weight, 2: the entry of a root run. Only such effects have a user and a turn, their place in the queue.
ALTER TABLE outbox ADD COLUMN user_id TEXT;
ALTER TABLE outbox ADD COLUMN turn INTEGER;
UPDATE outbox SET weight = 2, turn = requested_at,
  user_id = (SELECT user_id FROM workflow_runs WHERE workflow_runs.number = outbox.run)
  WHERE effect = '{"do":"open_branch"}';
UPDATE workflow_runs SET status = 'queued' WHERE number IN (SELECT run FROM outbox WHERE weight = 2);
CREATE INDEX outbox_entry_idx ON outbox(user_id, turn, id, leased_until) WHERE weight = 2;
