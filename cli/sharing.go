package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/share"
)

// withSharer runs f on what shares the runs of the repository in which the command was
// called. A person at a terminal sees how far it is, if it takes long.
func (s *session) withSharer(ctx context.Context, f func(*share.Sharer) error) error {
	return s.withStore(ctx, func(store *timeline.Store) error {
		if s.Quiet || s.JSON || !s.AtTerminal(s.Err) {
			return s.hintRunAsRemote(ctx, store, f(share.New(store, share.Options{})))
		}
		steps := &stepProgress{s: s}
		defer steps.finish()
		talk := &lateTalk{s: s, from: s.Now().Add(term.ProgressAfter)}
		return s.hintRunAsRemote(ctx, store, f(share.New(store, share.Options{Talk: talk, Progress: steps.update})))
	})
}

// lateTalk shows what git says of its progress, once it has taken a while.
type lateTalk struct {
	s    *session
	from time.Time

	mu   sync.Mutex
	held strings.Builder // what was said before
}

var _ io.Writer = (*lateTalk)(nil)

// Write never fails: that nobody can read it is no reason to stop.
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

// stepProgress shows the progress of one thing after the other. For one goroutine at a time.
type stepProgress struct {
	s    *session
	what string
	step *term.Progress
}

func (p *stepProgress) update(what string, done, total int) {
	if p.step == nil || p.what != what {
		p.finish()
		p.what, p.step = what, p.s.Progress(what)
	}
	p.step.Update(done, total)
}

func (p *stepProgress) finish() {
	if p.step != nil {
		p.step.Finish()
	}
	p.step = nil
}

// remoteAndRuns splits the arguments of a command that takes a remote, and then runs. A
// path is as seen from where the command was called.
func (s *session) remoteAndRuns(args []string) (remote string, runs []string) {
	if len(args) == 0 {
		return "", nil
	}
	return s.remoteName(args[0]), args[1:]
}

func (s *session) remoteName(remote string) string {
	for _, start := range []string{"./", "../"} {
		if strings.HasPrefix(remote+"/", start) {
			return s.path(remote)
		}
	}
	return remote
}
