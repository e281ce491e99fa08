package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// waitsOf sets an entry in waits for the run of t and for each fork below it. The key is the id of the run, and the
// value is the result of foreignWaits.
func waitsOf(ctx context.Context, s *session.Session, store *timeline.Store, t *list.Tree, waits map[string]string) error {
	return eachTimeline(t, func(run *list.RunTimeline) (err error) {
		waits[run.RunID], err = foreignWaits(ctx, s, store, run)
		return err
	})
}

// foreignWaits returns a text about what a run of another engine waits for, as of the entry of which the timeline tells.
// The timeline shows this text because
// another engine may wait without making a frame. The text also has each answer that was given but not yet delivered to
// the engine, with a mark. foreignWaits returns "" if the run waits for nothing, has ended, or is run by git smithers.
func foreignWaits(ctx context.Context, s *session.Session, store *timeline.Store, run *list.RunTimeline) (string, error) {
	if snapshot.RunStatus(run.Status).Ended() {
		return "", nil
	}
	head, err := run.Head(store)
	if err != nil {
		return "", err
	}
	if engine, err := app.ForeignEngine(head); engine == "" || err != nil {
		return "", err
	}
	untold := mail.Untold(ctx, s, store, head)
	var waits []string
	add := func(what, node string, iteration int, answered string) {
		waits = append(waits, fmt.Sprintf("%s (%s%s)", plain.Text(what), plain.Text(display.AttemptName(node, iteration)), plain.Text(answered)))
	}
	for a, err := range head.State().AllApprovals() {
		if err != nil {
			return "", timeline.Explain(err)
		}
		if mark := untold.Mark(mail.KindApproval, a.NodeID, a.Iteration); mark != "" {
			add("approval", a.NodeID, a.Iteration, ": "+a.Status+mark)
		} else if a.Status == snapshot.ApprovalRequested {
			add("approval", a.NodeID, a.Iteration, "")
		}
	}
	for h, err := range head.State().AllHumanRequests() {
		if err != nil {
			return "", timeline.Explain(err)
		}
		if mark := untold.Mark(h.Kind, h.NodeID, h.Iteration); mark != "" {
			add("an answer", h.NodeID, h.Iteration, ": "+h.Status+mark)
		} else if h.Status == snapshot.HumanPending {
			add("an answer", h.NodeID, h.Iteration, "")
		}
	}
	// Waits for signals come before waits for timers.
	for _, kind := range []string{snapshot.WaitSignal, snapshot.WaitTimer} {
		for w, err := range head.State().AllWaits() {
			if err != nil {
				return "", timeline.Explain(err)
			}
			if w.Kind == kind && w.Status == snapshot.WaitWaiting {
				answered := ""
				if mark := untold.Mark(w.Kind, w.NodeID, w.Iteration); mark != "" {
					answered = ": sent" + mark
				}
				add(strings.TrimSpace(kind+" "+w.Signal), w.NodeID, w.Iteration, answered)
			}
		}
	}
	if len(waits) == 0 {
		return "", nil
	}
	return "waits for " + strings.Join(waits, ", "), nil
}
