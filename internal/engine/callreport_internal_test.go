package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// FuzzCallReport checks that whatever a command writes to its file of tool calls, each call that is taken in can be stored.
func FuzzCallReport(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","tool":"bash","input":{"a":1}}` + "\n" + `{"id":"1","output":null,"durationMs":5}`,
		`{"tool":"a","status":"unknown","error":[1],"startedAtMs":1,"finishedAtMs":0,"sideEffect":true,"idempotencyKey":"k"}`,
		"\n\nnonsense\n{}\n[]\n\"\xff\"", `{"tool":"\ud800"}`, `{"tool":"a","tool":"b","input":1e999}`, `{"TOOL":"a","Output":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "calls")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		report, err := newCallReport(path, snapshot.Attempt{NodeID: "n", Attempt: 1}, func() time.Time { return time.UnixMilli(1_700_000_000_000) })
		require.NoError(t, err)
		require.NoError(t, report.finish())
		for i, change := range report.take() {
			call, err := snapshot.DecodeToolCall(page.Row{Key: change.Key, Value: change.Value})
			require.NoError(t, err)
			require.Equal(t, i+1, call.Seq)
		}
		require.Empty(t, report.take())
	})
}
