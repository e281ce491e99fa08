package mailbox_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// An engine without nodes, such as LangGraph, has requests in the mailbox alone.
func TestAPendingRequestWithoutANodeIsAWait(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=0"), Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	request := func(node, status string, answered *int64, response json.RawMessage) snapshot.Change {
		return snapshot.SetRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(snapshot.HumanRequest{
			NodeID: node, Attempt: 1, Kind: snapshot.HumanJSON, Status: status, Prompt: node + "?", Form: json.RawMessage(`{}`),
			RequestedAtMs: 1, AnsweredAtMs: answered, Response: response,
		}))
	}
	at := int64(2)
	head, err := s.Create(t.Context(), snapshot.Run{ID: "r", Status: snapshot.RunWaitingHuman}, snapshot.Draft{Mailbox: []snapshot.Change{
		request("open", snapshot.HumanPending, nil, nil), request("answered", snapshot.HumanAnswered, &at, json.RawMessage(`1`)),
	}})
	require.NoError(t, err)

	waits, err := mailbox.WaitsOf(head, time.Now())
	require.NoError(t, err)
	assert.Equal(t, []mailbox.Waiting{{NodeID: "open", For: "human", What: "open?", RequestID: new("human:r:open:0")}}, waits)

	// With a node, the node's state says whether it waits.
	finished := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(snapshot.NewNode("open", snapshot.NodeFinished))}}}
	require.NoError(t, head.Append(t.Context(), finished))
	waits, err = mailbox.WaitsOf(head, time.Now())
	require.NoError(t, err)
	assert.Empty(t, waits)
}
