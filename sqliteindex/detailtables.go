package sqliteindex

// detailTables is the schema of the details; SyncDetails fills the tables. _index_details has the workflow definitions
// of each run. The tables of outputs are not in detailTables: they follow the declarations in
// _index_outputs, and _smithers_output_schema_columns lists them.
const detailTables = `
CREATE TABLE _index_details (
	run_id    TEXT NOT NULL PRIMARY KEY,
	workflows TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_nodes (
	run_id        TEXT NOT NULL,
	node_id       TEXT NOT NULL,
	iteration     INTEGER NOT NULL DEFAULT 0,
	state         TEXT NOT NULL,
	last_attempt  INTEGER,
	updated_at_ms INTEGER NOT NULL,
	output_table  TEXT NOT NULL,
	label         TEXT,
	ralph_id      TEXT,
	needs_json    TEXT NOT NULL,
	PRIMARY KEY (run_id, node_id, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_ralph (
	run_id        TEXT NOT NULL,
	ralph_id      TEXT NOT NULL,
	iteration     INTEGER NOT NULL DEFAULT 0,
	done          INTEGER NOT NULL DEFAULT 0,
	updated_at_ms INTEGER NOT NULL,
	PRIMARY KEY (run_id, ralph_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_events (
	run_id       TEXT NOT NULL,
	seq          INTEGER NOT NULL,
	timestamp_ms INTEGER NOT NULL,
	type         TEXT NOT NULL,
	payload_json TEXT NOT NULL,
	node_id      TEXT,
	PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_approvals (
	run_id          TEXT NOT NULL,
	node_id         TEXT NOT NULL,
	iteration       INTEGER NOT NULL DEFAULT 0,
	status          TEXT NOT NULL,
	requested_at_ms INTEGER,
	decided_at_ms   INTEGER,
	note            TEXT,
	decided_by      TEXT,
	request_json    TEXT AS (json_object('mode', 'decision', 'title', title, 'summary', summary)),
	decision_json   TEXT AS (NULL),
	auto_approved   INTEGER AS (0),
	attempt         INTEGER NOT NULL,
	title           TEXT NOT NULL,
	summary         TEXT,
	PRIMARY KEY (run_id, node_id, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_human_requests (
	request_id      TEXT NOT NULL,
	run_id          TEXT NOT NULL,
	node_id         TEXT NOT NULL,
	iteration       INTEGER NOT NULL DEFAULT 0,
	kind            TEXT NOT NULL,
	status          TEXT NOT NULL,
	prompt          TEXT NOT NULL,
	schema_json     TEXT,
	options_json    TEXT,
	response_json   TEXT,
	requested_at_ms INTEGER NOT NULL,
	answered_at_ms  INTEGER,
	answered_by     TEXT,
	timeout_at_ms   INTEGER,
	attempt         INTEGER NOT NULL,
	PRIMARY KEY (run_id, node_id, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_signals (
	run_id         TEXT NOT NULL,
	seq            INTEGER NOT NULL,
	signal_name    TEXT NOT NULL,
	correlation_id TEXT,
	payload_json   TEXT NOT NULL,
	received_at_ms INTEGER NOT NULL,
	received_by    TEXT,
	PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_waits (
	run_id          TEXT NOT NULL,
	node_id         TEXT NOT NULL,
	iteration       INTEGER NOT NULL,
	attempt         INTEGER NOT NULL,
	kind            TEXT NOT NULL,
	status          TEXT NOT NULL,
	signal_name     TEXT,
	correlation_id  TEXT,
	any_correlation INTEGER NOT NULL,
	started_at_ms   INTEGER NOT NULL,
	due_at_ms       INTEGER,
	ended_at_ms     INTEGER,
	signal_seq      INTEGER,
	PRIMARY KEY (run_id, node_id, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_cache (
	cache_key     TEXT NOT NULL PRIMARY KEY,
	created_at_ms INTEGER,
	workflow_name TEXT,
	node_id       TEXT,
	output_table  TEXT,
	schema_sig    TEXT,
	agent_sig     TEXT,
	tools_sig     TEXT,
	jj_pointer    TEXT,
	payload_json  TEXT,
	run_id        TEXT,
	frame_no      INTEGER,
	iteration     INTEGER,
	attempt       INTEGER,
	took_ms       INTEGER,
	bytes         INTEGER,
	files         INTEGER,
	parts_json    TEXT
) WITHOUT ROWID;

CREATE TABLE _smithers_cron (
	cron_id        TEXT NOT NULL PRIMARY KEY,
	pattern        TEXT NOT NULL,
	workflow_path  TEXT NOT NULL,
	enabled        INTEGER NOT NULL,
	created_at_ms  INTEGER NOT NULL,
	last_run_at_ms INTEGER,
	next_run_at_ms INTEGER,
	error_json     TEXT,
	zone           TEXT,
	input_json     TEXT,
	missed         TEXT,
	overlap        TEXT,
	last_run_id    TEXT,
	error_at_ms    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_vectors (
	id            TEXT NOT NULL PRIMARY KEY,
	namespace     TEXT,
	content       TEXT,
	embedding     BLOB,
	dimensions    INTEGER,
	metadata_json TEXT,
	document_id   TEXT,
	chunk_index   INTEGER,
	created_at_ms INTEGER
) WITHOUT ROWID;

CREATE TABLE _index_repository (
	table_name TEXT NOT NULL PRIMARY KEY,
	git_commit TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_tool_calls (
	run_id                  TEXT NOT NULL,
	node_id                 TEXT NOT NULL,
	iteration               INTEGER NOT NULL DEFAULT 0,
	attempt                 INTEGER NOT NULL,
	seq                     INTEGER NOT NULL,
	call_token              TEXT,
	tool_name               TEXT NOT NULL,
	input_json              TEXT,
	output_json             TEXT,
	started_at_ms           INTEGER NOT NULL,
	finished_at_ms          INTEGER,
	status                  TEXT NOT NULL,
	error_json              TEXT,
	kind                    TEXT,
	side_effect             INTEGER,
	idempotent              INTEGER,
	accepts_idempotency_key INTEGER,
	has_revert              INTEGER,
	idempotency_key         TEXT,
	revert_status           TEXT,
	reverted_at_ms          INTEGER,
	revert_error_json       TEXT,
	forced_past_json        TEXT,
	input_at_json           TEXT,
	output_at_json          TEXT,
	PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_scorers (
	id                TEXT NOT NULL,
	run_id            TEXT NOT NULL,
	node_id           TEXT NOT NULL,
	iteration         INTEGER NOT NULL DEFAULT 0,
	attempt           INTEGER NOT NULL DEFAULT 0,
	scorer_id         TEXT NOT NULL,
	scorer_name       TEXT NOT NULL,
	source            TEXT NOT NULL,
	score             REAL NOT NULL,
	reason            TEXT,
	meta_json         TEXT,
	input_json        TEXT,
	output_json       TEXT,
	ground_truth_json TEXT,
	context_json      TEXT,
	latency_ms        REAL,
	scored_at_ms      INTEGER NOT NULL,
	duration_ms       REAL,
	PRIMARY KEY (run_id, node_id, iteration, attempt, scorer_id, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE _smithers_ops (
	run_id        TEXT NOT NULL,
	op            INTEGER NOT NULL,
	kind          TEXT NOT NULL,
	at_ms         INTEGER NOT NULL,
	from_frame_no INTEGER,
	to_frame_no   INTEGER,
	frame_no      INTEGER,
	node_id       TEXT,
	iteration     INTEGER,
	attempt       INTEGER,
	no_deps       INTEGER NOT NULL,
	files         INTEGER NOT NULL,
	worktree      TEXT,
	undoes        INTEGER,
	undone_by     INTEGER,
	git_before    TEXT,
	PRIMARY KEY (run_id, op)
) STRICT, WITHOUT ROWID;

CREATE TABLE _index_peer_sandboxes (
	run_id  TEXT NOT NULL,
	row_key TEXT NOT NULL,
	row     TEXT NOT NULL,
	PRIMARY KEY (run_id, row_key)
) STRICT, WITHOUT ROWID;

CREATE VIEW _smithers_sandboxes AS
	SELECT run_id, node_id AS sandbox_id, 'bubblewrap' AS runtime, NULL AS remote_run_id, NULL AS workspace_id, NULL AS container_id,
		json_object('allows', sandbox) AS config_json,
		CASE state WHEN 'in-progress' THEN 'shipped' ELSE state END AS status,
		NULL AS heartbeat_at_ms, started_at_ms AS shipped_at_ms, finished_at_ms AS completed_at_ms, NULL AS bundle_path,
		iteration, attempt
	FROM _index_attempts WHERE sandbox IS NOT NULL
	UNION ALL
	SELECT run_id, coalesce(row ->> '$.sandbox_id', row_key ->> '$[0]'), row ->> '$.runtime', row ->> '$.remote_run_id',
		row ->> '$.workspace_id', row ->> '$.container_id', row ->> '$.config_json', row ->> '$.status', row ->> '$.heartbeat_at_ms',
		row ->> '$.shipped_at_ms', row ->> '$.completed_at_ms',
		CASE json_type(row, '$.bundle_path') WHEN 'object' THEN ltrim(row ->> '$.bundle_path.root[1]', '/') ELSE row ->> '$.bundle_path' END,
		NULL, NULL
	FROM _index_peer_sandboxes WHERE row <> 'null';

CREATE VIEW _smithers_time_travel_audit AS
	SELECT o.op AS id, o.run_id, o.from_frame_no,
		coalesce(o.to_frame_no, u.from_frame_no, a.frame_no) AS to_frame_no,
		NULL AS caller, o.at_ms AS timestamp_ms, 'success' AS result, NULL AS duration_ms, o.kind
	FROM _smithers_ops AS o
	LEFT JOIN _smithers_ops AS u ON u.run_id = o.run_id AND u.op = o.undoes
	LEFT JOIN _index_attempts AS a ON a.run_id = o.run_id AND a.node_id = o.node_id
		AND a.iteration = o.iteration AND a.attempt = o.attempt
	WHERE o.kind <> 'fork';

CREATE TABLE input (
	run_id  TEXT NOT NULL PRIMARY KEY,
	payload JSON TEXT NOT NULL
);

CREATE TABLE _index_outputs (
	output_key    TEXT NOT NULL,
	workflow_name TEXT NOT NULL,
	run_id        TEXT NOT NULL,
	columns       TEXT NOT NULL,
	PRIMARY KEY (output_key, workflow_name, run_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX _index_outputs_run_idx ON _index_outputs (run_id);

CREATE TABLE _smithers_output_schema_columns (
	table_name    TEXT NOT NULL,
	column_name   TEXT NOT NULL,
	kind          TEXT NOT NULL,
	output_key    TEXT NOT NULL,
	workflow_name TEXT,
	property      TEXT,
	json_type     TEXT NOT NULL,
	PRIMARY KEY (table_name, column_name)
) STRICT, WITHOUT ROWID;
`
