package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Hook is one call of a hook by an agent.
type Hook struct {
	Agent string
	Event string // the event for which the hook was set up, for the log
	User  bool   // the hook is in the user's settings, for all repositories
	Input io.Reader
	Dir   string // the folder of the process
	Env   []string
	Now   func() time.Time
	// Recall brings a session back that was pruned by its age and goes on. nil brings none back.
	Recall func(ctx context.Context, s *timeline.Store, run string) error
	// Courier starts a process that delivers notices, see notify.Tell. nil: nobody is notified.
	Courier func() error
	// Ended is called with the session's run when the session has ended, before the store is closed. An error is a warning. nil: nobody is told.
	Ended func(s *timeline.Store, head *timeline.Head) error
	// Retention is called with the store's private folder at the end of a session.
	Retention func(private string)
	// Failpoint is called at named points of a write; see timeline.Options. Only tests of crashes set Failpoint.
	Failpoint func(name string) error
}

// Run records the event that an agent hands to a hook. What goes wrong is in the log of hooks, if there is a repository
// that has one; see Log. Run prints nothing and returns nothing, because an agent obeys what its hooks print and return.
func (h Hook) Run(ctx context.Context) {
	defer func() { _ = recover() }() // there is nowhere to report it
	speaks, _ := dialect.Of(h.Agent)
	ev, err := h.read(speaks)
	began := h.Now()
	entry := LogEntry{AtMs: began.UnixMilli(), Agent: h.Agent, Event: h.Event}
	private := ""
	defer func() {
		if r := recover(); r != nil {
			entry.Error = fmt.Sprintf("panic: %v", r)
		}
		entry.TookMs = h.Now().Sub(began).Milliseconds()
		if private != "" {
			_ = appendLog(private, entry) // there is nowhere to report it
		}
	}()
	entry.Session = ev.Session
	store, openErr := h.open(ctx, ev, func(err error) { entry.Warning = err.Error() })
	if openErr != nil {
		return // outside of a repository, nothing is recorded
	}
	private = store.Private()
	note := notesOf(store, ev.Session)
	note.keepFork(&ev)
	if err == nil && note.isOthers(ctx, ev, h.User, began.UnixMilli()) {
		ev.Kind = dialect.Ignored
	}
	if err == nil && note.needsFrame(ev, store.Settings().Session.Every) {
		awaitMark(ctx, ev)
		entry.Frame, err = Record(ctx, store, speaks, ev)
		if run := Run(cmp.Or(ev.Agent, speaks.Name), ev.Session); fault.CodeOf(err) == fault.RunPruned && h.Recall != nil {
			if err = h.Recall(ctx, store, run); err == nil {
				entry.Frame, err = Record(ctx, store, speaks, ev)
			}
		}
		if entry.Frame {
			run := Run(cmp.Or(ev.Agent, speaks.Name), ev.Session)
			noteHere(store, run)
			note.write(fileName, ev.Transcript)
			h.tell(ctx, store, run, ev.Kind)
			h.tellEnd(ctx, store, run, ev.Kind)
		}
	}
	if err = errors.Join(err, store.Close()); err != nil { //nolint:contextcheck // closing must finish
		entry.Error, entry.Code = err.Error(), string(fault.CodeOf(err))
	}
	if ev.Kind == dialect.Ended && h.Retention != nil {
		h.Retention(private)
	}
}

// longestWait is the longest time that a hook waits for an agent to write its file.
const longestWait = time.Second

// awaitMark waits until the agent's file has the Mark of an event, which is near its end.
func awaitMark(ctx context.Context, ev dialect.Event) {
	const tail, pause = 64 << 10, 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for ev.Mark != "" && !bytes.Contains(endOf(ev.Transcript, tail), []byte(ev.Mark)) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// endOf returns the last bytes of a file, at most size of them; nil if the file cannot be read.
func endOf(path string, size int64) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path) //nolint:gosec // the agent names its own file, and this process runs as its user
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, _ := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-size), size))
	return text
}

// open opens the history in which the event is recorded. An agent may go on in another working copy of the repository in which its hooks
// are set up. It may also change into the folder of another repository, where nobody has asked for a record: that is not followed.
// Only an agent whose hooks others set up says by itself where it works.
func (h Hook) open(ctx context.Context, ev dialect.Event, warn func(error)) (*timeline.Store, error) {
	at := func(dir string) (*timeline.Store, error) {
		return timeline.Open(ctx, timeline.Options{Dir: dir, Env: h.Env, Now: h.Now, Warn: warn, Session: true, Failpoint: h.Failpoint})
	}
	folder, home := "", h.home()
	if info, err := os.Stat(ev.Folder); err == nil && info.IsDir() && filepath.IsAbs(ev.Folder) {
		folder = ev.Folder
	}
	if folder == "" || h.Agent == dialect.Generic {
		return at(cmp.Or(folder, home))
	}
	store, err := at(home)
	if err != nil {
		return at(folder)
	}
	if root := store.Workspace().Root; root != "" && strings.HasPrefix(folder+"/", root+"/") && !hasCheckout(folder, root) {
		return store, nil
	}
	other, err := at(folder)
	if err != nil {
		return store, nil //nolint:nilerr // a folder outside of any repository
	}
	if other.Repo().CommonDir != store.Repo().CommonDir {
		store, other = other, store
	}
	return other, store.Close() //nolint:contextcheck // closing must finish
}

// home returns the folder in which the agent was started, as far as it is known.
func (h Hook) home() string {
	if project, ok := gitexec.LookupEnv(h.Env, "CLAUDE_PROJECT_DIR"); ok && h.Agent == dialect.Claude && filepath.IsAbs(project) {
		return project
	}
	return h.Dir
}

// hasCheckout reports whether a folder below root, or a folder between them, is the top of a working copy: an agent makes its worktrees in the
// working copy.
func hasCheckout(folder, root string) bool {
	for ; len(folder) > len(root) && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if IsCheckout(folder) {
			return true
		}
	}
	return false
}

// IsCheckout reports whether a folder is the top of a working copy.
func IsCheckout(folder string) bool {
	for _, name := range []string{".git", ".jj"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// read reads and parses the input.
func (h Hook) read(speaks *dialect.Dialect) (dialect.Event, error) {
	data, err := readInput(h.Input)
	switch {
	case err != nil:
		return dialect.Event{}, err
	case speaks == nil:
		return dialect.Event{}, fmt.Errorf("unknown agent %q", h.Agent)
	}
	ev, err := speaks.Parse(h.Event, data)
	if _, known := dialect.Of(ev.Agent); err == nil && known {
		return dialect.Event{}, fmt.Errorf("%q speaks a dialect of its own: git smithers session hook %[1]s", ev.Agent)
	}
	if err == nil && !dialect.IsSessionID(ev.Session) {
		return dialect.Event{}, errors.New("the id of the session has other characters than letters, digits, - and _")
	}
	if err == nil && ev.Transcript == "" && speaks.FileOf != nil {
		ev.Transcript = speaks.FileOf(h.Env, ev.Session)
		if _, err := os.Stat(ev.Transcript); err != nil && ev.Subagent != "" {
			ev.Kind = dialect.Ignored // of a subagent's subagent, whose session nobody names
		}
	}
	return ev, err
}
