-- Work in the name of a lease.

-- name: claim_find
SELECT id, priority, seq FROM taskstate_task
WHERE state = 'ready' AND name = :name AND version = :version
ORDER BY priority DESC, seq LIMIT :limit

-- name: claim_take
UPDATE taskstate_task SET
    state = 'running', fence = fence + 1, worker = :worker, started_at = {now},
    lease_expires_at = {now} + lease_ms
WHERE id {in:ids} AND state = 'ready'
RETURNING {claim_columns}

-- name: lease_lock
SELECT {lease_columns} FROM taskstate_task WHERE id = :id AND fence = :fence AND state = 'running' {lock}

-- name: lease_look
SELECT cancel_requested_at FROM taskstate_task WHERE id = :id AND fence = :fence AND state = 'running'

-- name: lease_why
SELECT state, cancel_requested_at FROM taskstate_task WHERE id = :id

-- name: beat
UPDATE taskstate_task SET lease_expires_at = {now} + lease_ms
WHERE id = :id AND fence = :fence AND state = 'running'
RETURNING cancel_requested_at

-- name: checkpoints
SELECT key, ordinal, input_hash, value FROM taskstate_checkpoint WHERE task_id = :task_id ORDER BY ordinal, key

-- name: checkpoint_find
SELECT key, ordinal, input_hash, value FROM taskstate_checkpoint WHERE task_id = :task_id AND key = :key

-- name: checkpoint_add
INSERT INTO taskstate_checkpoint (task_id, key, ordinal, input_hash, fence, value, created_at)
VALUES (:task_id, :key, :ordinal, :input_hash, :fence, :value, {now})
ON CONFLICT DO NOTHING

-- name: waits
SELECT {wait_columns} FROM taskstate_wait WHERE task_id = :task_id ORDER BY opened_at, key

-- name: waits_at
SELECT {wait_columns} FROM taskstate_wait WHERE task_id = :task_id AND key {in:keys} ORDER BY opened_at, key

-- name: wait_add
INSERT INTO taskstate_wait (id, task_id, key, kind, name, places, opened_at, due_at)
VALUES (:id, :task_id, :key, :kind, :name, :places, {now}, {now} + CAST(:timeout_ms AS bigint))
ON CONFLICT (task_id, key) DO NOTHING

-- name: waits_time_out
UPDATE taskstate_wait SET
    outcome = CASE kind WHEN 'sleep' THEN 'elapsed' ELSE 'timeout' END, ended_at = {now}
WHERE task_id = :task_id AND outcome IS NULL AND due_at <= {now}

-- name: waits_await
UPDATE taskstate_wait SET awaited = CASE WHEN key {in:keys} THEN 1 ELSE 0 END WHERE task_id = :task_id AND outcome IS NULL

-- name: task_suspend
UPDATE taskstate_task SET
    state = 'suspended', fence = fence + 1, suspend_epoch = suspend_epoch + 1, worker = NULL,
    lease_expires_at = NULL, resume_reason = :reason, spent_ms = spent_ms + ({now} - started_at),
    available_at = (
        SELECT min(due_at) FROM taskstate_wait WHERE task_id = :id AND outcome IS NULL AND awaited = 1)
WHERE id = :id

-- name: attempt_add
INSERT INTO taskstate_attempt (
    task_id, fence, number, worker, started_at, ended_at, outcome, error_code, in_flight, ending,
    late_kind, late_code, late_result, late_at)
SELECT
    id, fence, failures + 1, worker, started_at, {now}, CAST(:outcome AS text), CAST(:code AS text),
    CAST(:in_flight AS text), CAST(:ending AS text), CAST(:late_kind AS text), CAST(:late_code AS text),
    CAST(:late_result AS text), CASE WHEN CAST(:late_kind AS text) IS NOT NULL THEN {now} END
FROM taskstate_task WHERE id {in:ids} AND state = 'running'

-- name: attempt_find
SELECT outcome, ending, late_kind FROM taskstate_attempt WHERE task_id = :task_id AND fence = :fence

-- name: attempt_late
UPDATE taskstate_attempt SET
    late_kind = :late_kind, late_code = :late_code, late_result = :late_result, late_at = {now}
WHERE task_id = :task_id AND fence = :fence AND late_kind IS NULL AND (ending IS NULL OR outcome <> 'succeeded')

-- name: children
SELECT id, parent_ordinal, name, state, result, error_code, error FROM taskstate_task
WHERE parent_id = :parent_id AND parent_key = :parent_key ORDER BY parent_ordinal

-- name: progress_find
SELECT seq FROM taskstate_progress WHERE task_id = :task_id AND key = :key

-- name: progress_add
INSERT INTO taskstate_progress (task_id, seq, key, value, created_at) VALUES (:task_id, :seq, :key, :value, {now})

-- name: events_next
UPDATE taskstate_task SET events = events + 1 WHERE id = :id RETURNING events
