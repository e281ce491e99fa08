CREATE TABLE _smithers_output_schema_columns (
  table_name TEXT NOT NULL,
  column_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (table_name, column_name)
)

CREATE TABLE _smithers_schema_migrations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at_ms INTEGER NOT NULL,
  checksum TEXT,
  destructive INTEGER NOT NULL DEFAULT 0,
  details_json TEXT
)

CREATE TABLE _smithers_runs (
  run_id TEXT PRIMARY KEY,
  parent_run_id TEXT,
  workflow_name TEXT NOT NULL,
  workflow_path TEXT,
  workflow_hash TEXT,
  status TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  started_at_ms INTEGER,
  finished_at_ms INTEGER,
  heartbeat_at_ms INTEGER,
  runtime_owner_id TEXT,
  cancel_requested_at_ms INTEGER,
  pause_requested_at_ms INTEGER,
  hijack_requested_at_ms INTEGER,
  hijack_target TEXT,
  vcs_type TEXT,
  vcs_root TEXT,
  vcs_revision TEXT,
  error_json TEXT,
  config_json TEXT,
  cancel_request_id TEXT,
  cancel_request_source TEXT,
  cancel_request_client_identity TEXT,
  cancel_request_client_pid INTEGER
)

CREATE TABLE _smithers_nodes (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  last_attempt INTEGER,
  updated_at_ms INTEGER NOT NULL,
  output_table TEXT NOT NULL,
  label TEXT,
  PRIMARY KEY (run_id, node_id, iteration)
)

CREATE TABLE _smithers_attempts (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL,
  state TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  finished_at_ms INTEGER,
  heartbeat_at_ms INTEGER,
  heartbeat_data_json TEXT,
  error_json TEXT,
  jj_pointer TEXT,
  response_text TEXT,
  jj_cwd TEXT,
  cached INTEGER DEFAULT 0,
  meta_json TEXT,
  PRIMARY KEY (run_id, node_id, iteration, attempt)
)

CREATE TABLE _smithers_frames (
  run_id TEXT NOT NULL,
  frame_no INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  xml_json TEXT NOT NULL,
  xml_hash TEXT NOT NULL,
  encoding TEXT NOT NULL DEFAULT 'full',
  mounted_task_ids_json TEXT,
  task_index_json TEXT,
  note TEXT,
  PRIMARY KEY (run_id, frame_no),
  FOREIGN KEY (run_id) REFERENCES _smithers_runs (run_id) ON DELETE CASCADE
)

CREATE TABLE _smithers_approvals (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL,
  requested_at_ms INTEGER,
  decided_at_ms INTEGER,
  note TEXT,
  decided_by TEXT,
  request_json TEXT,
  decision_json TEXT,
  auto_approved INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run_id, node_id, iteration)
)

CREATE TABLE _smithers_human_requests (
  request_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  prompt TEXT NOT NULL,
  schema_json TEXT,
  options_json TEXT,
  response_json TEXT,
  requested_at_ms INTEGER NOT NULL,
  answered_at_ms INTEGER,
  answered_by TEXT,
  timeout_at_ms INTEGER
)

CREATE TABLE _smithers_alerts (
  alert_id TEXT PRIMARY KEY,
  run_id TEXT,
  policy_name TEXT NOT NULL,
  severity TEXT NOT NULL,
  status TEXT NOT NULL,
  fired_at_ms INTEGER NOT NULL,
  resolved_at_ms INTEGER,
  acknowledged_at_ms INTEGER,
  message TEXT NOT NULL,
  details_json TEXT,
  fingerprint TEXT,
  node_id TEXT,
  iteration INTEGER,
  owner TEXT,
  runbook TEXT,
  labels_json TEXT,
  reaction_json TEXT,
  source_event_type TEXT,
  first_fired_at_ms INTEGER,
  last_fired_at_ms INTEGER,
  occurrence_count INTEGER DEFAULT 1,
  silenced_until_ms INTEGER,
  acknowledged_by TEXT,
  resolved_by TEXT
)

CREATE TABLE _smithers_signals (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  signal_name TEXT NOT NULL,
  correlation_id TEXT,
  payload_json TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  received_by TEXT,
  PRIMARY KEY (run_id, seq)
)

CREATE TABLE _smithers_cache (
  cache_key TEXT PRIMARY KEY,
  created_at_ms INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  node_id TEXT NOT NULL,
  output_table TEXT NOT NULL,
  schema_sig TEXT NOT NULL,
  agent_sig TEXT,
  tools_sig TEXT,
  jj_pointer TEXT,
  payload_json TEXT NOT NULL
)

CREATE TABLE _smithers_node_diffs (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  base_ref TEXT NOT NULL,
  diff_json TEXT NOT NULL,
  computed_at_ms INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  PRIMARY KEY (run_id, node_id, iteration, base_ref),
  FOREIGN KEY (run_id) REFERENCES _smithers_runs (run_id) ON DELETE CASCADE
)

CREATE TABLE _smithers_time_travel_audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  from_frame_no INTEGER NOT NULL,
  to_frame_no INTEGER NOT NULL,
  caller TEXT NOT NULL,
  timestamp_ms INTEGER NOT NULL,
  result TEXT NOT NULL,
  duration_ms INTEGER,
  FOREIGN KEY (run_id) REFERENCES _smithers_runs (run_id) ON DELETE CASCADE
)

CREATE TABLE _smithers_rewind_leases (
  run_id TEXT PRIMARY KEY,
  owner_token TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_sandboxes (
  run_id TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  runtime TEXT NOT NULL DEFAULT 'bubblewrap',
  remote_run_id TEXT,
  workspace_id TEXT,
  container_id TEXT,
  config_json TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending',
  heartbeat_at_ms INTEGER,
  shipped_at_ms INTEGER,
  completed_at_ms INTEGER,
  bundle_path TEXT,
  PRIMARY KEY (run_id, sandbox_id)
)

CREATE TABLE _smithers_tool_calls (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  call_token TEXT,
  tool_name TEXT NOT NULL,
  input_json TEXT,
  output_json TEXT,
  started_at_ms INTEGER NOT NULL,
  finished_at_ms INTEGER,
  status TEXT NOT NULL,
  error_json TEXT,
  kind TEXT,
  side_effect INTEGER,
  idempotent INTEGER,
  accepts_idempotency_key INTEGER,
  has_revert INTEGER,
  idempotency_key TEXT,
  revert_status TEXT,
  reverted_at_ms INTEGER,
  revert_error_json TEXT,
  forced_past_json TEXT,
  PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
)

CREATE TABLE _smithers_tool_call_archive (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  call_token TEXT,
  tool_name TEXT NOT NULL,
  input_json TEXT,
  output_json TEXT,
  started_at_ms INTEGER NOT NULL,
  finished_at_ms INTEGER,
  status TEXT NOT NULL,
  error_json TEXT,
  kind TEXT,
  side_effect INTEGER,
  idempotent INTEGER,
  accepts_idempotency_key INTEGER,
  has_revert INTEGER,
  idempotency_key TEXT,
  revert_status TEXT,
  reverted_at_ms INTEGER,
  revert_error_json TEXT,
  forced_past_json TEXT,
  archived_by_op TEXT NOT NULL,
  archived_at_ms INTEGER NOT NULL,
  archive_reason TEXT NOT NULL,
  PRIMARY KEY (run_id, node_id, iteration, attempt, seq, archived_by_op)
)

CREATE TABLE _smithers_workspace_states (
  run_id TEXT NOT NULL,
  jj_cwd TEXT NOT NULL,
  jj_commit_id TEXT NOT NULL,
  jj_operation_id TEXT NOT NULL,
  jj_change_id TEXT,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, jj_cwd, jj_commit_id)
)

CREATE TABLE _smithers_workspace_checkpoints (
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  jj_cwd TEXT NOT NULL,
  jj_commit_id TEXT NOT NULL,
  source TEXT NOT NULL,
  tier INTEGER NOT NULL,
  label TEXT,
  tool_use_id TEXT,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, node_id, iteration, attempt, seq)
)

CREATE TABLE _smithers_events (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  timestamp_ms INTEGER NOT NULL,
  type TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
)

CREATE TABLE _smithers_output_provenance (
  run_id TEXT NOT NULL,
  output_table TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (run_id, output_table, node_id, iteration),
  UNIQUE (run_id, seq)
)

CREATE TABLE _smithers_ralph (
  run_id TEXT NOT NULL,
  ralph_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, ralph_id)
)

CREATE TABLE _smithers_cron (
  cron_id TEXT PRIMARY KEY,
  pattern TEXT NOT NULL,
  workflow_path TEXT NOT NULL,
  enabled INTEGER DEFAULT 1,
  created_at_ms INTEGER NOT NULL,
  last_run_at_ms INTEGER,
  next_run_at_ms INTEGER,
  error_json TEXT
)

CREATE TABLE _smithers_snapshot_contents (
  content_hash TEXT PRIMARY KEY,
  nodes_json TEXT NOT NULL,
  outputs_json TEXT NOT NULL,
  ralph_json TEXT NOT NULL,
  input_json TEXT NOT NULL,
  ref_count INTEGER NOT NULL DEFAULT 0 CHECK (ref_count >= 0)
)

CREATE TABLE _smithers_snapshots (
  run_id TEXT NOT NULL,
  frame_no INTEGER NOT NULL,
  nodes_json TEXT NOT NULL,
  outputs_json TEXT NOT NULL,
  ralph_json TEXT NOT NULL,
  input_json TEXT NOT NULL,
  vcs_pointer TEXT,
  workflow_hash TEXT,
  content_hash TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, frame_no)
)

CREATE TABLE _smithers_snapshot_payload_refs (
  run_id TEXT NOT NULL,
  frame_no INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  PRIMARY KEY (run_id, frame_no),
  FOREIGN KEY (run_id, frame_no) REFERENCES _smithers_snapshots (run_id, frame_no) ON UPDATE CASCADE ON DELETE CASCADE,
  FOREIGN KEY (content_hash) REFERENCES _smithers_snapshot_contents (content_hash)
)

CREATE TABLE _smithers_branches (
  run_id TEXT PRIMARY KEY,
  parent_run_id TEXT NOT NULL,
  parent_frame_no INTEGER NOT NULL,
  branch_label TEXT,
  fork_description TEXT,
  created_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_vcs_tags (
  run_id TEXT NOT NULL,
  frame_no INTEGER NOT NULL,
  vcs_type TEXT NOT NULL,
  vcs_pointer TEXT NOT NULL,
  vcs_root TEXT,
  jj_operation_id TEXT,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (run_id, frame_no)
)

CREATE TABLE _smithers_vectors (
  id TEXT PRIMARY KEY,
  namespace TEXT NOT NULL,
  content TEXT NOT NULL,
  embedding BLOB NOT NULL,
  dimensions INTEGER NOT NULL,
  metadata_json TEXT,
  document_id TEXT,
  chunk_index INTEGER,
  created_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_scorers (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  iteration INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  scorer_id TEXT NOT NULL,
  scorer_name TEXT NOT NULL,
  source TEXT NOT NULL,
  score REAL NOT NULL,
  reason TEXT,
  meta_json TEXT,
  input_json TEXT,
  output_json TEXT,
  ground_truth_json TEXT,
  context_json TEXT,
  latency_ms REAL,
  scored_at_ms INTEGER NOT NULL,
  duration_ms REAL
)

CREATE TABLE _smithers_eval_suites (
  suite_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  workflow_key TEXT NOT NULL,
  workflow_path TEXT NOT NULL,
  workflow_root TEXT NOT NULL,
  dataset_json TEXT NOT NULL,
  case_count INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_eval_cases (
  id TEXT PRIMARY KEY,
  eval_run_id TEXT NOT NULL,
  suite_id TEXT NOT NULL,
  case_id TEXT NOT NULL,
  case_index INTEGER NOT NULL,
  name TEXT,
  status TEXT NOT NULL,
  case_run_id TEXT,
  input_json TEXT,
  expected_json TEXT,
  actual_json TEXT,
  assertions_json TEXT,
  error TEXT,
  started_at_ms INTEGER,
  finished_at_ms INTEGER,
  duration_ms REAL
)

CREATE TABLE _smithers_memory_facts (
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  value_json TEXT NOT NULL,
  schema_sig TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  ttl_ms INTEGER,
  run_id TEXT,
  node_id TEXT,
  iteration INTEGER,
  PRIMARY KEY (namespace, key)
)

CREATE TABLE _smithers_memory_threads (
  thread_id TEXT PRIMARY KEY,
  namespace TEXT NOT NULL,
  title TEXT,
  metadata_json TEXT,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_memory_messages (
  id TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL,
  role TEXT NOT NULL,
  content_json TEXT NOT NULL,
  run_id TEXT,
  node_id TEXT,
  iteration INTEGER,
  created_at_ms INTEGER NOT NULL
)

CREATE TABLE _smithers_memory_notes (
  id TEXT PRIMARY KEY,
  namespace TEXT NOT NULL,
  body TEXT NOT NULL,
  kind TEXT,
  tags_json TEXT,
  author TEXT,
  status TEXT NOT NULL DEFAULT 'accepted',
  status_changed_at_ms INTEGER,
  created_at_ms INTEGER NOT NULL,
  run_id TEXT,
  node_id TEXT,
  iteration INTEGER
)

CREATE TABLE _smithers_memory_note_supersessions (
  note_id TEXT NOT NULL,
  supersedes_id TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (note_id, supersedes_id)
)

CREATE TABLE _smithers_docs (
  path TEXT PRIMARY KEY,
  kind TEXT NOT NULL DEFAULT 'ticket',
  content TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  status TEXT,
  updated_at_ms INTEGER NOT NULL,
  deleted_at_ms INTEGER
)

CREATE TABLE _smithers_integration_deliveries (
  source_id TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,
  event_name TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'completed',
  claim_token TEXT,
  claim_expires_at_ms INTEGER,
  completed_at_ms INTEGER,
  PRIMARY KEY (source_id, dedupe_key)
)

CREATE TABLE _smithers_integration_cursors (
  source_id TEXT PRIMARY KEY,
  cursor TEXT,
  updated_at_ms INTEGER NOT NULL
)

CREATE INDEX _smithers_runs_status_heartbeat_idx ON _smithers_runs (status, heartbeat_at_ms)

CREATE INDEX _smithers_signals_lookup_idx ON _smithers_signals (run_id, signal_name, correlation_id, received_at_ms)

CREATE INDEX _smithers_time_travel_audit_lookup_idx ON _smithers_time_travel_audit (run_id, caller, timestamp_ms)

CREATE INDEX _smithers_docs_kind_live_idx ON _smithers_docs (kind, deleted_at_ms, updated_at_ms)

CREATE INDEX _smithers_memory_notes_namespace_idx ON _smithers_memory_notes (namespace, status, created_at_ms)

CREATE INDEX _smithers_memory_note_supersessions_target_idx ON _smithers_memory_note_supersessions (supersedes_id)

CREATE INDEX _smithers_snapshot_payload_refs_content_hash_idx ON _smithers_snapshot_payload_refs (content_hash)

CREATE INDEX _smithers_eval_cases_run_idx ON _smithers_eval_cases (eval_run_id, case_index)

CREATE INDEX _smithers_runs_parent_idx ON _smithers_runs (parent_run_id)

CREATE INDEX _smithers_alerts_fingerprint_idx ON _smithers_alerts (fingerprint)

CREATE INDEX _smithers_alerts_run_status_idx ON _smithers_alerts (run_id, status)

CREATE UNIQUE INDEX _smithers_tool_calls_call_token_uidx ON _smithers_tool_calls (call_token)

CREATE UNIQUE INDEX _smithers_tool_call_archive_call_token_uidx ON _smithers_tool_call_archive (call_token)

CREATE UNIQUE INDEX _smithers_scorers_identity_uidx ON _smithers_scorers (run_id, node_id, iteration, attempt, scorer_id, source)

CREATE TRIGGER _smithers_snapshot_payload_refs_insert AFTER INSERT ON _smithers_snapshot_payload_refs
BEGIN
  SELECT RAISE(ABORT, 'no compact snapshot for these contents')
  WHERE (SELECT count(*) FROM _smithers_snapshots s
    WHERE (s.run_id, s.frame_no, s.content_hash) = (NEW.run_id, NEW.frame_no, NEW.content_hash)
    AND s.nodes_json = '' AND s.outputs_json = '' AND s.ralph_json = '' AND s.input_json = '') = 0;
  SELECT RAISE(ABORT, 'no such snapshot contents')
  WHERE (SELECT count(*) FROM _smithers_snapshot_contents c WHERE c.content_hash = NEW.content_hash) = 0;
  UPDATE _smithers_snapshot_contents SET ref_count = ref_count + 1 WHERE content_hash = NEW.content_hash;
END

CREATE TRIGGER _smithers_snapshot_payload_refs_delete AFTER DELETE ON _smithers_snapshot_payload_refs
BEGIN
  UPDATE _smithers_snapshot_contents SET ref_count = ref_count - 1 WHERE content_hash = OLD.content_hash;
  DELETE FROM _smithers_snapshot_contents WHERE ref_count = 0 AND content_hash = OLD.content_hash;
END

CREATE TRIGGER _smithers_snapshot_payload_refs_update AFTER UPDATE OF content_hash ON _smithers_snapshot_payload_refs
WHEN NEW.content_hash IS NOT OLD.content_hash
BEGIN
  SELECT RAISE(ABORT, 'no compact snapshot for these contents')
  WHERE (SELECT count(*) FROM _smithers_snapshots s
    WHERE (s.run_id, s.frame_no, s.content_hash) = (NEW.run_id, NEW.frame_no, NEW.content_hash)
    AND s.nodes_json = '' AND s.outputs_json = '' AND s.ralph_json = '' AND s.input_json = '') = 0;
  SELECT RAISE(ABORT, 'no such snapshot contents')
  WHERE (SELECT count(*) FROM _smithers_snapshot_contents c WHERE c.content_hash = NEW.content_hash) = 0;
  UPDATE _smithers_snapshot_contents SET ref_count = ref_count - 1 WHERE content_hash = OLD.content_hash;
  DELETE FROM _smithers_snapshot_contents WHERE ref_count = 0 AND content_hash = OLD.content_hash;
  UPDATE _smithers_snapshot_contents SET ref_count = ref_count + 1 WHERE content_hash = NEW.content_hash;
END

CREATE TRIGGER _smithers_snapshots_payload_refs_reconcile
AFTER UPDATE OF content_hash, nodes_json, outputs_json, ralph_json, input_json ON _smithers_snapshots
BEGIN
  DELETE FROM _smithers_snapshot_payload_refs
  WHERE run_id = NEW.run_id AND frame_no = NEW.frame_no
  AND (content_hash IS NOT NEW.content_hash
    OR NEW.nodes_json <> '' OR NEW.outputs_json <> '' OR NEW.ralph_json <> '' OR NEW.input_json <> '');
END

CREATE TRIGGER _smithers_snapshots_payload_refs_cascade AFTER DELETE ON _smithers_snapshots
BEGIN
  DELETE FROM _smithers_snapshot_payload_refs WHERE run_id = OLD.run_id AND frame_no = OLD.frame_no;
END
