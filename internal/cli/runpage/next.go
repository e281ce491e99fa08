package runpage

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// command returns a command of git smithers.
func command(does string, args ...string) summary.Command {
	return summary.Command{Line: fault.CommandLine(arg.Program, args...), Does: does}
}

// frame returns the address of a frame of the run.
func (v *page) frame(no int64) string { return timeline.Address{Run: v.Row.ID, Frame: no}.String() }

// next returns the commands to type next.
func (v *page) next() []summary.Command {
	list := v.nextByStatus()
	if len(list) == 0 {
		list = []summary.Command{command("its frames", "timeline", v.Row.ID)}
	}
	return list
}

// nextByStatus returns the commands that the status of the run asks for.
func (v *page) nextByStatus() []summary.Command {
	run := v.Row.ID
	switch status := v.Row.Status; {
	case v.Session:
		return v.nextOfSession()
	case status.Waiting():
		return v.nextOfWaits()
	case status == snapshot.RunFailed:
		return v.nextOfFailure()
	case status == snapshot.RunRunning && v.Stale && v.Ours:
		return []summary.Command{command("goes on where it stopped", "resume", run), command("what its steps wrote", "logs", run)}
	case status == snapshot.RunRunning && v.Ours:
		return []summary.Command{command("what its steps write now", "logs", run, "--follow"), command("stops it", "cancel", run)}
	case status == snapshot.RunPending && v.Ours:
		return []summary.Command{command("starts its steps", "resume", run)}
	case status == snapshot.RunCancelled && v.Ours:
		return []summary.Command{command("goes on where it stopped", "resume", run)}
	case status == snapshot.RunFinished && !v.Code.IsZero():
		return []summary.Command{
			command("what it changed", "diff", "--code", v.frame(0), run),
			command("brings its changes here", "land", run),
		}
	}
	return nil
}

// nextOfWaits returns the commands of a run that waits.
func (v *page) nextOfWaits() []summary.Command {
	var list []summary.Command
	ready := false // a resume can go on
	for _, w := range v.Asks {
		ready = ready || w.Ready
		if !w.Ready && w.For == "human" && len(w.Fields) > 0 && v.Engine == "" && len(list) == 0 {
			does := "asks each value in turn"
			if len(w.Fields) == 1 {
				does = "asks for the answer"
			}
			list = append(list, command(does, "answer", v.Row.ID, w.NodeID))
		}
	}
	if v.Ours {
		does := "goes on, once it is answered"
		switch {
		case ready || len(v.Asks) == 0:
			does = "goes on"
		case v.Asks[0].For == "signal": // those for people come first
			does = "goes on, once the signal has come"
		case v.Asks[0].For == "timer":
			does = "goes on, once its time has come"
		}
		list = append(list, command(does, "resume", v.Row.ID))
	}
	return list
}

// nextOfFailure returns the commands of a run that failed.
func (v *page) nextOfFailure() []summary.Command {
	var list []summary.Command
	f := v.Failure
	if f.LogLines > len(f.Log) {
		list = append(list, command("the whole output of the failed step", v.logArguments()...))
	}
	if retry := f.Retry; retry != nil && retry.Denied {
		if !v.Code.IsZero() {
			list = append(list, command("what it changed", "diff", "--code", v.frame(0), v.Row.ID))
		}
		return append(list, command("asks for the approval again", "resume", v.Row.ID))
	}
	if c := f.Change; c != nil {
		does := "the change before it"
		if c.Step != nil {
			does = "what " + *c.Step + " changed"
		}
		list = append(list, command(does, "diff", "--code", v.frame(c.Before), v.frame(c.Frame)))
	}
	if !v.Ours {
		return list
	}
	if args := v.RetryArguments(); args != nil {
		list = append(list, command("a fork "+f.Retry.Does(), args...))
	}
	return append(list, command("tries it again in the run", "resume", v.Row.ID))
}

// logArguments returns the arguments of the command that prints the log of the failed attempt.
func (v *page) logArguments() []string {
	a := v.Failure.Attempt
	args := []string{"logs", v.Row.ID, a.NodeID}
	if a.Iteration > 0 {
		args = append(args, "--iteration", strconv.Itoa(a.Iteration))
	}
	return args
}

// nextOfSession returns the commands of a session.
func (v *page) nextOfSession() []summary.Command {
	run := v.Row.ID
	var list []summary.Command
	switch n := len(v.Turns); {
	case !agent.CanGoOn(v.Entry) && (v.VCS == nil || v.VCS.Tree.IsZero()):
		list = append(list, command("a brief for another agent", "session", "replay", run, "--dry-run"))
	case !agent.CanGoOn(v.Entry):
		list = append(list, command("its files, and a brief", "session", "replay", run, "--to", "DIR"))
	case n > 0:
		list = append(list, command("what if you had said here …", "session", "what-if", run+":turn:"+strconv.Itoa(v.Turns[n-1].Number), "PROMPT"))
	default:
		list = append(list, command("goes on elsewhere from the last prompt, with other words", "session", "what-if", run))
	}
	if !v.Code.IsZero() {
		list = append(list, command("what it changed", "diff", "--code", v.frame(0), run))
		if v.Row.Status.Ended() || v.AwaitsPrompt() {
			list = append(list, command("brings its changes here", "land", run))
		}
	}
	return append(list, command("its frames", "timeline", run))
}
