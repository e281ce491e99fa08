package mail

import (
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ForeignSignal returns the command with which Smithers sends the same signal to a run. The command does not begin with
// the name of the program. run is the id of the run, and sent is the signal.
func ForeignSignal(run string, sent snapshot.Signal) string {
	args := signalArguments(run, sent)
	if payload := string(sent.Payload); payload != "" && payload != "null" {
		args = append(args, "--data", payload)
	}
	return fault.CommandLine(args[0], args[1:]...)
}

// signalArguments returns the words of the command that sends a signal, without the program and without the payload.
// The words are the same for git smithers and Smithers. run is the id of the run, and sent is the signal.
func signalArguments(run string, sent snapshot.Signal) []string {
	args := []string{"signal", run, sent.Name}
	if sent.CorrelationID != nil && *sent.CorrelationID != "" {
		args = append(args, "--correlation", *sent.CorrelationID)
	}
	return args
}

// ForeignDecision returns the command with which Smithers makes the same decision on an approval. The command does not
// begin with the name of the program. run is the id of the run, and decided is the approval. If decided is not denied,
// the command approves.
func ForeignDecision(run string, decided snapshot.Approval) string {
	args := []string{run, "--node", decided.NodeID, "--iteration", strconv.Itoa(decided.Iteration)}
	if decided.Note != nil {
		args = append(args, "--note", *decided.Note)
	}
	if decided.Status == snapshot.ApprovalDenied {
		return fault.CommandLine("deny", args...)
	}
	return fault.CommandLine("approve", args...)
}

// ForeignAnswer returns the command with which Smithers settles a human request in the same way. If h is answered, the
// command gives the same answer; otherwise the command cancels the request. The command does not begin with the name of
// the program. run is the id of the run.
func ForeignAnswer(run string, h snapshot.HumanRequest) string {
	if h.Status != snapshot.HumanAnswered {
		return fault.CommandLine("human", "cancel", h.RequestID(run))
	}
	return fault.CommandLine("human", "answer", h.RequestID(run), "--value", string(h.Response))
}
