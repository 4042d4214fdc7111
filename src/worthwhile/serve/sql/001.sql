-- Amounts are whole quanta (1e-9 units). Times are UTC, ISO 8601. Events are only appended.
-- "{blob}" is the database's own word for bytes.
CREATE TABLE models (
    name        TEXT NOT NULL,
    version     TEXT NOT NULL,          -- first 12 hex digits of the SHA-256 of the file
    sha256      TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    content     {blob} NOT NULL,        -- the file itself: cases stay with the model they began with
    added       TEXT NOT NULL,
    PRIMARY KEY (name, version)
);
CREATE TABLE api_keys (
    id       TEXT PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    hash     TEXT NOT NULL UNIQUE,      -- SHA-256 of the key
    prefix   TEXT NOT NULL,
    manager  INTEGER NOT NULL,          -- may see the spend of all keys
    budget   BIGINT,                    -- null: no limit
    spent    BIGINT NOT NULL,
    reserved BIGINT NOT NULL,           -- what open cases may still spend
    created  TEXT NOT NULL,
    revoked  TEXT
);
CREATE TABLE cases (
    id       TEXT PRIMARY KEY,
    owner    TEXT NOT NULL,             -- id of the API key; '' without keys
    label    TEXT NOT NULL,             -- what people call the case
    model    TEXT NOT NULL,
    version  TEXT NOT NULL,
    options  TEXT NOT NULL,             -- JSON: budget, prices, key, one_by_one
    seq      BIGINT NOT NULL,
    spent    BIGINT NOT NULL,
    reserved BIGINT NOT NULL,
    state    TEXT NOT NULL,             -- open, done, stopped
    truth    TEXT,                      -- JSON, once it is known
    opened   TEXT NOT NULL,
    changed  TEXT NOT NULL,
    FOREIGN KEY (model, version) REFERENCES models (name, version)
);
CREATE INDEX cases_by_owner ON cases (owner, state, changed);
CREATE INDEX cases_by_model ON cases (model, version, state);
CREATE TABLE events (
    case_id TEXT NOT NULL REFERENCES cases (id),
    seq     BIGINT NOT NULL,            -- the number that the answer carries
    owner   TEXT NOT NULL,
    key     TEXT,                       -- idempotency key
    hash    TEXT NOT NULL,              -- SHA-256 of the request
    calls   TEXT,                       -- the session's own events, JSON; null once anonymised
    answer  TEXT,                       -- the answer as it was given, JSON; null once anonymised
    amount  BIGINT NOT NULL,            -- what this step cost
    at      TEXT NOT NULL,
    PRIMARY KEY (case_id, seq),
    UNIQUE (case_id, key)
);
CREATE TABLE openings (
    owner   TEXT NOT NULL,
    key     TEXT NOT NULL,
    case_id TEXT NOT NULL REFERENCES cases (id),
    PRIMARY KEY (owner, key)
);
CREATE TABLE purchases (
    case_id TEXT NOT NULL REFERENCES cases (id),
    seq     BIGINT NOT NULL,
    place   BIGINT NOT NULL,            -- line of the ledger
    owner   TEXT NOT NULL,
    model   TEXT NOT NULL,
    feature TEXT NOT NULL,              -- '' for evaluations
    kind    TEXT NOT NULL,
    amount  BIGINT NOT NULL,
    day     TEXT NOT NULL,
    PRIMARY KEY (case_id, place)
);
CREATE INDEX purchases_by_day ON purchases (day, owner);
CREATE TABLE sign_ins (
    hash    TEXT PRIMARY KEY,           -- SHA-256 of the cookie
    owner   TEXT NOT NULL,
    csrf    TEXT NOT NULL,
    expires TEXT NOT NULL
);
CREATE TABLE audit (
    at      TEXT NOT NULL,
    owner   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    details TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
