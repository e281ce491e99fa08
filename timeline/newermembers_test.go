package timeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// withMember returns the value of a row with a member more, which sorts last.
func withMember(r page.Row) string {
	return strings.TrimSuffix(string(r.Value), "}") + `,"zz":[1,{"a":"b"}]}`
}

func TestVerifySaysWhetherARowIsNewerOrDamaged(t *testing.T) {
	t.Parallel()
	call := snapshot.EncodeToolCall(snapshot.ToolCall{NodeID: "a", Attempt: 1, ToolName: "bash", Status: snapshot.ToolCallIntended})
	attempt := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptFinished})
	op := snapshot.EncodeOp(snapshot.Op{Number: 1, Kind: snapshot.OpFork})
	approval := snapshot.EncodeApproval(snapshot.Approval{NodeID: "ship", Attempt: 1, Status: snapshot.ApprovalRequested})
	journal := func(f forger, name string, row page.Row, value string) {
		f.append("040000", "tree", f.GitInput("100644 blob "+f.collection(row.Key, value)+"\t"+name+"\n", "mktree"), "journal", nil)
	}
	for _, c := range []struct {
		name  string
		forge func(forger)
		code  fault.Code // empty if the history is sound
	}{
		{"a tool call", func(f forger) { journal(f, "tool-calls", call, string(call.Value)) }, ""},
		{"a tool call with an unknown member", func(f forger) { journal(f, "tool-calls", call, withMember(call)) }, ""},
		{"an attempt with an unknown member", func(f forger) { journal(f, "attempts", attempt, withMember(attempt)) }, ""},
		{"a tool call without a name", func(f forger) { journal(f, "tool-calls", call, `{"startedAtMs":0,"status":"intended"}`) }, fault.CorruptObject},
		{"an op with an unknown member", func(f forger) { journal(f, "ops", op, withMember(op)) }, fault.NewerFormat},
		{
			"an approval with an unknown member",
			func(f forger) {
				f.append("100644", "blob", f.collection(approval.Key, withMember(approval)), "approvals", nil)
			},
			fault.NewerFormat,
		},
		{"a run with an unknown member", func(f forger) { f.row(`"status":"running"`, `"since":3,"status":"running"`) }, fault.NewerFormat},
		{"a run with a member twice", func(f forger) { f.row(`"status":"running"`, `"status":"running","status":"running"`) }, fault.CorruptObject},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			head := triage(t, open(t, repo), "one")
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) { row.Status = snapshot.RunRunning }}))
			c.forge(forger{repo, t, "one"})
			if c.code == "" {
				assert.Empty(t, problems(t, repo))
				return
			}
			repo.Damaged()
			found := problems(t, repo)
			require.NotEmpty(t, found)
			assert.Equal(t, c.code, found[0].Code, found[0].What)
			assert.Equal(t, repo.Git("rev-parse", "refs/smithers/_tip/one"), found[0].Commit)
		})
	}
}

func TestACaptureKeepsMembersOfANewerVersion(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	_, err := capture(t, capturer(t, s), `{"state":`+wholeState+`}`)
	require.NoError(t, err)
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	running := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "a", Attempt: 1, State: snapshot.AttemptInProgress, StartedAtMs: 1})
	call := snapshot.EncodeToolCall(snapshot.ToolCall{NodeID: "a", Attempt: 1, ToolName: "bash", Status: snapshot.ToolCallIntended})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Journal: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: running.Key, Value: json.RawMessage(withMember(running))},
		{Op: snapshot.OpSet, Collection: snapshot.CollectionToolCalls, Key: call.Key, Value: json.RawMessage(withMember(call))},
	}}))
	_, err = capture(t, capturer(t, s), `{"changes":[
		{"op":"set","collection":"attempts","key":"a::0::1","value":{"state":"finished","startedAtMs":1,"finishedAtMs":2,"error":"<&>"}},
		{"op":"set","collection":"tool-calls","key":"a::0::1::0","value":{"toolName":"bash","status":"failed","startedAtMs":0}}]}`)
	require.NoError(t, err)
	attempts := repo.Git("show", "refs/smithers/_tip/run:journal/attempts")
	assert.Contains(t, attempts, `"error":"<&>"`)
	assert.Contains(t, attempts, `"commitId":"`+repo.Git("rev-parse", "HEAD"), "the files of an attempt that ends are still named")
	assert.Contains(t, attempts, `,"zz":[1,{"a":"b"}]}`)
	assert.Equal(t, `["a::0::1::0",{"startedAtMs":0,"status":"failed","toolName":"bash","zz":[1,{"a":"b"}]}]`, repo.Git("show", "refs/smithers/_tip/run:journal/tool-calls"))

	_, err = capture(t, capturer(t, s), `{"changes":[{"op":"set","collection":"attempts","key":"a::0::1","value":`+withMember(running)+`}]}`)
	assert.Equal(t, fault.InvalidState, fault.CodeOf(err))
	assert.ErrorContains(t, err, "zz: unknown field")
}
