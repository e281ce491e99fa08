package mail

import (
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ForeignSignal is the part of Smithers' command that sends a signal.
func ForeignSignal(run string, sent snapshot.Signal) string {
	args := signalArguments(run, sent)
	if payload := string(sent.Payload); payload != "" && payload != "null" {
		args = append(args, "--data", payload)
	}
	return fault.CommandLine(args[0], args[1:]...)
}

// signalArguments are the command that sends a signal, ours and Smithers', without the payload.
func signalArguments(run string, sent snapshot.Signal) []string {
	args := []string{"signal", run, sent.Name}
	if sent.CorrelationID != nil && *sent.CorrelationID != "" {
		args = append(args, "--correlation", *sent.CorrelationID)
	}
	return args
}

// ForeignDecision is the part of Smithers' command that decides an approval.
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

// ForeignAnswer is the part of Smithers' command that settles what people are asked.
func ForeignAnswer(run string, h snapshot.HumanRequest) string {
	if h.Status != snapshot.HumanAnswered {
		return fault.CommandLine("human", "cancel", h.RequestID(run))
	}
	return fault.CommandLine("human", "answer", h.RequestID(run), "--value", string(h.Response))
}
