package sharing

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// withSharer calls f with the sharer of the repository in which the command was called. It returns the error of f. The
// error gets a hint if the user has typed a run in place of the remote. A person at a terminal sees the progress of f,
// unless --quiet or --json is given.
func withSharer(ctx context.Context, s *session.Session, f func(*timeline.Store, *share.Sharer) error) error {
	return s.WithStore(ctx, func(store *timeline.Store) error {
		opts := share.Options{Join: joinOf(store), KeepsID: langgraph.IsThread}
		if s.Quiet || s.JSON || !s.AtTerminal(s.Err) {
			return tellFindings(s, hintRunAsRemote(ctx, s, store, f(store, share.New(store, opts))))
		}
		steps := s.Steps()
		talk := &lateTalk{s: s, from: s.Now().Add(term.ProgressAfter)}
		opts.Talk, opts.Progress = talk, steps.Update
		err := hintRunAsRemote(ctx, s, store, f(store, share.New(store, opts)))
		steps.Finish()
		return tellFindings(s, err)
	})
}

// joinOf returns the function that joins the entries of both sides of a diverged run: decisions of people, and the checkpoints of a
// thread of LangGraph.
func joinOf(store *timeline.Store) func(context.Context, share.Diverged) (*snapshot.Entry, error) {
	return func(ctx context.Context, what share.Diverged) (*snapshot.Entry, error) {
		tip, err := mailbox.Join(ctx, store, what)
		if tip == nil && err == nil {
			tip, err = langgraph.Open(store).Join(ctx, what)
		}
		return tip, err
	}
}

// lateTalk shows the progress messages of git, but not before the time from.
type lateTalk struct {
	s    *session.Session
	from time.Time // messages before this time are kept until then

	mu   sync.Mutex
	held strings.Builder // the messages that are not shown yet
}

var _ io.Writer = (*lateTalk)(nil)

// Write keeps the message p until the time l.from. From this time on, it shows all kept messages and p at once. Write
// never returns an error, so that a push does not depend on its progress.
func (l *lateTalk) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held.Write(p)
	if !l.s.Now().Before(l.from) {
		l.s.Talk("%s", l.held.String())
		l.held.Reset()
	}
	return len(p), nil
}

// hintRunAsRemote adds a hint to the error remote_not_found if the user has typed the whole id of a run in place of the
// remote of push or fetch. The hint is the typed command line with a remote before the run: the default remote, or
// origin without a setting. In all other cases, hintRunAsRemote returns err unchanged.
func hintRunAsRemote(ctx context.Context, s *session.Session, store *timeline.Store, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known.Code != fault.RemoteNotFound {
		return err
	}
	named, _ := known.Details["remote"].(string)
	at := slices.Index(s.Args, named)
	if at < 0 || !slices.Contains(s.Args[:at], "push") && !slices.Contains(s.Args[:at], "fetch") {
		return err
	}
	if run, notRun := store.ResolveRun(ctx, named); notRun != nil || run != named {
		return err
	}
	remote := "origin"
	if to, none := remotes.Find(store, ""); none == nil {
		remote = to.Shown()
	}
	command := fault.CommandLine(arg.Program, slices.Insert(slices.Clone(s.Args), at, remote)...)
	return known.Hint("%q is a run; type a remote before it: `%s`", named, command)
}
