package mail

import (
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ForeignSignal returns the command of Smithers that sends a signal to a run, without the program.
func ForeignSignal(run string, sent snapshot.Signal) string {
	args := signalArguments(run, sent)
	if payload := string(sent.Payload); payload != "" && payload != "null" {
		args = append(args, "--data", payload)
	}
	return fault.CommandLine(args[0], args[1:]...)
}

// signalArguments returns the words of the command that sends a signal, without the program and the payload.
// git-smithers and Smithers have the same command.
func signalArguments(run string, sent snapshot.Signal) []string {
	args := []string{"signal", run, sent.Name}
	if sent.CorrelationID != nil && *sent.CorrelationID != "" {
		args = append(args, "--correlation", *sent.CorrelationID)
	}
	return args
}

// ForeignDecision returns the command of Smithers that decides an approval in the same way, without the program.
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

// ForeignAnswer returns the command of Smithers that answers or cancels a human request in the same way, without
// the program.
func ForeignAnswer(run string, h snapshot.HumanRequest) string {
	if h.Status != snapshot.HumanAnswered {
		return fault.CommandLine("human", "cancel", h.RequestID(run))
	}
	return fault.CommandLine("human", "answer", h.RequestID(run), "--value", string(h.Response))
}
