-- What only SQLite says.

-- name: versions_table
CREATE TABLE IF NOT EXISTS taskstate_schema_version (version integer PRIMARY KEY, checksum text NOT NULL)

-- name: versions_table_find
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'taskstate_schema_version'

-- name: versions
SELECT version, checksum FROM taskstate_schema_version

-- name: version_add
INSERT INTO taskstate_schema_version (version, checksum) VALUES (:version, :checksum)
