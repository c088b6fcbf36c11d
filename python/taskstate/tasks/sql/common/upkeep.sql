-- Deliveries, and what is due.

-- name: pending_targets
SELECT target, target_id FROM (
    SELECT id, target, target_id FROM taskstate_delivery
    WHERE state = 'pending' AND available_at <= {now} ORDER BY available_at, id LIMIT :limit) AS d
GROUP BY target, target_id ORDER BY min(id)

-- name: pending_due
SELECT min(available_at) - {now} FROM taskstate_delivery WHERE state = 'pending'

-- name: pending_of
SELECT d.id, d.task_id, d.kind, d.generation, d.seq, t.parent_key, t.state
FROM taskstate_delivery d JOIN taskstate_task t ON t.id = d.task_id
WHERE d.state = 'pending' AND d.target = :target AND d.target_id = :target_id ORDER BY d.id LIMIT :limit

-- name: delivery_settle
UPDATE taskstate_delivery SET state = :state, reason = :reason, attempts = attempts + 1 WHERE id {inint:ids}

-- name: delivery_postpone
UPDATE taskstate_delivery SET
    attempts = attempts + 1, reason = :reason, available_at = {now} + CAST(:delay_ms AS bigint),
    state = CASE WHEN attempts + 1 >= CAST(:most AS integer) THEN 'dead' ELSE state END
WHERE state = 'pending' AND target = :target AND target_id = :target_id

-- name: parent_lock
SELECT state FROM taskstate_task WHERE id = :id {lock}

-- name: target_there
SELECT 1 FROM taskstate_task WHERE id = :id

-- name: waits_children
SELECT w.id, w.key, w.places, w.outcome IS NULL FROM taskstate_wait w
WHERE w.task_id = :task_id AND w.kind = 'children' AND w.key {in:keys}

-- name: children_left
SELECT count(*) FROM taskstate_task WHERE parent_id = :parent_id AND parent_key = :parent_key AND finished_at IS NULL

-- name: slots_held
SELECT slot FROM taskstate_task WHERE parent_id = :parent_id AND parent_key = :parent_key AND slot IS NOT NULL

-- name: slots_wanted
SELECT id FROM taskstate_task
WHERE parent_id = :parent_id AND parent_key = :parent_key AND state = 'scheduled' AND available_at IS NULL
ORDER BY parent_ordinal LIMIT :limit {lock}

-- name: slot_give
UPDATE taskstate_task SET slot = :slot, state = 'ready' WHERE id = :id AND state = 'scheduled'

-- name: conversation_take
SELECT owner, generation, inbox_seq FROM taskstate_conversation WHERE id = :id {lock}

-- name: inbox_add
INSERT INTO taskstate_inbox (conversation_id, delivery_id, seq) VALUES (:conversation_id, :delivery_id, :seq)
ON CONFLICT DO NOTHING

-- name: inbox_count
UPDATE taskstate_conversation SET inbox_seq = :inbox_seq WHERE id = :id

-- name: due_scheduled
SELECT id FROM taskstate_task WHERE state = 'scheduled' AND available_at <= {now}
ORDER BY available_at LIMIT :limit {skip}

-- name: task_promote
UPDATE taskstate_task SET state = 'ready', available_at = NULL WHERE id {in:ids}

-- name: due_waiting
SELECT id FROM taskstate_task WHERE state = 'suspended' AND available_at <= {now}
ORDER BY available_at LIMIT :limit {skip}

-- name: due_leases
SELECT id, failures + 1 >= max_attempts, cancel_requested_at IS NOT NULL FROM taskstate_task
WHERE state = 'running' AND lease_expires_at <= {now}
ORDER BY lease_expires_at LIMIT :limit {skip}

-- name: due_cancels
SELECT id FROM taskstate_task WHERE state = 'running' AND cancel_due_at IS NOT NULL AND cancel_due_at <= {now}
ORDER BY cancel_due_at LIMIT :limit {skip}

-- name: next_due
SELECT min(due) - {now} FROM (
    SELECT min(available_at) AS due FROM taskstate_task WHERE state = 'scheduled' AND available_at IS NOT NULL
    UNION ALL SELECT min(available_at) FROM taskstate_task WHERE state = 'suspended' AND available_at IS NOT NULL
    UNION ALL SELECT min(lease_expires_at) FROM taskstate_task WHERE state = 'running'
    UNION ALL SELECT min(cancel_due_at) FROM taskstate_task WHERE state = 'running' AND cancel_due_at IS NOT NULL) AS d

-- name: inbox_take
UPDATE taskstate_inbox SET offered_until = {now} + CAST(:offer_ms AS bigint)
WHERE conversation_id = :conversation_id AND acked_at IS NULL AND delivery_id IN (
    SELECT i.delivery_id FROM taskstate_inbox i JOIN taskstate_delivery d ON d.id = i.delivery_id
    WHERE i.conversation_id = :conversation_id AND i.acked_at IS NULL AND d.generation = :generation
        AND (i.offered_until IS NULL OR i.offered_until <= {now})
    ORDER BY i.seq LIMIT :limit)
RETURNING delivery_id, seq

-- name: inbox_events
SELECT
    d.id, d.generation, d.task_id, t.name, d.kind, d.seq, d.task_state,
    CASE WHEN d.kind = 'progress' THEN p.value WHEN d.task_state = 'succeeded' THEN t.result END,
    CASE WHEN d.kind = 'result' THEN d.code END, d.created_at
FROM taskstate_delivery d
JOIN taskstate_task t ON t.id = d.task_id
LEFT JOIN taskstate_progress p ON p.task_id = d.task_id AND p.seq = d.seq
WHERE d.id {inint:ids}

-- name: inbox_ack
UPDATE taskstate_inbox SET acked_at = {now}
WHERE conversation_id = :conversation_id AND delivery_id {inint:ids} AND acked_at IS NULL

-- name: awaited_left
SELECT id FROM taskstate_task WHERE parent_id = :parent_id AND awaited = 1 AND finished_at IS NULL ORDER BY id
