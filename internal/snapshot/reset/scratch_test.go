package reset_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// stateWith is a state made by changes.
func stateWith(t require.TestingT, w objstore.Writer, changes ...snapshot.Change) *snapshot.State {
	s, err := snapshot.EmptyState().Edit(w, changes)
	require.NoError(t, err)
	return s
}

func output(table, nodeID string, iteration int, value string) snapshot.Change {
	return snapshot.SetOutput(table, nodeID, iteration, json.RawMessage(value))
}

func signal(seq int64, name string) snapshot.Change {
	return snapshot.SetRow(snapshot.CollectionSignals, snapshot.EncodeSignal(
		snapshot.Signal{Seq: seq, Name: name, Payload: []byte(`{"ok": true}`), ReceivedAtMs: 1}))
}

// mail is what a node and its iteration wait for, in every collection of the mailbox that has such rows.
func mail(id string, iteration int) []snapshot.Change {
	return []snapshot.Change{
		snapshot.SetRow(snapshot.CollectionApprovals, snapshot.EncodeApproval(
			snapshot.Approval{NodeID: id, Iteration: iteration, Attempt: 1, Status: snapshot.ApprovalRequested, Title: "Ship it?"})),
		snapshot.SetRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(
			snapshot.HumanRequest{NodeID: id, Iteration: iteration, Attempt: 1, Kind: snapshot.HumanConfirm, Status: snapshot.HumanPending})),
		snapshot.SetRow(snapshot.CollectionWaits, snapshot.EncodeWait(
			snapshot.Wait{NodeID: id, Iteration: iteration, Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "go"})),
	}
}
