CREATE TABLE taskstate_conversation (
    id text PRIMARY KEY,
    owner text NOT NULL,
    generation integer NOT NULL,
    inbox_seq integer NOT NULL DEFAULT 0
);

CREATE TABLE taskstate_task (
    seq integer PRIMARY KEY AUTOINCREMENT,
    id text NOT NULL UNIQUE,
    name text NOT NULL,
    version integer NOT NULL,
    mode text NOT NULL CHECK (mode IN ('foreground', 'background')),
    state text NOT NULL CHECK (state IN
        ('scheduled', 'ready', 'running', 'suspended', 'succeeded', 'failed', 'cancelled', 'superseded')),
    priority integer NOT NULL,
    available_at integer,
    failures integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL,
    lease_ms integer NOT NULL,
    spent_ms integer NOT NULL DEFAULT 0,
    fence integer NOT NULL DEFAULT 0,
    worker text,
    lease_expires_at integer,
    parent_id text REFERENCES taskstate_task (id) ON DELETE CASCADE,
    parent_key text,
    parent_ordinal integer,
    awaited integer NOT NULL DEFAULT 0,
    slot integer,
    root_id text NOT NULL,
    owner text NOT NULL,
    conversation_id text REFERENCES taskstate_conversation (id),
    generation integer NOT NULL,
    subscribed integer NOT NULL DEFAULT 0,
    single_flight text,
    codec integer NOT NULL DEFAULT 1,
    input text NOT NULL,
    input_hash text NOT NULL,
    result text,
    result_limit integer NOT NULL,
    error_code text,
    error text,
    resume_reason text,
    suspend_epoch integer NOT NULL DEFAULT 0,
    events integer NOT NULL DEFAULT 0,
    cancel_requested_at integer,
    cancel_due_at integer,
    traceparent text,
    created_at integer NOT NULL,
    started_at integer,
    finished_at integer,
    CHECK (result IS NULL OR length(CAST(result AS blob)) <= result_limit),
    CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK ((parent_id IS NULL) = (parent_key IS NULL) AND (parent_id IS NULL) = (parent_ordinal IS NULL))
);
CREATE INDEX taskstate_task_ready ON taskstate_task (name, version, priority DESC, seq) WHERE state = 'ready';
CREATE INDEX taskstate_task_scheduled ON taskstate_task (available_at)
    WHERE state = 'scheduled' AND available_at IS NOT NULL;
CREATE INDEX taskstate_task_waiting ON taskstate_task (available_at) WHERE state = 'suspended';
CREATE INDEX taskstate_task_leased ON taskstate_task (lease_expires_at) WHERE state = 'running';
CREATE INDEX taskstate_task_cancelling ON taskstate_task (cancel_due_at)
    WHERE state = 'running' AND cancel_due_at IS NOT NULL;
CREATE INDEX taskstate_task_ended ON taskstate_task (state, finished_at)
    WHERE parent_id IS NULL AND finished_at IS NOT NULL;
CREATE INDEX taskstate_task_owner ON taskstate_task (owner, id);
CREATE INDEX taskstate_task_tree ON taskstate_task (root_id) WHERE parent_id IS NOT NULL;
CREATE INDEX taskstate_task_bound ON taskstate_task (conversation_id)
    WHERE conversation_id IS NOT NULL AND finished_at IS NULL;
CREATE UNIQUE INDEX taskstate_task_child ON taskstate_task (parent_id, parent_key, parent_ordinal)
    WHERE parent_id IS NOT NULL;
CREATE INDEX taskstate_task_placeless ON taskstate_task (parent_id, parent_key, parent_ordinal)
    WHERE state = 'scheduled' AND available_at IS NULL;
CREATE UNIQUE INDEX taskstate_task_slot ON taskstate_task (parent_id, parent_key, slot) WHERE slot IS NOT NULL;
CREATE UNIQUE INDEX taskstate_task_flight ON taskstate_task (owner, name, single_flight)
    WHERE single_flight IS NOT NULL AND finished_at IS NULL AND cancel_requested_at IS NULL;

CREATE TABLE taskstate_attempt (
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    fence integer NOT NULL,
    number integer NOT NULL,
    worker text,
    started_at integer,
    ended_at integer NOT NULL,
    outcome text NOT NULL,
    error_code text,
    in_flight text,
    ending text,
    late_kind text,
    late_code text,
    late_result text,
    late_at integer,
    PRIMARY KEY (task_id, fence)
);

CREATE TABLE taskstate_checkpoint (
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    key text NOT NULL,
    ordinal integer NOT NULL,
    input_hash text NOT NULL,
    fence integer NOT NULL,
    codec integer NOT NULL DEFAULT 1,
    value text NOT NULL,
    created_at integer NOT NULL,
    PRIMARY KEY (task_id, key)
);

CREATE TABLE taskstate_wait (
    id text PRIMARY KEY,
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    key text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('children', 'sleep', 'signal')),
    name text,
    places integer NOT NULL DEFAULT 0,
    awaited integer NOT NULL DEFAULT 0,
    opened_at integer NOT NULL,
    due_at integer,
    ended_at integer,
    outcome text,
    value text,
    UNIQUE (task_id, key)
);

CREATE TABLE taskstate_signal (
    seq integer PRIMARY KEY AUTOINCREMENT,
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    id text NOT NULL,
    name text NOT NULL,
    payload text NOT NULL,
    created_at integer NOT NULL,
    wait_id text,
    UNIQUE (task_id, id)
);

CREATE TABLE taskstate_subscription (
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    conversation_id text NOT NULL REFERENCES taskstate_conversation (id),
    generation integer NOT NULL,
    ended_at integer,
    PRIMARY KEY (task_id, conversation_id, generation)
);
CREATE INDEX taskstate_subscription_live ON taskstate_subscription (conversation_id, generation)
    WHERE ended_at IS NULL;

CREATE TABLE taskstate_progress (
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    seq integer NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    created_at integer NOT NULL,
    PRIMARY KEY (task_id, key)
);

CREATE TABLE taskstate_delivery (
    id integer PRIMARY KEY AUTOINCREMENT,
    task_id text NOT NULL REFERENCES taskstate_task (id) ON DELETE CASCADE,
    target text NOT NULL CHECK (target IN ('parent', 'conversation', 'orphans')),
    target_id text NOT NULL,
    kind text NOT NULL,
    generation integer NOT NULL,
    seq integer NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'suppressed')),
    reason text,
    task_state text,
    code text,
    attempts integer NOT NULL DEFAULT 0,
    available_at integer NOT NULL,
    created_at integer NOT NULL,
    UNIQUE (task_id, target, target_id, kind, generation, seq)
);
CREATE INDEX taskstate_delivery_pending ON taskstate_delivery (available_at, id) WHERE state = 'pending';
CREATE INDEX taskstate_delivery_target ON taskstate_delivery (target, target_id, id) WHERE state = 'pending';

CREATE TABLE taskstate_inbox (
    conversation_id text NOT NULL REFERENCES taskstate_conversation (id) ON DELETE CASCADE,
    delivery_id integer NOT NULL REFERENCES taskstate_delivery (id) ON DELETE CASCADE,
    seq integer NOT NULL,
    offered_until integer,
    acked_at integer,
    PRIMARY KEY (conversation_id, delivery_id)
);
CREATE UNIQUE INDEX taskstate_inbox_open ON taskstate_inbox (conversation_id, seq) WHERE acked_at IS NULL;
CREATE INDEX taskstate_inbox_delivery ON taskstate_inbox (delivery_id);
