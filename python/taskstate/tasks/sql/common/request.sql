-- Requests: conversations, new tasks, single flight, signals.

-- name: conversation_add
INSERT INTO taskstate_conversation (id, owner, generation) VALUES (:id, :owner, :generation)
ON CONFLICT (id) DO NOTHING

-- name: conversation_lock
SELECT owner, generation FROM taskstate_conversation WHERE id = :id {lock}

-- name: conversation_find
SELECT owner, generation FROM taskstate_conversation WHERE id = :id

-- name: conversation_advance
UPDATE taskstate_conversation SET generation = :generation WHERE id = :id

-- name: task_add
INSERT INTO taskstate_task (
    id, name, version, mode, state, priority, available_at, max_attempts, lease_ms, parent_id, parent_key,
    parent_ordinal, awaited, slot, root_id, owner, conversation_id, generation, subscribed, single_flight,
    input, input_hash, result_limit, traceparent, created_at, finished_at)
VALUES (
    :id, :name, :version, :mode, :state, :priority,
    CASE WHEN CAST(:delay_ms AS bigint) IS NULL THEN NULL ELSE {now} + CAST(:delay_ms AS bigint) END,
    :max_attempts, :lease_ms, :parent_id, :parent_key, :parent_ordinal, :awaited, :slot, :root_id, :owner,
    :conversation_id, :generation, :subscribed, :single_flight, :input, :input_hash, :result_limit, :traceparent,
    {now}, CASE WHEN CAST(:state AS text) = 'cancelled' THEN {now} END)
ON CONFLICT DO NOTHING

-- name: task_same
SELECT name, owner, input_hash FROM taskstate_task WHERE id = :id

-- name: flight_find
SELECT id, input_hash FROM taskstate_task
WHERE owner = :owner AND name = :name AND single_flight = :single_flight
    AND finished_at IS NULL AND cancel_requested_at IS NULL
{lock}

-- name: task_subscribed
UPDATE taskstate_task SET subscribed = 1 WHERE id = :id

-- name: subscription_add
INSERT INTO taskstate_subscription (task_id, conversation_id, generation)
VALUES (:task_id, :conversation_id, :generation)
ON CONFLICT DO NOTHING

-- name: task_lock
SELECT state, resume_reason, owner FROM taskstate_task WHERE id = :id {lock}

-- name: signal_seen
SELECT wait_id FROM taskstate_signal WHERE task_id = :task_id AND id = :id

-- name: signal_add
INSERT INTO taskstate_signal (task_id, id, name, payload, created_at, wait_id)
VALUES (:task_id, :id, :name, :payload, {now}, :wait_id)

-- name: signal_kept
SELECT id, payload FROM taskstate_signal
WHERE task_id = :task_id AND name = :name AND wait_id IS NULL
ORDER BY seq LIMIT 1

-- name: signal_taken
UPDATE taskstate_signal SET wait_id = :wait_id WHERE task_id = :task_id AND id = :id

-- name: waits_open_signal
SELECT id, name FROM taskstate_wait
WHERE task_id = :task_id AND kind = 'signal' AND outcome IS NULL
ORDER BY opened_at, key

-- name: waits_open_below
WITH RECURSIVE below (id) AS (
    SELECT id FROM taskstate_task WHERE parent_id = :task_id
    UNION ALL SELECT t.id FROM taskstate_task t JOIN below b ON t.parent_id = b.id)
SELECT w.id FROM below b
JOIN taskstate_task t ON t.id = b.id
JOIN taskstate_wait w ON w.task_id = b.id
WHERE t.finished_at IS NULL AND w.kind = 'signal' AND w.outcome IS NULL AND w.name = :name
ORDER BY w.opened_at, w.key

-- name: wait_end
UPDATE taskstate_wait SET outcome = :outcome, value = :value, ended_at = {now}
WHERE id = :id AND outcome IS NULL RETURNING awaited

-- name: task_wake
UPDATE taskstate_task SET state = 'ready', fence = fence + 1, available_at = NULL
WHERE id = :id AND state = 'suspended'
