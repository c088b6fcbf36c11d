-- What only PostgreSQL says.

-- name: versions_lock
SELECT pg_advisory_xact_lock(hashtextextended('taskstate tasks ' || CAST(:place AS text), 0))

-- name: schema_find
SELECT 1 FROM pg_namespace WHERE nspname = :schema

-- name: versions_table
CREATE TABLE IF NOT EXISTS taskstate_schema_version (version integer PRIMARY KEY, checksum text NOT NULL)

-- name: versions_table_find
SELECT to_regclass(CAST(:table AS text))

-- name: versions
SELECT version, checksum FROM taskstate_schema_version

-- name: version_add
INSERT INTO taskstate_schema_version (version, checksum) VALUES (:version, :checksum)

-- name: claim
WITH wanted AS (
    SELECT name, version, quota
    FROM unnest(CAST(:names AS text[]), CAST(:versions AS integer[]), CAST(:quotas AS integer[]))
        AS w (name, version, quota)),
found AS MATERIALIZED (
    SELECT t.id, t.priority, t.seq FROM wanted w CROSS JOIN LATERAL (
        SELECT id, priority, seq FROM taskstate_task
        WHERE state = 'ready' AND name = w.name AND version = w.version
        ORDER BY priority DESC, seq LIMIT w.quota FOR UPDATE SKIP LOCKED) AS t)
UPDATE taskstate_task SET
    state = 'running', fence = fence + 1, worker = :worker, started_at = {now},
    lease_expires_at = {now} + lease_ms
WHERE id = ANY (ARRAY(SELECT id FROM found ORDER BY priority DESC, seq LIMIT CAST(:limit AS integer)))
RETURNING {claim_columns}

-- name: beats
WITH offered AS (
    SELECT id, fence FROM unnest(CAST(:ids AS text[]), CAST(:fences AS bigint[])) AS o (id, fence)),
held AS (
    SELECT t.id FROM taskstate_task t JOIN offered o ON o.id = t.id
    WHERE t.fence = o.fence AND t.state = 'running' ORDER BY t.id FOR NO KEY UPDATE OF t)
UPDATE taskstate_task SET lease_expires_at = {now} + lease_ms
WHERE id IN (SELECT id FROM held) AND state = 'running'
RETURNING id, fence, cancel_requested_at IS NOT NULL

-- name: finish_well
WITH asked AS (
    SELECT id, fence, result, ending
    FROM unnest(
        CAST(:ids AS text[]), CAST(:fences AS bigint[]), CAST(:results AS text[]), CAST(:endings AS text[]))
        AS a (id, fence, result, ending)),
held AS (
    SELECT t.id FROM taskstate_task t JOIN asked a ON a.id = t.id
    WHERE t.fence = a.fence AND t.state = 'running' AND t.cancel_requested_at IS NULL AND t.subscribed = 0
    ORDER BY t.id FOR NO KEY UPDATE OF t),
done AS (
    UPDATE taskstate_task AS t SET
        state = 'succeeded', events = events + 1, result = a.result, error_code = NULL, error = NULL, worker = NULL,
        lease_expires_at = NULL, available_at = NULL, slot = NULL, finished_at = {now}
    FROM asked a
    WHERE t.id = a.id AND t.id IN (SELECT id FROM held)
    RETURNING t.id, t.fence, t.failures, t.events, t.awaited, t.parent_id, a.ending),
noted AS (
    INSERT INTO taskstate_attempt (task_id, fence, number, worker, started_at, ended_at, outcome, ending)
    SELECT t.id, t.fence, t.failures + 1, t.worker, t.started_at, {now}, 'succeeded', done.ending
    FROM done JOIN taskstate_task t ON t.id = done.id),
to_parent AS (
    INSERT INTO taskstate_delivery (
        task_id, target, target_id, kind, generation, seq, state, available_at, created_at)
    SELECT id, 'parent', parent_id, 'result', 0, events, 'pending', {now}, {now} FROM done WHERE awaited = 1)
SELECT id, awaited FROM done

-- name: checkpoint_put
WITH held AS (
    SELECT id FROM taskstate_task WHERE id = :task_id AND fence = :fence AND state = 'running' FOR NO KEY UPDATE),
added AS (
    INSERT INTO taskstate_checkpoint (task_id, key, ordinal, input_hash, fence, value, created_at)
    SELECT
        id, CAST(:key AS text), CAST(:ordinal AS integer), CAST(:input_hash AS text), CAST(:fence AS bigint),
        CAST(:value AS text), {now}
    FROM held ON CONFLICT DO NOTHING RETURNING 1)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM added)

-- Its planner takes a tree for much larger than it is, and would read whole tables for it: OFFSET 0 has it look up
-- what is below each task on its own.

-- name: subtree_lock
WITH RECURSIVE below (id) AS (
    SELECT id FROM taskstate_task WHERE id = :id
    UNION ALL SELECT t.id FROM below b CROSS JOIN LATERAL (
        SELECT id FROM taskstate_task WHERE parent_id = b.id OFFSET 0) AS t)
SELECT id, state FROM taskstate_task
WHERE id = ANY (ARRAY(SELECT id FROM below)) AND finished_at IS NULL ORDER BY id {lock}

-- name: waits_open_below
WITH RECURSIVE below (id) AS (
    SELECT id FROM taskstate_task WHERE parent_id = :task_id
    UNION ALL SELECT t.id FROM below b CROSS JOIN LATERAL (
        SELECT id FROM taskstate_task WHERE parent_id = b.id OFFSET 0) AS t)
SELECT w.id FROM taskstate_task t CROSS JOIN LATERAL (
    SELECT id, opened_at, key FROM taskstate_wait
    WHERE task_id = t.id AND kind = 'signal' AND outcome IS NULL AND name = :name OFFSET 0) AS w
WHERE t.id = ANY (ARRAY(SELECT id FROM below)) AND t.finished_at IS NULL
ORDER BY w.opened_at, w.key
