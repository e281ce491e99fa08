package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

func realValue(f float64) source.Value { return source.Value{Kind: source.Real, Real: f} }

func blobValue(b string) source.Value { return source.Value{Kind: source.Blob, Bytes: b} }

func TestAWaitThatHasItsSignalSaysSo(t *testing.T) {
	t.Parallel()
	e := &tree.Element{Props: map[string]string{"onTimeout": "fail", "waitAsync": "false"}}
	w := snapshot.Wait{NodeID: "n", Signal: "go", StartedAtMs: 100, DueAtMs: new(int64(600)), Status: snapshot.WaitReceived}
	require.JSONEq(t, `{"kind":"wait-for-event","waitForEvent":{"signalName":"go","correlationId":null,"onTimeout":"fail","timeoutMs":500,
		"waitAsync":false,"startedAtMs":100,"resolvedSignalSeq":7,"receivedAtMs":150,"timedOutAtMs":null}}`,
		WaitMeta(e, w, snapshot.Signal{Seq: 7, ReceivedAtMs: 150}))
}

func TestARunsPathsAreInItsRoot(t *testing.T) {
	t.Parallel()
	for _, root := range []dbrow.Root{"/srv/elsewhere", "/"} {
		f := &Facts{Run: snapshot.Run{WorkflowPath: "a/b.tsx", VCSType: snapshot.VCSGit}, Root: root}
		row := f.Rows(Runs)[0]
		require.Equal(t, root.Join([]string{"", "/a/b.tsx"}, false), row["workflow_path"].Bytes)
		require.Equal(t, root.Join([]string{"", ""}, false), row["vcs_root"].Bytes)
	}
}
