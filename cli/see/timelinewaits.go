package see

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/mail"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// waitsOf sets an entry in waits for the run of t and for each fork below it. The key is the id of the run, and the
// value is the result of foreignWaits.
func waitsOf(ctx context.Context, s *session.Session, store *timeline.Store, t *list.Tree, waits map[string]string) error {
	text, err := foreignWaits(ctx, s, store, t.Timeline.RunID, snapshot.RunStatus(t.Timeline.Status))
	if err != nil {
		return err
	}
	waits[t.Timeline.RunID] = text
	for i := range t.Children {
		if err := waitsOf(ctx, s, store, &t.Children[i], waits); err != nil {
			return err
		}
	}
	return nil
}

// foreignWaits returns a text about what a run of another engine waits for. The timeline shows this text because
// another engine may wait without making a frame. The text also has each answer that was given but not yet delivered to
// the engine, with a mark. foreignWaits returns "" if the run waits for nothing, has ended, or is run by git smithers.
// run is the id of the run.
func foreignWaits(ctx context.Context, s *session.Session, store *timeline.Store, run string, status snapshot.RunStatus) (string, error) {
	if status.Ended() {
		return "", nil
	}
	head, err := store.Head(ctx, run)
	if err != nil {
		return "", err
	}
	if engine, err := app.ForeignEngine(head); engine == "" || err != nil {
		return "", err
	}
	untold := mail.Untold(ctx, s, store, run)
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
