// Package runpage shows the description of a run as a page for people: how it stands, why it failed or what it waits for, its steps or
// turns, its forks, and what to type next.
package runpage

import (
	"context"
	"errors"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The largest numbers of things that a page shows. It says how many there are beyond.
const (
	waitsShown  = 8
	fieldsShown = 20
)

// A page shows the description of a run.
type page struct {
	*summary.Summary

	now time.Time
}

// Read returns the description of a run at the entry that head knows, with the commands that answer its waits and those to type next.
// Parts that cannot be read are in Unread. The codes are those of summary.Read.
func Read(ctx context.Context, store *timeline.Store, head *timeline.Head, now time.Time) (*summary.Summary, error) {
	sum, err := summary.Describe(ctx, store, head, now)
	if err != nil {
		return nil, err
	}
	err = readCommands(ctx, store, head, sum, now)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && sum.Unread[summary.PartWaits] == nil {
		sum.Unread[summary.PartWaits] = timeline.Explain(err)
	}
	v := &page{sum, now}
	sum.Next = v.next()
	return sum, nil
}

// Damage returns the error of a part whose stored data failed verification, or nil.
func Damage(sum *summary.Summary) error {
	for _, err := range sum.Unread {
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() == fault.ExitCorrupt {
			return err
		}
	}
	return nil
}

// readCommands sets the fields and the commands of what the run waits for.
func readCommands(ctx context.Context, store *timeline.Store, head *timeline.Head, sum *summary.Summary, now time.Time) error {
	lines, err := mail.Open(ctx, store, head, sum.Engine, now)
	if err != nil {
		sum.Asks = []summary.Ask{}
		return err
	}
	byKey := make(map[string]mail.Line, len(lines))
	for _, line := range lines {
		byKey[snapshot.Key(line.NodeID, line.Iteration)] = line
	}
	for i := range sum.Asks {
		w := &sum.Asks[i]
		w.Fields = append(w.Fields, fieldsOf(w.Form)...)
		if line, ok := byKey[snapshot.Key(w.NodeID, w.Iteration)]; ok {
			w.Commands = append(w.Commands, commandsFor(sum.Row.ID, w, line)...)
		}
	}
	return nil
}

// commandsFor returns the commands that answer a wait of a run.
func commandsFor(run string, w *summary.Ask, line mail.Line) []string {
	how := mail.Settle(line)
	switch {
	case how == "":
		return nil
	case line.Engine != "" || line.Ready: // another engine's command, or the one that goes on
	case w.For == "approval":
		return []string{how, fault.CommandLine(arg.Program, "deny", run, w.NodeID)}
	case w.For == "human":
		if words := sampleAnswer(w.Kind, w.Form); words != nil {
			return []string{fault.CommandLine(arg.Program, append([]string{"answer", run, w.NodeID}, words...)...)}
		}
	}
	return []string{how}
}
