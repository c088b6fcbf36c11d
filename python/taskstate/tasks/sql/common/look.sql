-- Looking.

-- name: tasks_get
SELECT {task_columns} FROM taskstate_task WHERE id {in:ids}

-- name: tasks_live
SELECT id FROM taskstate_task WHERE id {in:ids} AND finished_at IS NULL

-- name: tasks_list
SELECT {task_columns} FROM taskstate_task

-- name: tasks_list_owner
owner = :owner

-- name: tasks_list_conversation
conversation_id = :conversation

-- name: tasks_list_name
name = :name

-- name: tasks_list_parent_id
parent_id = :parent_id

-- name: tasks_list_before
id < :before

-- name: tasks_list_states
state {in:states}

-- name: tasks_list_order
ORDER BY id DESC LIMIT :limit

-- name: waits_open
SELECT {wait_columns} FROM taskstate_wait
WHERE task_id IN (SELECT id FROM taskstate_task WHERE id = :task_id AND finished_at IS NULL) AND outcome IS NULL
ORDER BY opened_at, key

-- name: waits_open_tree
WITH RECURSIVE below (id) AS (
    SELECT id FROM taskstate_task WHERE id = :task_id
    UNION ALL SELECT t.id FROM taskstate_task t JOIN below b ON t.parent_id = b.id)
SELECT {wait_columns} FROM taskstate_wait
WHERE outcome IS NULL AND task_id IN (
    SELECT t.id FROM taskstate_task t JOIN below b ON b.id = t.id WHERE t.finished_at IS NULL)
ORDER BY opened_at, task_id, key

-- name: attempts
SELECT number, fence, worker, started_at, ended_at, outcome, error_code, in_flight, late_kind, late_code, late_result, late_at
FROM taskstate_attempt WHERE task_id = :task_id ORDER BY fence

-- name: checkpoint_sizes
SELECT key, ordinal, fence, {bytes:value}, created_at FROM taskstate_checkpoint
WHERE task_id = :task_id ORDER BY ordinal, key

-- name: waits_all
SELECT id, key, kind, name, opened_at, due_at, ended_at, outcome FROM taskstate_wait
WHERE task_id = :task_id ORDER BY opened_at, key

-- name: signals
SELECT id, name, created_at, wait_id, {bytes:payload} FROM taskstate_signal WHERE task_id = :task_id ORDER BY seq

-- name: deliveries
SELECT target, target_id, kind, generation, seq, state, reason, attempts FROM taskstate_delivery
WHERE task_id = :task_id ORDER BY id
