package runpage

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// readWaits sets Waits, with the waits for people first.
func (v *View) readWaits(ctx context.Context, store *timeline.Store, head *timeline.Head) error {
	lines, err := mail.Open(ctx, store, head, v.engine, v.now)
	if err != nil {
		return err
	}
	byKey := make(map[string]mail.Line, len(lines))
	for _, line := range lines {
		byKey[snapshot.Key(line.NodeID, line.Iteration)] = line
	}
	for _, people := range []bool{true, false} {
		for _, w := range v.Summary.Waits {
			if (w.For == "approval" || w.For == "human") != people {
				continue
			}
			asked, err := v.Asked(w)
			if err != nil {
				return err
			}
			wait := Wait{Waiting: w, Asked: asked}
			if line, ok := byKey[snapshot.Key(w.NodeID, w.Iteration)]; ok {
				wait.Commands = v.commandsFor(wait, line)
			}
			v.Waits = append(v.Waits, wait)
		}
	}
	return nil
}

// commandsFor returns the commands that answer a wait.
func (v *View) commandsFor(w Wait, line mail.Line) []string {
	how := mail.Settle(line)
	switch {
	case how == "" || line.Engine != "": // another engine's command
	case line.Ready:
		return []string{how}
	case w.For == "approval":
		return []string{how, fault.CommandLine(arg.Program, "deny", v.Row.ID, w.NodeID)}
	case w.For == "human":
		if words := sampleAnswer(w.Kind, w.Form); words != nil {
			return []string{fault.CommandLine(arg.Program, append([]string{"answer", v.Row.ID, w.NodeID}, words...)...)}
		}
	}
	if how == "" {
		return nil
	}
	return []string{how}
}
