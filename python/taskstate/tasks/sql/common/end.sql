-- Ends and what follows from them.

-- name: task_end
UPDATE taskstate_task SET
    state = :state, fence = fence + CAST(:bump AS bigint), events = events + 1, result = :result,
    error_code = :code, error = :message, failures = failures + CAST(:failed AS integer),
    worker = NULL, lease_expires_at = NULL, available_at = NULL, slot = NULL, finished_at = {now},
    resume_reason = CASE WHEN state = 'suspended' THEN NULL ELSE resume_reason END
WHERE id {in:ids}

-- name: task_again
UPDATE taskstate_task SET
    state = CASE WHEN CAST(:delay_ms AS bigint) > 0 THEN 'scheduled' ELSE 'ready' END,
    available_at = CASE WHEN CAST(:delay_ms AS bigint) > 0 THEN {now} + CAST(:delay_ms AS bigint) END,
    fence = fence + 1, failures = failures + CAST(:failed AS integer), error_code = :code, error = :message,
    spent_ms = CASE WHEN CAST(:failed AS integer) > 0 THEN 0 ELSE spent_ms END,
    worker = NULL, lease_expires_at = NULL
WHERE id {in:ids}

-- name: deliver_parent
INSERT INTO taskstate_delivery (task_id, target, target_id, kind, generation, seq, state, available_at, created_at)
SELECT id, 'parent', parent_id, 'result', 0, events, 'pending', {now}, {now}
FROM taskstate_task WHERE id {in:ids} AND awaited = 1

-- name: deliver_conversation
INSERT INTO taskstate_delivery (
    task_id, target, target_id, kind, generation, seq, state, reason, task_state, code, available_at, created_at)
SELECT
    t.id, 'conversation', s.conversation_id, CAST(:kind AS text), s.generation, t.events,
    CASE WHEN t.awaited = 1 AND CAST(:kind AS text) = 'result' THEN 'suppressed' ELSE CAST(:state AS text) END,
    COALESCE(CAST(:reason AS text), CASE WHEN t.awaited = 1 AND CAST(:kind AS text) = 'result' THEN 'consumed' END),
    t.state, t.error_code, {now}, {now}
FROM taskstate_task t JOIN taskstate_subscription s ON s.task_id = t.id
WHERE t.id {in:ids} AND t.subscribed = 1 AND s.ended_at IS NULL
ORDER BY t.id, s.conversation_id, s.generation

-- name: deliveries_suppress
UPDATE taskstate_delivery SET state = 'suppressed', reason = :reason
WHERE task_id {in:ids} AND target = 'conversation' AND state = 'pending'

-- name: deliver_orphans
INSERT INTO taskstate_delivery (task_id, target, target_id, kind, generation, seq, state, available_at, created_at)
SELECT id, 'orphans', id, 'result', 0, events, 'pending', {now}, {now}
FROM taskstate_task t
WHERE id {in:ids}
    AND EXISTS (SELECT 1 FROM taskstate_wait w WHERE w.task_id = t.id AND w.kind = 'children' AND w.outcome IS NULL)

-- name: subtree_lock
WITH RECURSIVE below (id) AS (
    SELECT id FROM taskstate_task WHERE id = :id
    UNION ALL SELECT t.id FROM taskstate_task t JOIN below b ON t.parent_id = b.id)
SELECT id, state FROM taskstate_task
WHERE id IN (SELECT id FROM below) AND finished_at IS NULL ORDER BY id {lock}

-- name: cancel_ask
UPDATE taskstate_task SET
    cancel_requested_at = COALESCE(cancel_requested_at, {now}),
    cancel_due_at = {least}(COALESCE(cancel_due_at, {now} + CAST(:grace_ms AS bigint)), {now} + CAST(:grace_ms AS bigint))
WHERE id {in:ids}

-- name: cancel_mark
UPDATE taskstate_task SET cancel_requested_at = COALESCE(cancel_requested_at, {now}) WHERE id {in:ids}

-- name: bound_lock
SELECT id, root_id FROM taskstate_task
WHERE conversation_id = :conversation_id AND generation < :generation AND finished_at IS NULL ORDER BY id {lock}

-- name: subscriptions_end
UPDATE taskstate_subscription SET ended_at = {now}
WHERE conversation_id = :conversation_id AND generation < :generation AND ended_at IS NULL

-- name: subscriptions_live
SELECT s.task_id, s.conversation_id, s.generation
FROM taskstate_subscription s
WHERE s.task_id {in:ids} AND s.ended_at IS NULL
    AND NOT (s.conversation_id = :conversation_id AND s.generation < :generation)
ORDER BY s.task_id, s.generation, s.conversation_id

-- name: task_bind
UPDATE taskstate_task SET conversation_id = :conversation_id, generation = :generation WHERE id = :id

-- name: retry_lock
SELECT state, parent_id, owner, conversation_id, generation, name, single_flight FROM taskstate_task
WHERE id = :id {lock}

-- name: retry_tree
SELECT id, parent_id, parent_key FROM taskstate_task
WHERE root_id = :root_id AND parent_id IS NOT NULL AND awaited = 1 AND state IN ('failed', 'cancelled')
ORDER BY id {lock}

-- name: task_revive
UPDATE taskstate_task SET
    state = :state, fence = fence + 1, failures = 0, spent_ms = 0, result = NULL, error_code = NULL, error = NULL,
    cancel_requested_at = NULL, cancel_due_at = NULL, finished_at = NULL, available_at = NULL
WHERE id {in:ids}

-- name: wait_places
SELECT places FROM taskstate_wait WHERE task_id = :task_id AND key = :key

-- name: wait_reopen
UPDATE taskstate_wait SET outcome = NULL, value = NULL, ended_at = NULL
WHERE task_id = :task_id AND key = :key AND kind = 'children'

-- name: purge_find
SELECT t.id FROM taskstate_task t
WHERE t.parent_id IS NULL AND t.finished_at IS NOT NULL AND t.state = :state AND t.finished_at < {now} - CAST(:ttl_ms AS bigint)
    AND NOT EXISTS (
        SELECT 1 FROM taskstate_task c WHERE c.root_id = t.id AND c.parent_id IS NOT NULL AND c.finished_at IS NULL)
ORDER BY t.finished_at LIMIT :limit {skip}

-- name: purge_count
SELECT
    (SELECT count(*) FROM taskstate_task WHERE id {in:ids})
    + (SELECT count(*) FROM taskstate_task WHERE root_id {in:ids} AND parent_id IS NOT NULL)

-- name: purge_drop
DELETE FROM taskstate_task WHERE id {in:ids}
