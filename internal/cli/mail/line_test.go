package mail_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// The line of an approval that is open in the row must not have the decision that was made since.
func TestALineIsOfTheEntryThatItsRowIsFrom(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	approval := func(status, more string) []snapshot.Change {
		return []snapshot.Change{{
			Op: snapshot.OpSet, Collection: snapshot.CollectionApprovals, Key: "ship::0",
			Value: []byte(`{"attempt":1,"status":"` + status + `","title":"Ship it?","requestedAtMs":1` + more + `}`),
		}}
	}
	head, err := store.Create(t.Context(), snapshot.Run{ID: "run", Workflow: "release", Status: snapshot.RunWaitingApproval}, snapshot.Draft{
		Frame: new(snapshot.FrameDraft), Mailbox: approval(snapshot.ApprovalRequested, ""),
		Ext: &snapshot.ExtDraft{Engine: "smithers", Files: map[string][]byte{"pass": []byte(`{"pass":1}`)}},
	})
	require.NoError(t, err)
	index, err := store.Details(t.Context())
	require.NoError(t, err)
	rows, err := index.Inbox(t.Context(), sqliteindex.InboxQuery{})
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Mailbox: approval(snapshot.ApprovalApproved, `,"decidedAtMs":2`)}))

	lines, err := mail.Lines(t.Context(), new(session.Session), store, rows)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	assert.Equal(t, snapshot.ApprovalRequested, lines[0].Status)
	assert.Equal(t, "smithers", lines[0].Engine)
	assert.False(t, lines[0].Untold)
}
