package tables

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

func TestEveryRowOfSmithersComesBackFromPredictionAndOverrides(t *testing.T) {
	t.Parallel()
	for _, run := range fixtureRuns(t) {
		for _, table := range run.tables {
			requireRows(t, run.id+" "+table.Name, run.restored(t, table.Name, run.at), run.rows[table.Name])
		}
	}
}

func TestWhatSmithersWritesIsPredictedButForFewColumns(t *testing.T) {
	t.Parallel()
	runs := fixtureRuns(t)
	config := dbrow.Override{Key: "[]", Value: `{"config_json":{"root":["{\"gatewaySystem\":false,\"maxConcurrency\":4,\"rootDir\":\"",` +
		`"\",\"allowNetwork\":false,\"maxOutputBytes\":200000,\"toolTimeoutMs\":60000,\"__smithersDurability\":{\"version\":2,` +
		`\"entryWorkflowHash\":\"4f51f6781126320b674bd73bcb6dc158a90736d8eb1fdec663195ecb0b4f6b08\"}}"]}}`}
	failed := dbrow.Override{Key: `["flaky",0,1]`, Value: `{"error_json":"{\"name\":\"Error\",\"message\":\"flaky boom on first attempt\",` +
		`\"stack\":\"Error: flaky boom on first attempt\\n    at children (/home/dev/project/workflow.tsx:27:181)` +
		`\\n    at run (node:async_hooks:144:29)\\n    at run (node:async_hooks:144:29)\"}"}`}
	static := dbrow.Override{Key: `["p1",0,1]`, Value: `{"meta_json":"{\"kind\":\"static\",\"prompt\":null,\"staticPayload\":{\"body\":\"static one\"},` +
		`\"label\":null,\"outputTable\":\"report\",\"needsApproval\":false,\"retries\":null,\"timeoutMs\":null,\"heartbeatTimeoutMs\":null,` +
		`\"lastHeartbeat\":null,\"agentId\":null,\"agentModel\":null,\"agentEngine\":null,\"agentResume\":null,\"agentConversation\":null,` +
		`\"resumedFromSession\":null,\"resumedFromConversation\":false,\"hijackHandoff\":null}"}`}

	require.Equal(t, map[string][]dbrow.Override{
		Runs:     {config},
		Attempts: {failed, static},
		Loops:    {{Key: `["refine"]`, Value: `{"updated_at_ms":1795196865360}`}},
		Nodes: { // resuming the run looked at them again
			{Key: `["flaky",0]`, Value: `{"updated_at_ms":1795196898685}`},
			{Key: `["p1",0]`, Value: `{"updated_at_ms":1795196898702}`},
			{Key: `["p2",0]`, Value: `{"updated_at_ms":1795196898702}`},
			{Key: `["p3",0]`, Value: `{"updated_at_ms":1795196898728}`},
			{Key: `["plan",0]`, Value: `{"updated_at_ms":1795196898655}`},
			{Key: `["ship",0]`, Value: `{"updated_at_ms":1795196898762}`},
		},
	}, runs["run-a"].allOverrides(t))

	replay := runs["8805e8f3-364c-48f2-a529-c256b52b3593"].allOverrides(t)
	require.Equal(t, map[string][]dbrow.Override{
		Runs:     {config},
		Attempts: {failed, static},
		Loops:    {{Key: `["refine"]`, Value: `{"updated_at_ms":1795199228056}`}},
		Nodes: { // it began to wait after the newest snapshot
			{Key: `["ship",0]`, Value: `{"state":"waiting-approval","updated_at_ms":1795199228188,"output_table":"shipDecision","label":"Ship?"}`},
		},
	}, replay)

	for _, fork := range []string{
		"34fd8fc8-b09b-4e88-84e0-d9efaa31224a", "ba38fd8d-1122-41cc-9724-7a45a4438581", "5b9a0ef2-e947-4ca3-bd10-c07cd33303e3",
	} {
		require.Equal(t, map[string][]dbrow.Override{Runs: {config}}, runs[fork].allOverrides(t), "a fork that was never started")
	}

	inJJ := runs["run-j"].allOverrides(t)
	require.Equal(t, []dbrow.Override{failed, static}, inJJ[Attempts], "commit ids are ours too")
	require.ElementsMatch(t, []string{Runs, Attempts, Loops, Nodes}, slices.Collect(maps.Keys(inJJ)))
}

func TestPathsGoToTheRootThatRowsAreRestoredFor(t *testing.T) {
	t.Parallel()
	run := fixtureRuns(t)["run-j"]
	require.Equal(t, dbrow.Root("/home/dev/project"), run.at)
	for _, at := range []dbrow.Root{"/srv/elsewhere", `/srv/with "quotes"`, `C:\work`} {
		row := run.restored(t, Runs, at)[0]
		require.Equal(t, string(at), row["vcs_root"].Bytes)
		require.Equal(t, string(at)+"/workflow.tsx", row["workflow_path"].Bytes)
		config, err := jsonobject.Parse([]byte(row["config_json"].Bytes))
		require.NoError(t, err)
		require.Equal(t, string(at), jsonobject.TextOf(config, "rootDir"))

		for _, attempt := range run.restored(t, Attempts, at) {
			if attempt["jj_cwd"].Kind != source.Null {
				require.Equal(t, string(at), attempt["jj_cwd"].Bytes)
			}
		}
	}
}

func TestNoOverrideOfAPathNamesItsRoot(t *testing.T) {
	t.Parallel()
	for _, run := range fixtureRuns(t) {
		for table, all := range run.allOverrides(t) {
			for _, o := range all {
				if !strings.Contains(o.Value, `"error_json"`) { // that is the user's
					require.NotContains(t, o.Value, "/home/dev", "%s %s", table, o.Key)
				}
			}
		}
	}
}

func TestColumnsOfProcessesStayBehind(t *testing.T) {
	t.Parallel()
	run := fixtureRuns(t)["run-a"]
	owned := maps.Clone(run.rows[Runs][0])
	owned["runtime_owner_id"], owned["heartbeat_at_ms"] = dbrow.Text("pid:4711:host"), dbrow.Int(1795196864402)
	owned["cancel_request_client_pid"], owned["hijack_target"] = dbrow.Int(4711), dbrow.Text("claude")
	before := run.allOverrides(t)
	pristine := run.rows[Runs]
	run.rows[Runs] = []source.Row{owned}

	require.Equal(t, before, run.allOverrides(t))
	requireRows(t, Runs, run.restored(t, Runs, run.at), pristine)
}

func TestAForkDoesNotSayWhatItsParentDid(t *testing.T) {
	t.Parallel()
	runs := fixtureRuns(t)
	parent, fork := runs["run-a"].facts, runs["8805e8f3-364c-48f2-a529-c256b52b3593"]
	before := fork.allOverrides(t)
	fork.facts.Attempts = append(slices.Clone(parent.Attempts), fork.facts.Attempts...) // as our forks have them
	fork.facts.Whole.Approvals = append(slices.Clone(parent.Whole.Approvals), fork.facts.Whole.Approvals...)

	require.Equal(t, before, fork.allOverrides(t))
}

func TestAColumnThatSmithersDoesNotHaveYetIsKept(t *testing.T) {
	t.Parallel()
	run := fixtureRuns(t)["run-a"]
	i := slices.IndexFunc(run.tables, func(table source.Table) bool { return table.Name == Signals })
	run.tables[i].Columns = append(slices.Clone(run.tables[i].Columns), source.Column{Name: `from "0.40"`, Type: "BLOB"})
	run.rows[Signals][0][`from "0.40"`] = source.Value{Kind: source.Blob, Bytes: "\x00\xff"}

	require.Equal(t, []dbrow.Override{{Key: "[12]", Value: `{"from \"0.40\"":{"blob":"AP8="}}`}}, run.overrides(t, Signals))
	requireRows(t, Signals, run.restored(t, Signals, run.at), run.rows[Signals])
}

func TestAColumnThatAnOlderSmithersLacksIsNotPredicted(t *testing.T) {
	t.Parallel()
	run := fixtureRuns(t)["run-a"]
	i := slices.IndexFunc(run.tables, func(table source.Table) bool { return table.Name == Approvals })
	run.tables[i].Columns = slices.DeleteFunc(slices.Clone(run.tables[i].Columns), func(c source.Column) bool { return c.Name == "auto_approved" })
	delete(run.rows[Approvals][0], "auto_approved")

	require.Empty(t, run.overrides(t, Approvals))
	requireRows(t, Approvals, run.restored(t, Approvals, run.at), run.rows[Approvals])
}

// requireRows compares rows, in their order.
func requireRows(t *testing.T, what string, got, want []source.Row) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		if !maps.EqualFunc(got[i], want[i], dbrow.Same) {
			require.Equal(t, want[i], got[i], "%s: row %d", what, i)
			t.Fatalf("%s: row %d is\n%v, want\n%v", what, i, got[i], want[i])
		}
	}
}

func TestATableWhoseColumnsCannotBeNamedIsNotPredicted(t *testing.T) {
	t.Parallel()
	_, err := Predict(&Facts{}, source.Table{Name: "t", Columns: []source.Column{{Name: "run_id"}, {Name: "\xff"}}}, nil)
	require.ErrorIs(t, err, source.ErrDamaged)
}
