package sqliteindex

// baseTables is the schema of the tables that every list of runs or frames needs. docs/index.md documents the schema.
// The tables and views called _smithers_… have the names of Smithers' tables, with Smithers' columns first and
// additional columns after them. A generated column takes no space: its value is a constant, or is computed from other
// columns.
const baseTables = `
CREATE TABLE _smithers_runs (
	run_id                         TEXT NOT NULL PRIMARY KEY,
	parent_run_id                  TEXT,
	workflow_name                  TEXT NOT NULL,
	workflow_path                  TEXT,
	workflow_hash                  TEXT,
	status                         TEXT NOT NULL,
	created_at_ms                  INTEGER NOT NULL,
	started_at_ms                  INTEGER,
	finished_at_ms                 INTEGER,
	heartbeat_at_ms                INTEGER AS (NULL),
	runtime_owner_id               TEXT,
	cancel_requested_at_ms         INTEGER AS (NULL),
	pause_requested_at_ms          INTEGER AS (NULL),
	hijack_requested_at_ms         INTEGER AS (NULL),
	hijack_target                  TEXT AS (NULL),
	vcs_type                       TEXT,
	vcs_root                       TEXT,
	vcs_revision                   TEXT,
	error_json                     TEXT AS (CASE WHEN error IS NOT NULL THEN json_object('message', error) END),
	config_json                    TEXT AS (NULL),
	cancel_request_id              TEXT AS (NULL),
	cancel_request_source          TEXT AS (NULL),
	cancel_request_client_identity TEXT AS (NULL),
	cancel_request_client_pid      INTEGER AS (NULL),
	error                          TEXT,
	epoch                          INTEGER NOT NULL,
	parent_frame_no                INTEGER,
	parent_commit                  TEXT,
	extension                      TEXT,
	branch_label                   TEXT,
	fork_description               TEXT,
	forked_at_ms                   INTEGER,
	fork_undone                    INTEGER NOT NULL,
	updated_at_ms                  INTEGER NOT NULL,
	latest_frame                   INTEGER NOT NULL,
	vcs                            TEXT,
	git_ref                        TEXT NOT NULL,
	git_tip                        TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX _smithers_runs_parent_idx ON _smithers_runs (parent_run_id);

CREATE UNIQUE INDEX _smithers_runs_ref_idx ON _smithers_runs (git_ref, git_tip, latest_frame);

CREATE TABLE _smithers_snapshots (
	run_id        TEXT NOT NULL,
	frame_no      INTEGER NOT NULL,
	vcs_pointer   TEXT AS (coalesce(change_id, commit_id)),
	workflow_hash TEXT,
	content_hash  TEXT NOT NULL,
	created_at_ms INTEGER NOT NULL,
	vcs           TEXT,
	vcs_root      TEXT,
	operation_id  TEXT,
	tree_id       TEXT,
	commit_id     TEXT AS (substr(vcs, max(instr(vcs, ':'), instr(vcs, '@')) + 1)),
	change_id     TEXT AS (CASE WHEN substr(vcs, 1, 3) = 'jj:' THEN substr(vcs, 4, instr(vcs, '@') - 4) END),
	based_on      INTEGER,
	dropped       INTEGER NOT NULL DEFAULT 0,
	subject       TEXT NOT NULL,
	git_commit    TEXT NOT NULL,
	PRIMARY KEY (run_id, frame_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX _smithers_snapshots_commit_idx ON _smithers_snapshots (commit_id)
	WHERE commit_id IS NOT NULL;

CREATE INDEX _smithers_snapshots_change_idx ON _smithers_snapshots (change_id)
	WHERE change_id IS NOT NULL;

CREATE TABLE _index_attempts (
	run_id         TEXT NOT NULL,
	node_id        TEXT NOT NULL,
	iteration      INTEGER NOT NULL,
	attempt        INTEGER NOT NULL,
	state          TEXT NOT NULL,
	started_at_ms  INTEGER NOT NULL,
	finished_at_ms INTEGER,
	error          TEXT,
	exit_status    INTEGER,
	commit_id      TEXT,
	tree_id        TEXT,
	frame_no       INTEGER,
	worktree       TEXT,
	cached_from    TEXT,
	sandbox        TEXT,
	PRIMARY KEY (run_id, node_id, iteration, attempt)
) STRICT, WITHOUT ROWID;

CREATE VIEW _smithers_attempts AS
	SELECT run_id, a.node_id, a.iteration, a.attempt, a.state, a.started_at_ms, a.finished_at_ms,
		NULL AS heartbeat_at_ms, NULL AS heartbeat_data_json,
		CASE WHEN a.error IS NOT NULL THEN json_object('message', a.error) END AS error_json,
		coalesce(s.change_id, a.commit_id) AS jj_pointer,
		NULL AS response_text, NULL AS jj_cwd, a.cached_from IS NOT NULL AS cached, NULL AS meta_json,
		a.exit_status, a.commit_id, a.tree_id, a.frame_no, a.worktree, a.cached_from
	FROM _index_attempts AS a LEFT JOIN _smithers_snapshots AS s USING (run_id, frame_no, commit_id);

CREATE VIEW _smithers_frames AS
	SELECT run_id, frame_no, created_at_ms, NULL AS xml_json, NULL AS xml_hash, NULL AS encoding,
		NULL AS mounted_task_ids_json, NULL AS task_index_json, NULL AS note,
		based_on, subject, git_commit
	FROM _smithers_snapshots
	WHERE NOT dropped;

CREATE VIEW _smithers_branches AS
	SELECT run_id, parent_run_id, parent_frame_no, branch_label, fork_description,
		forked_at_ms AS created_at_ms
	FROM _smithers_runs
	WHERE parent_frame_no IS NOT NULL AND NOT fork_undone;

CREATE VIEW _smithers_vcs_tags AS
	SELECT run_id, frame_no, substr(vcs, 1, instr(vcs, ':') - 1) AS vcs_type, commit_id AS vcs_pointer,
		vcs_root, operation_id AS jj_operation_id, created_at_ms, change_id
	FROM _smithers_snapshots
	WHERE vcs IS NOT NULL;

CREATE TABLE _index_state (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	tips BLOB NOT NULL
) STRICT;

INSERT INTO _index_state (id, tips) VALUES (1, zeroblob(32));
`

// droppedIndex finds the dropped frames of a run, which most runs do not have.
const droppedIndex = `
CREATE INDEX _smithers_snapshots_dropped_idx ON _smithers_snapshots (run_id)
	WHERE dropped = 1;
`
