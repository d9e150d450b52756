-- What came in with a client's key, and what goes out to whoever wants to be told. No run depends on any of it.

CREATE TABLE answers (
  caller TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  said TEXT NOT NULL,               -- digest of what was sent along
  began_at INTEGER NOT NULL,
  status INTEGER,                   -- NULL until it is answered
  body TEXT,                        -- NULL where the answer is not for keeping
  PRIMARY KEY (caller, route, key)
) WITHOUT ROWID;
CREATE INDEX answers_age_idx ON answers(began_at);

CREATE TABLE destinations (
  name TEXT NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL         -- how far the feed was read for it
) WITHOUT ROWID;

CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  destination TEXT NOT NULL REFERENCES destinations(name),
  id TEXT NOT NULL,                 -- the same for every try, and for every destination
  event TEXT NOT NULL,
  notice TEXT NOT NULL,             -- JSON
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
  tries INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  problem TEXT,                     -- what went wrong last
  UNIQUE (destination, id)
);
CREATE INDEX deliveries_waiting_idx ON deliveries(destination, due_at) WHERE state = 'waiting';
CREATE INDEX deliveries_ended_idx ON deliveries(destination, ended_at) WHERE state <> 'waiting';
