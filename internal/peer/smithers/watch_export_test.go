package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/timeline"
)

// Looking is a watch that looks when it is told to, and is never told that it ends: as if it was killed.
type Looking struct {
	Reported []ImportedRun
	w        *watcher
}

// StartLooking begins a watch of runs of the database at path; of all where none are named.
func StartLooking(s *timeline.Store, path string, runs ...string) *Looking {
	l := &Looking{}
	l.w = newWatcher(s, path, WatchRequest{Runs: runs, Report: func(i *ImportResult) { l.Reported = append(l.Reported, i.Runs...) }})
	return l
}

// Look imports what is new and due.
func (l *Looking) Look(ctx context.Context) error {
	_, err := l.w.look(ctx)
	return err
}

// Import is a look after so many that all is due.
func (l *Looking) Import(ctx context.Context) error {
	l.w.waited = mostLooks
	return l.Look(ctx)
}

// HasCaughtUp reports whether Waiting would be called.
func (l *Looking) HasCaughtUp() bool { return !l.w.behind() }
