-- The statements of PostgresStorage, each under its name. {schema} and {table} are filled in as quoted identifiers.
-- Keys are bytes: one with a NUL, `%` or `_` in it is compared byte by byte, as Python compares a str.

-- name: find_table
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'taskstate_storage'

-- name: find_schema
SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1

-- name: lock_creation
-- Any number for this library alone will do.
SELECT pg_advisory_xact_lock(8245938374611073021)

-- name: create_schema
CREATE SCHEMA {schema}

-- name: create_table
-- An index can't take keys of any length, so a record is found by its digest.
CREATE TABLE {table} (
    key bytea NOT NULL,
    digest bytea GENERATED ALWAYS AS (sha256(key)) STORED PRIMARY KEY,
    value text NOT NULL,
    version text NOT NULL
)

-- name: create_index
CREATE INDEX taskstate_storage_prefix ON {table} (substr(key, 1, 1000))

-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- name: settle
-- Whatever the database's settings are: a commit waits for the disk, and nobody waits for ever for a stalled writer.
SELECT
    set_config('synchronous_commit', CASE setting WHEN 'off' THEN 'on' ELSE setting END, true),
    set_config('lock_timeout', $1, true),
    set_config('idle_in_transaction_session_timeout', $2, true)
FROM current_setting('synchronous_commit') AS setting

-- name: load
SELECT digest, value, version FROM {table} WHERE digest = ANY($1)

-- name: names
SELECT key FROM {table}

-- name: names_from
SELECT key FROM {table}
WHERE substr(key, 1, 1000) >= $1 AND substr(key, 1, 1000) < $2 AND substr(key, 1, length($3)) = $3

-- name: put
INSERT INTO {table} (key, value, version) VALUES ($1, $2, $3)
ON CONFLICT (digest) DO UPDATE SET value = excluded.value, version = excluded.version

-- name: put_new
INSERT INTO {table} (key, value, version) VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING

-- name: put_over
UPDATE {table} SET value = $2, version = $3 WHERE digest = sha256($1) AND version = $4

-- name: drop
DELETE FROM {table} WHERE digest = sha256($1)

-- name: drop_at
DELETE FROM {table} WHERE digest = sha256($1) AND version = $2

-- name: absent
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE digest = sha256($1))
