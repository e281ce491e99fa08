package dbrun

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Mail has the mailbox and the waits of a run, in the order of Smithers' rows.
type Mail struct {
	Approvals     []snapshot.Approval
	HumanRequests []snapshot.HumanRequest
	Signals       []Signal
	Tries         [][]Attempt // the attempts of each node that waits or waited: see readTries
}

// Signal is a signal with Smithers' number. The field Seq of the inner signal is unset, because git-smithers'
// number depends on the state that receives the signal.
type Signal struct {
	Signal snapshot.Signal
	Seq    int64 // Smithers' number
}

// ReadMail reads the mailbox of a run from rows, by table. It leaves out invalid rows, and the approvals that
// belong to human requests. If several signals have the same digest, it keeps the first. attempts, events and
// createdAtMs are for approvals without a request time: see readApprovals.
func ReadMail(rows map[string][]source.Row, attempts []Attempt, events []Event, createdAtMs int64) Mail {
	mail := Mail{Approvals: readApprovals(rows[tables.Approvals], attempts, events, createdAtMs), Tries: readTries(attempts)}
	for _, row := range rows[tables.HumanRequests] {
		if h, ok := tables.ReadHumanRequest(row); ok {
			mail.HumanRequests = append(mail.HumanRequests, h)
		}
	}
	have := make(map[string]bool)
	for _, row := range rows[tables.Signals] {
		s, ok := tables.ReadSignal(row)
		if !ok || have[s.Digest()] {
			continue
		}
		have[s.Digest()] = true
		mail.Signals = append(mail.Signals, Signal{s, row["seq"].Int})
	}
	return mail
}

// readApprovals reads the approvals from rows of _smithers_approvals. It leaves out invalid rows, and the
// approvals that belong to human requests: see tables.IsHumanGate. A row without a request time gets the time
// of the node's last ApprovalRequested, or else of the node's last attempt, or else createdAtMs.
func readApprovals(rows []source.Row, attempts []Attempt, events []Event, createdAtMs int64) (approvals []snapshot.Approval) {
	asked := make(map[string]int64)
	for _, a := range attempts {
		key := snapshot.Key(a.Attempt.NodeID, a.Attempt.Iteration)
		asked[key] = max(asked[key], a.Attempt.StartedAtMs)
	}
	for _, e := range events {
		if e.kind == "ApprovalRequested" {
			asked[e.node] = e.atMs
		}
	}
	for _, row := range rows {
		key := snapshot.Key(dbrow.TextOf(row, "node_id"), int(row["iteration"].Int))
		at, known := asked[key]
		if !known {
			at = createdAtMs
		}
		if a, ok := tables.ReadApproval(row, at); ok && !tables.IsHumanGate(row) {
			approvals = append(approvals, a)
		}
	}
	return approvals
}

// readTries returns the attempts of each node that waits, or waited, for a signal or a time. The result has one
// list for each node. A list has the attempts in the order of attempts.
func readTries(attempts []Attempt) (tries [][]Attempt) {
	waits := make(map[string]bool)
	for _, a := range attempts {
		if a.Wait != nil {
			waits[snapshot.Key(a.Attempt.NodeID, a.Attempt.Iteration)] = true
		}
	}
	at := make(map[string]int)
	for _, a := range attempts {
		key := snapshot.Key(a.Attempt.NodeID, a.Attempt.Iteration)
		if !waits[key] {
			continue
		}
		i, known := at[key]
		if !known {
			i = len(tries)
			at[key], tries = i, append(tries, nil)
		}
		tries[i] = append(tries[i], a)
	}
	return tries
}
