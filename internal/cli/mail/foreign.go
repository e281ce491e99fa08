package mail

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Foreign returns the command with which Smithers does to a run what left a row in the mailbox: the same decision, answer or signal. It withdraws a
// request that is not answered, and approves an approval that is not denied. The command does not begin with the name of the program.
func Foreign(run string, r mailbox.Receipt) string {
	switch {
	case r.Approval != nil:
		verb, args := "approve", []string{run, "--node", r.Approval.NodeID, "--iteration", strconv.Itoa(r.Approval.Iteration)}
		if r.Approval.Status == snapshot.ApprovalDenied {
			verb = "deny"
		}
		if r.Approval.Note != nil {
			args = append(args, "--note", *r.Approval.Note)
		}
		return fault.CommandLine(verb, args...)
	case r.Request != nil && r.Request.Status == snapshot.HumanAnswered:
		return fault.CommandLine("human", "answer", r.Request.RequestID(run), "--value", string(r.Request.Response))
	case r.Request != nil:
		return fault.CommandLine("human", "cancel", r.Request.RequestID(run))
	}
	args := signalArguments(run, r.Signal.Name, r.Signal.CorrelationID)
	if payload := string(r.Signal.Payload); payload != "" && payload != "null" {
		args = append(args, "--data", payload)
	}
	return fault.CommandLine(args[0], args[1:]...)
}

// signalArguments returns the words of the command that sends a signal, without the program and without the payload.
// The words are the same for git smithers and Smithers.
func signalArguments(run, name string, correlation *string) []string {
	args := []string{"signal", run, name}
	if correlation != nil && *correlation != "" {
		args = append(args, "--correlation", *correlation)
	}
	return args
}
