package tables

import (
	"maps"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// with is a row with some columns set otherwise.
func with(row source.Row, columns source.Row) source.Row {
	row = maps.Clone(row)
	maps.Copy(row, columns)
	return row
}

// fixtureRow is the first row that a database of Smithers 0.32.0 has of a run in a table.
func fixtureRow(t *testing.T, database, table, run string) (first source.Row) {
	t.Helper()
	db, err := source.Open(t.Context(), filepath.Join("..", "..", "..", "..", "testdata", "smithers", database))
	require.NoError(t, err)
	require.NoError(t, db.Read(t.Context(), func(tx *source.Tx) error {
		for row, err := range tx.Rows(table, run) {
			require.NoError(t, err)
			first = row
			break
		}
		return nil
	}))
	require.NoError(t, db.Close())
	return first
}

// requireRow compares the only one of rows with a row that may have run_id.
func requireRow(t *testing.T, want source.Row, rows []source.Row) {
	t.Helper()
	require.Len(t, rows, 1)
	for column, v := range want {
		if !dbrow.IsRunColumn(column) {
			require.True(t, dbrow.Same(v, rows[0][column]), "%s: %v, want %v", column, rows[0][column], v)
		}
	}
	for column := range rows[0] {
		require.True(t, dbrow.Same(rows[0][column], want[column]), column)
	}
}

// odd are values that no column of Smithers expects.
var odd = map[string]source.Value{
	"NULL": {}, "a blob": blobValue("\x00"), "text that is not UTF-8": dbrow.Text("\xff"), "empty text": dbrow.Text(""), "text": dbrow.Text("?"),
	"a negative number": dbrow.Int(-1), "a number beyond doubles": dbrow.Int(math.MaxInt64), "a fraction": realValue(1.5), "infinity": realValue(math.Inf(1)),
}

var someAttempt = source.Row{
	"node_id": dbrow.Text("n"), "iteration": dbrow.Int(1), "attempt": dbrow.Int(2), "state": dbrow.Text("finished"),
	"started_at_ms": dbrow.Int(10), "finished_at_ms": dbrow.Int(20), "jj_pointer": dbrow.Text("abc123"), "response_text": dbrow.Text("done"),
}

func TestAnAttemptOfSmithersIsOneOfOurs(t *testing.T) {
	t.Parallel()
	a, log, ok := ReadAttempt(someAttempt)
	require.True(t, ok)
	require.Equal(t, "done", log)
	require.Equal(t, snapshot.Attempt{
		NodeID: "n", Iteration: 1, Attempt: 2, State: "finished", StartedAtMs: 10, FinishedAtMs: new(int64(20)), CommitID: "abc123",
	}, a)
}

func TestStatesThatWeDoNotHaveBecomeTheNearestOfOurs(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"waiting-approval": "waiting-approval", "waiting-quota": "waiting-event", "skipped": "cancelled", "canceled": "cancelled", "exploded": "in-progress",
	} {
		a, _, ok := ReadAttempt(with(someAttempt, source.Row{"state": dbrow.Text(state), "finished_at_ms": {}}))
		require.True(t, ok)
		require.Equal(t, want, a.State, state)
	}
	a, _, _ := ReadAttempt(with(someAttempt, source.Row{"state": dbrow.Text("exploded")}))
	require.Equal(t, "failed", a.State, "it has ended")

	for status, want := range map[string]snapshot.RunStatus{
		"waiting-approval": snapshot.RunWaitingApproval, "waiting-quota": snapshot.RunWaitingTimer, "waiting-moon": snapshot.RunWaitingEvent,
		"continued": snapshot.RunFinished, "canceled": snapshot.RunCancelled, "paused": snapshot.RunWaitingEvent, "": snapshot.RunPending,
	} {
		run, _ := ReadRun(source.Row{"status": dbrow.Text(status)})
		require.Equal(t, want, run.Status, status)
	}
}

func TestAnErrorSaysItsCodeOrNameAndItsMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name":"Error","message":"boom","stack":"…"}`:           "Error: boom",
		`{"code":"TASK_TIMEOUT","name":"Error","message":"slow"}`: "TASK_TIMEOUT: slow",
		`{"message":"boom"}`:            "boom",
		`{"name":"Error"}`:              "Error",
		`{"name":7,"message":["boom"]}`: "",
		`"boom"`:                        `"boom"`,
		`boom`:                          "boom",
		``:                              "",
		"\xff":                          "",
	} {
		require.Equal(t, want, errorText(source.Row{"error_json": dbrow.Text(text)}), text)
	}
	require.Empty(t, errorText(source.Row{"error_json": {}}))
}

func TestWhateverStandsInARowWhatWeTakeOfItCanBeStored(t *testing.T) {
	t.Parallel()
	approval := source.Row{
		"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "status": dbrow.Text("approved"), "requested_at_ms": dbrow.Int(1),
		"decided_at_ms": dbrow.Int(2), "decided_by": dbrow.Text("me"), "note": dbrow.Text("go"), "request_json": dbrow.Text(`{"title":"T","summary":"S"}`),
	}
	human := source.Row{
		"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "kind": dbrow.Text("select"), "status": dbrow.Text("answered"), "prompt": dbrow.Text("p"),
		"options_json": dbrow.Text(`["a"]`), "response_json": dbrow.Text(`"a"`), "requested_at_ms": dbrow.Int(1), "answered_at_ms": dbrow.Int(2),
		"answered_by": dbrow.Text("me"), "timeout_at_ms": dbrow.Int(9), "schema_json": {},
	}
	signal := source.Row{
		"seq": dbrow.Int(3), "signal_name": dbrow.Text("s"), "correlation_id": dbrow.Text("c"), "payload_json": dbrow.Text("1"),
		"received_at_ms": dbrow.Int(1), "received_by": dbrow.Text("me"),
	}
	take := map[string]struct {
		row   source.Row
		check func(source.Row) error
	}{
		"attempt": {someAttempt, func(row source.Row) error {
			if a, _, ok := ReadAttempt(row); ok {
				_, err := snapshot.DecodeAttempt(snapshot.EncodeAttempt(a))
				return err
			}
			return nil
		}},
		"approval": {approval, func(row source.Row) error {
			if a, ok := ReadApproval(row, 1); ok {
				_, err := snapshot.DecodeApproval(snapshot.EncodeApproval(a))
				return err
			}
			return nil
		}},
		"human request": {human, func(row source.Row) error {
			if h, ok := ReadHumanRequest(row); ok {
				_, err := snapshot.DecodeHumanRequest(snapshot.EncodeHumanRequest(h))
				return err
			}
			return nil
		}},
		"signal": {signal, func(row source.Row) error {
			if s, ok := ReadSignal(row); ok {
				_, err := snapshot.DecodeSignal(snapshot.EncodeSignal(s))
				return err
			}
			return nil
		}},
	}
	for what, test := range take {
		require.NoError(t, test.check(test.row), what)
		for column := range test.row {
			for name, v := range odd {
				require.NoError(t, test.check(with(test.row, source.Row{column: v})), "%s: %s is %s", what, column, name)
			}
		}
	}
}

func TestARowWithoutWhatIdentifiesItIsNotOneOfOurs(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"node_id", "iteration", "attempt", "started_at_ms"} {
		_, _, ok := ReadAttempt(with(someAttempt, source.Row{column: {}}))
		require.False(t, ok, column)
	}
	for name, row := range map[string]source.Row{
		"of no kind of status": {"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "status": dbrow.Text("?")},
		"without a node":       {"iteration": dbrow.Int(0), "status": dbrow.Text("requested")},
	} {
		_, ok := ReadApproval(row, 1)
		require.False(t, ok, name)
	}
	_, ok := ReadHumanRequest(source.Row{"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0)})
	require.False(t, ok)
	_, ok = ReadSignal(source.Row{"signal_name": dbrow.Text("s"), "received_at_ms": dbrow.Int(1), "payload_json": dbrow.Text("{")})
	require.False(t, ok)
}

func TestAnApprovalOfSmithersIsOneOfOurs(t *testing.T) {
	t.Parallel()
	a, ok := ReadApproval(fixtureRow(t, "git-run-fork-replay.db", Approvals, "run-a"), 1795196865460)
	require.True(t, ok)
	require.Equal(t, snapshot.Approval{
		NodeID: "ship", Attempt: 1, Status: snapshot.ApprovalApproved, Title: "Ship?", Summary: "sum", RequestedAtMs: 1795196865460,
		DecidedAtMs: new(int64(1795196893612)), DecidedBy: new("lab"), Note: new("go"),
	}, a)
}

func TestADecisionWithoutATimeIsFromWhenItWasAskedFor(t *testing.T) {
	t.Parallel()
	a, ok := ReadApproval(source.Row{"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "status": dbrow.Text("denied")}, 7)
	require.True(t, ok)
	require.Equal(t, new(int64(7)), a.DecidedAtMs)
}

func TestAHumanRequestOfSmithersIsOneOfOurs(t *testing.T) {
	t.Parallel()
	ask := source.Row{
		"request_id": dbrow.Text("human:r:n:0"), "run_id": dbrow.Text("r"), "node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "kind": dbrow.Text("select"),
		"status": dbrow.Text("pending"), "prompt": dbrow.Text("Which?"), "schema_json": {}, "options_json": dbrow.Text(`["a","b"]`), "response_json": {},
		"requested_at_ms": dbrow.Int(5), "answered_at_ms": {}, "answered_by": {}, "timeout_at_ms": {},
	}
	answered := with(ask, source.Row{
		"status": dbrow.Text("answered"), "response_json": dbrow.Text(`"a"`), "answered_at_ms": dbrow.Int(6), "answered_by": dbrow.Text("me"),
	})
	form := with(answered, source.Row{"kind": dbrow.Text("json"), "options_json": {}, "schema_json": dbrow.Text(`{"type":"object"}`)})
	for name, row := range map[string]source.Row{
		"pending": ask, "answered": answered, "a form": form,
		"cancelled": with(ask, source.Row{"status": dbrow.Text("cancelled"), "answered_at_ms": dbrow.Int(6)}),
		"expired":   with(ask, source.Row{"status": dbrow.Text("expired"), "answered_at_ms": dbrow.Int(6), "timeout_at_ms": dbrow.Int(6)}),
	} {
		h, ok := ReadHumanRequest(row)
		require.True(t, ok, name)
		f := &Facts{Run: snapshot.Run{ID: "r"}, Whole: snapshot.Whole{HumanRequests: []snapshot.HumanRequest{h}}}
		requireRow(t, row, f.Rows(HumanRequests))
	}
}

func TestARunOfSmithersIsOneOfOurs(t *testing.T) {
	t.Parallel()
	got, at := ReadRun(fixtureRow(t, "jj-pristine-31frames.db", Runs, "run-j"))
	require.Equal(t, dbrow.Root("/home/dev/project"), at)
	require.Equal(t, snapshot.Run{
		ID: "run-j", Workflow: "lab", WorkflowPath: "workflow.tsx", WorkflowHash: "51251eb7b10ea70329567d2e245c91a682a79a74695884508a8a26f875ace2f2",
		Status: snapshot.RunFinished, CreatedAtMs: 1795196955682, StartedAtMs: new(int64(1795196955682)), FinishedAtMs: new(int64(1795196967516)),
		VCSType: "jj", VCSRevision: "d4fda1c405ee99c5ad68ba11a749496b98034576",
	}, got)
}

func TestTheRootOfARunIsItsRepositoryOrWhereItWasStartedOrItsWorkflow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  source.Row
		root dbrow.Root
		path string
	}{
		"its repository": {source.Row{
			"vcs_root": dbrow.Text("/a"), "config_json": dbrow.Text(`{"rootDir":"/a/b"}`), "workflow_path": dbrow.Text("/a/b/w.tsx"),
		}, "/a", "b/w.tsx"},
		"where it was started": {source.Row{"config_json": dbrow.Text(`{"rootDir":"/a/b"}`), "workflow_path": dbrow.Text("/a/b/w.tsx")}, "/a/b", "w.tsx"},
		"its workflow":         {source.Row{"workflow_path": dbrow.Text("/a/b/w.tsx")}, "/a/b", "w.tsx"},
		"a workflow elsewhere": {source.Row{"vcs_root": dbrow.Text("/a"), "workflow_path": dbrow.Text("/b/w.tsx")}, "/a", ""},
		"none":                 {source.Row{"vcs_root": {}, "config_json": dbrow.Text("{"), "workflow_path": dbrow.Int(1)}, "", ""},
	} {
		run, at := ReadRun(test.row)
		require.Equal(t, test.root, at, name)
		require.Equal(t, test.path, run.WorkflowPath, name)
	}
}

func TestWhoDoesATaskOpensItsGate(t *testing.T) {
	t.Parallel()
	tree := `{"kind":"element","tag":"smithers:task","props":{"approvalMode":"decision","id":"n","label":"human:n","needsApproval":"true",` +
		`"retries":"9","waitAsync":"false"},"children":[]}`
	request := `{"mode":"decision","waitAsync":false,"title":"human:n","summary":null,"metadata":{"humanTask":true,"maxAttempts":10,"prompt":"How much?"},` +
		`"options":[],"allowedScopes":[],"allowedUsers":[],"autoApprove":null}`
	asked := snapshot.HumanRequest{NodeID: "n", Attempt: 1, Kind: snapshot.HumanJSON, Status: snapshot.HumanPending, Prompt: "How much?", RequestedAtMs: 5}
	answered, cancelled := asked, asked
	answered.Status, answered.AnsweredAtMs, answered.AnsweredBy, answered.Response = snapshot.HumanAnswered, new(int64(7)), new("ada"), []byte(`3`)
	cancelled.Status, cancelled.AnsweredAtMs = snapshot.HumanCancelled, new(int64(7))
	for _, test := range []struct {
		request snapshot.HumanRequest
		row     source.Row
	}{
		{asked, source.Row{"status": dbrow.Text("requested"), "requested_at_ms": dbrow.Int(5)}},
		{answered, source.Row{"status": dbrow.Text("approved"), "decided_at_ms": dbrow.Int(7), "decided_by": dbrow.Text("ada"), "note": dbrow.Text("3")}},
		{cancelled, source.Row{"status": dbrow.Text("denied"), "decided_at_ms": dbrow.Int(7), "note": dbrow.Text("Human request cancelled: human:r:n:0")}},
	} {
		f := &Facts{
			Run: snapshot.Run{ID: "r"}, Frames: []FrameFacts{{Tree: tree}}, Whole: snapshot.Whole{HumanRequests: []snapshot.HumanRequest{test.request}},
		}
		want := with(test.row, source.Row{
			"node_id": dbrow.Text("n"), "iteration": dbrow.Int(0), "request_json": dbrow.Text(request), "auto_approved": dbrow.Int(0),
		})
		require.True(t, IsHumanGate(want))
		requireRow(t, want, f.Rows(Approvals))
	}
}
