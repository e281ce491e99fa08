package sharing

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// aboutSessions keeps sessions of coding agents out of a push without names, and asks about those that a push names. A session has a
// conversation, which people do not expect to leave the machine. With smithers.session.push, sessions are runs like others. Code: unconfirmed if
// the user has not agreed.
func aboutSessions(ctx context.Context, s *session.Session, store *timeline.Store, req *share.PushRequest, yes bool) error {
	if store.Settings().Session.Push {
		return nil
	}
	if len(req.Runs) == 0 {
		var err error
		if req.Except, err = agent.Holding(ctx, store); err != nil {
			return err
		}
		switch n := len(req.Except); {
		case n == 1:
			s.Note("a session of a coding agent stays here: name it to push it, or set smithers.session.push")
		case n > 1:
			s.Note("%s of coding agents stay here: name them to push them, or set smithers.session.push", plain.Count(n, "session"))
		}
		return nil
	}
	to, err := remotes.FindForPush(store, req.Remote)
	if err != nil {
		return err
	}
	where := remotes.URL(store, to) // the same name can later stand for another repository
	var asked []string
	for _, name := range req.Runs {
		run, err := store.ResolveRun(ctx, name)
		if err != nil || slices.Contains(asked, run) || agent.WasShared(store, where, run) {
			continue // the push itself says what is wrong with a name
		}
		what, is, err := agent.PreviewOf(ctx, store, run)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		if err := confirmSession(s, to.Shown(), run, what, yes || req.DryRun); err != nil {
			return err
		}
		asked = append(asked, run)
	}
	for _, run := range asked {
		if req.DryRun {
			continue
		}
		if err := agent.NoteShared(store, where, run); err != nil {
			return err
		}
	}
	return nil
}

// confirmSession shows what goes to a remote with a session, and asks unless agreed is true. Code: unconfirmed if the user has not agreed.
func confirmSession(s *session.Session, remote, run string, what *agent.Preview, agreed bool) error {
	s.Note("session %s goes to %s with its conversation: %s, %s, %s; it begins with %q", run, plain.Text(remote),
		plain.Count(what.Turns, "turn"), plain.Count(what.Calls, "tool call"), plain.Count(what.Lines, "line"), firstWords(what.Prompt))
	if agreed {
		return nil
	}
	refused := fault.New(fault.Unconfirmed, "session %q was not pushed: nobody has agreed that its conversation goes to %s", run, remote).
		Hint("add --yes to push it").Hint("`%s session export %s --format messages` shows the conversation", fault.Program, fault.Word(run))
	if !s.CanAsk() {
		return refused
	}
	yes, err := s.Ask("Push it to " + plain.Text(remote) + "?")
	if err == nil && yes {
		return nil
	}
	return refused
}

// firstWords returns the beginning of a prompt.
func firstWords(prompt string) string {
	const most = 60
	text := []rune(plain.Words(prompt))
	if len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return string(text)
}
