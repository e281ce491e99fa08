package inspect

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runPoll is the interval at which followRun looks for new attempts.
const runPoll = 200 * time.Millisecond

// A runFollower prints the logs of a run's attempts side by side. Its methods are safe for concurrent use, but for watch.
type runFollower struct {
	s       *session.Session
	painter term.Painter
	store   *timeline.Store
	run     string
	head    *timeline.Head // used by watch alone
	opts    logsOptions
	readers sync.WaitGroup

	printing sync.Mutex // a line is being printed

	mu    sync.Mutex
	entry *snapshot.Entry             // the newest entry that was read
	rows  map[string]snapshot.Attempt // its attempts of commands, by their keys
	seen  map[string]bool             // the attempts that are followed, or had ended before
	over  bool                        // nobody executes the run any more
	err   error                       // the first error of a reader
}

// followRun prints the logs of all attempts of commands that run or begin while the run is executed, each line after its task, and notes how each
// attempt ended. It returns when the run has not begun, has ended or waits, or when no live process executes it.
func followRun(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head, opts logsOptions) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &runFollower{
		s: s, painter: s.Painter(ctx), store: store, run: head.Row().ID, head: head, opts: opts,
		rows: make(map[string]snapshot.Attempt), seen: make(map[string]bool),
	}
	err := f.watch(ctx)
	if err != nil {
		stop()
	}
	f.readers.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = f.err
	}
	if err == nil {
		row := head.Row()
		s.Note("run %s: %s at frame %d", plain.Text(row.ID), row.Status, row.Frame)
	}
	return err
}

// watch starts a reader for each attempt, until nobody executes the run any more.
func (f *runFollower) watch(ctx context.Context) error {
	ticker := time.NewTicker(runPoll)
	defer ticker.Stop()
	for first := true; ; first = false {
		begun, over, err := f.look(first)
		if err != nil {
			return err
		}
		for _, row := range begun {
			f.readers.Go(func() { f.fail(f.follow(ctx, row)) })
		}
		if over || f.failed() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if err := f.head.Refresh(ctx); err != nil {
			return err
		}
	}
}

// look takes in the newest entry. It returns the attempts that nobody follows, without those that had ended when it was called first, and whether
// the run is over.
func (f *runFollower) look(first bool) (begun []snapshot.Attempt, over bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	over = f.unattended()
	f.over = over
	if f.entry == f.head.Entry() {
		return nil, over, nil
	}
	f.entry = f.head.Entry()
	all, err := listAttempts(f.entry)
	if err != nil {
		return nil, over, timeline.Explain(err)
	}
	for _, row := range all {
		key := keyOf(row)
		if f.rows[key] = row; f.seen[key] {
			continue
		}
		wait, err := summary.IsWait(f.head.State(), row)
		if err != nil {
			return nil, over, timeline.Explain(err)
		}
		f.seen[key] = true
		if !wait && (!first || row.State == snapshot.AttemptInProgress) {
			begun = append(begun, row)
		}
	}
	return begun, over, nil
}

// unattended reports whether nobody executes the run.
func (f *runFollower) unattended() bool {
	l := &attemptLog{store: f.store, head: f.head}
	return f.head.Row().Status != snapshot.RunRunning || l.unattended()
}

// fail records the error of a reader.
func (f *runFollower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// failed reports whether a reader has failed.
func (f *runFollower) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}

// follow prints the log of an attempt as it grows, or what is stored of it if it ended before that.
func (f *runFollower) follow(ctx context.Context, row snapshot.Attempt) error {
	l := &attemptLog{store: f.store, run: f.run, row: row}
	name := display.AttemptName(row.NodeID, row.Iteration)
	live := claim.LiveLogsOf(f.store, l.run)
	left := max(0, f.opts.lines.from-1) // lines that are still to come count
	if f.opts.lines.tail > 0 {
		left = f.opts.lines.skipped(len(linesOf(live.Last(l.key()))))
	}
	out := f.lines(name, row, left)
	err := live.Follow(ctx, l.key(), out, func() (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		l.row, l.entry = f.rows[l.key()], f.entry
		return l.ended() || f.over, nil
	})
	if err != nil {
		return err
	}
	if !out.written {
		text, _, err := l.stored()
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if err := out.finish(); err != nil {
		return err
	}
	f.s.Note("%s", l.describe())
	return nil
}

// lines returns the writer for the log of an attempt, without its first lines. left is their number.
func (f *runFollower) lines(name string, row snapshot.Attempt, left int) *lineWriter {
	prefix := f.painter.Paint(term.Dim, plain.Text(name)+"|") + " "
	return &lineWriter{line: func(line string) error {
		if left > 0 {
			left--
			return nil
		}
		f.printing.Lock()
		defer f.printing.Unlock()
		if f.s.JSON {
			return f.s.WriteJSON(term.Document("line", term.Member("text", strings.ToValidUTF8(line, "\uFFFD")), term.Member("nodeId", row.NodeID),
				term.Member("iteration", row.Iteration), term.Member("attempt", row.Attempt)))
		}
		if f.opts.raw {
			return f.s.Printf("%s| %s\n", name, line)
		}
		for _, shown := range f.painter.Lines(line) {
			if err := f.s.Printf("%s%s\n", prefix, shown); err != nil {
				return err
			}
		}
		return nil
	}}
}
