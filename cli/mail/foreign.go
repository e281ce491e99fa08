package mail

import (
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ForeignSignal returns Smithers' command that sends a signal, without the program.
func ForeignSignal(run string, sent snapshot.Signal) string {
	args := signalArguments(run, sent)
	if payload := string(sent.Payload); payload != "" && payload != "null" {
		args = append(args, "--data", payload)
	}
	return fault.CommandLine(args[0], args[1:]...)
}

// signalArguments returns the command that sends a signal, without program and payload. Smithers has the same command.
func signalArguments(run string, sent snapshot.Signal) []string {
	args := []string{"signal", run, sent.Name}
	if sent.CorrelationID != nil && *sent.CorrelationID != "" {
		args = append(args, "--correlation", *sent.CorrelationID)
	}
	return args
}

// ForeignDecision returns Smithers' command that decides an approval, without the program.
func ForeignDecision(run string, a snapshot.Approval) string {
	args := []string{run, "--node", a.NodeID, "--iteration", strconv.Itoa(a.Iteration)}
	if a.Note != nil {
		args = append(args, "--note", *a.Note)
	}
	if a.Status == snapshot.ApprovalDenied {
		return fault.CommandLine("deny", args...)
	}
	return fault.CommandLine("approve", args...)
}

// ForeignAnswer returns Smithers' command that answers or cancels a human request, without the program.
func ForeignAnswer(run string, h snapshot.HumanRequest) string {
	if h.Status != snapshot.HumanAnswered {
		return fault.CommandLine("human", "cancel", h.RequestID(run))
	}
	return fault.CommandLine("human", "answer", h.RequestID(run), "--value", string(h.Response))
}
