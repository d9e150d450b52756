CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    run TEXT,
    stage TEXT NOT NULL,
    role TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended TEXT,
    problem TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_run ON sessions (run, started_at);

-- How much of what an attempt told was taken in.
CREATE TABLE attempts (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    PRIMARY KEY (session, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    completed_at INTEGER,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

-- Positions count over all three kinds of a turn.
CREATE TABLE turn_messages (
    session TEXT NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    said_by TEXT,
    text TEXT NOT NULL,
    PRIMARY KEY (session, turn, position),
    FOREIGN KEY (session, turn) REFERENCES turns (session, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE turn_thoughts (
    session TEXT NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session, turn, position),
    FOREIGN KEY (session, turn) REFERENCES turns (session, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE turn_tools (
    session TEXT NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    input TEXT NOT NULL,
    output TEXT,
    ok INTEGER,
    millis INTEGER,
    PRIMARY KEY (session, turn, position),
    FOREIGN KEY (session, turn) REFERENCES turns (session, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Talk about a repository, outside any run.
CREATE TABLE channels (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    title TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Asked before anything is done about it; open until there is an answer or a reason why there is none.
CREATE TABLE questions (
    channel TEXT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    text TEXT NOT NULL,
    model TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    answer TEXT,
    problem TEXT,
    answered_at INTEGER,
    cost INTEGER,
    PRIMARY KEY (channel, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX open_questions ON questions (asked_at) WHERE answered_at IS NULL;
