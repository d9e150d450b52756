-- Times are whole milliseconds since 1970. Facts are in workflow_events; every other table can be told from them,
-- except outbox leases, commands and settings.
--
-- Ids of runs are random. Tables on the hot path are therefore keyed by the run's number, which rises: runs that are
-- active at the same time lie on neighbouring pages, and a group commit writes few of them.

CREATE TABLE workflow_runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  short_id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  status TEXT NOT NULL,
  current_stage TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  started_at INTEGER,
  paused_at INTEGER,
  resumed_at INTEGER,
  completed_at INTEGER,
  clarification_count INTEGER NOT NULL DEFAULT 0,
  playbook TEXT NOT NULL,
  branch TEXT NOT NULL,
  base_branch TEXT NOT NULL,
  commit_id TEXT,
  hold TEXT,                   -- JSON
  artifacts TEXT NOT NULL,     -- JSON
  cost_micros INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  tier TEXT,
  failure TEXT,
  config TEXT NOT NULL,        -- JSON
  original_request TEXT NOT NULL
);
CREATE INDEX workflow_runs_project_id_idx ON workflow_runs(project_id);

-- form is the version of the payload's encoding; an older one is read through the upcaster.
CREATE TABLE workflow_events (
  position INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES workflow_runs(number),
  workflow_run_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  type TEXT NOT NULL,
  payload TEXT NOT NULL,       -- JSON
  timestamp INTEGER NOT NULL,
  form INTEGER NOT NULL,
  UNIQUE (run, sequence)
);

CREATE TABLE clarification_requests (
  id TEXT NOT NULL PRIMARY KEY,
  workflow_run_id TEXT NOT NULL REFERENCES workflow_runs(id),
  stage TEXT NOT NULL,
  question TEXT NOT NULL,
  context TEXT NOT NULL,
  options TEXT,                -- JSON array
  response_type TEXT NOT NULL,
  status TEXT NOT NULL,        -- pending, answered, ignored, cancelled
  response TEXT,               -- JSON array
  answered_by TEXT,
  answered_at INTEGER,
  attempt_number INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX clarification_requests_workflow_run_id_idx ON clarification_requests(workflow_run_id);

CREATE TABLE artifacts (
  run INTEGER NOT NULL REFERENCES workflow_runs(number),
  workflow_run_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,   -- of the event that tells of it
  kind TEXT NOT NULL,
  stage TEXT NOT NULL,
  version INTEGER NOT NULL,
  path TEXT,
  commit_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run, sequence)
) WITHOUT ROWID;

CREATE TABLE spend (
  workflow_run_id TEXT NOT NULL REFERENCES workflow_runs(id),
  effect INTEGER NOT NULL,
  call INTEGER NOT NULL,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_micros INTEGER,         -- NULL: the price is not known
  timestamp INTEGER NOT NULL,
  PRIMARY KEY (workflow_run_id, effect, call)
) WITHOUT ROWID;

-- A row is in one of the two partial indexes at a time, so an effect that is leased from the start costs one entry.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES workflow_runs(number),
  workflow_run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  effect TEXT NOT NULL,        -- JSON
  weight INTEGER NOT NULL,     -- 0 light, 1 heavy
  requested_at INTEGER NOT NULL,
  leased_by TEXT,
  leased_until INTEGER,
  epoch INTEGER NOT NULL,
  UNIQUE (run, number)
);
CREATE INDEX outbox_free_idx ON outbox(weight, requested_at) WHERE leased_by IS NULL;
CREATE INDEX outbox_leased_idx ON outbox(leased_until) WHERE leased_by IS NOT NULL;

CREATE TABLE timers (
  run INTEGER NOT NULL PRIMARY KEY REFERENCES workflow_runs(number),
  workflow_run_id TEXT NOT NULL,
  timer INTEGER NOT NULL,
  kind TEXT NOT NULL,
  due INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX timers_due_idx ON timers(due);

CREATE TABLE commands (
  key TEXT NOT NULL PRIMARY KEY,
  workflow_run_id TEXT NOT NULL REFERENCES workflow_runs(id),
  version INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE settings (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
