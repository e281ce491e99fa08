package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline"
)

// notes is what this machine notes of a session between two hooks. A note that is lost does no harm: at worst a frame is made too
// early, or the files are captured once too often.
type notes struct {
	dir     string // the folder for what this machine knows of agents
	session string
}

// notesOf returns the notes about a session in a clone.
func notesOf(s *timeline.Store, session string) notes {
	return notes{filepath.Join(s.Private(), sessionsDir), session}
}

// path returns the path of a note.
func (n notes) path(kind string) string { return filepath.Join(n.dir, kind+"-"+n.session) }

// read returns the text of a note, or "".
func (n notes) read(kind string) string {
	text, _ := os.ReadFile(n.path(kind))
	return string(text)
}

// write writes a note, and reports whether it could.
func (n notes) write(kind, text string) bool {
	if before, err := os.ReadFile(n.path(kind)); err == nil && string(before) == text {
		return true
	}
	return os.MkdirAll(n.dir, 0o700) == nil && os.WriteFile(n.path(kind), []byte(text), 0o600) == nil
}

// remove removes a note.
func (n notes) remove(kind string) { _ = os.Remove(n.path(kind)) }

// The kinds of notes.
const (
	openCall = "open"    // the call that has begun
	batches  = "batches" // the number of batches since the newest frame
	fileName = "file"    // the path of the agent's own file
	forked   = "forked"  // the session was forked from another one
	heard    = "heard"   // the events that were heard a moment ago, by one side; see isOthers
)

// together is the time in milliseconds within which all hooks hear of an event, also where an agent calls one after the other.
const together = 30_000

// mostHeard is the largest number of events in a note.
const mostHeard = 64

// heardEvent is an event that a hook of the user, or one of the working copy, has heard, and the other has not.
type heardEvent struct {
	Sum  uint64
	User bool
	AtMs int64
}

// isOthers reports whether a hook leaves an event to another one, so that it is recorded once: if the user has hooks and the working copy has, too, the
// first to hear an event records it. Which of them the agent knows is open: it may have read its settings before.
func (n notes) isOthers(ctx context.Context, ev dialect.Event, user bool, nowMs int64) bool {
	data, err := json.Marshal(ev)
	if err != nil || ev.Kind == dialect.Ignored || os.MkdirAll(n.dir, 0o700) != nil {
		return false
	}
	lock := flock.New(n.path(heard), flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	if locked, _ := lock.TryLockContext(ctx, time.Millisecond); !locked {
		return false
	}
	sum := xxhash.Sum64(data)
	var events []heardEvent
	_ = json.Unmarshal([]byte(n.read(heard)), &events)
	events = slices.DeleteFunc(events, func(e heardEvent) bool { return max(nowMs-e.AtMs, e.AtMs-nowMs) > together })
	before := slices.IndexFunc(events, func(e heardEvent) bool { return e.Sum == sum && e.User != user })
	if before >= 0 {
		events = slices.Delete(events, before, before+1)
	} else {
		events = append(events, heardEvent{sum, user, nowMs})
	}
	data, _ = json.Marshal(events[max(0, len(events)-mostHeard):]) //nolint:errchkjson // numbers encode always
	n.write(heard, string(data))
	return before >= 0
}

// keepFork notes that a session was forked. Only its first event says so, and the agent's file comes later.
func (n notes) keepFork(ev *dialect.Event) {
	switch {
	case ev.Kind == dialect.Started && ev.Forked:
		n.write(forked, "x")
	case ev.Kind != dialect.Started:
		ev.Forked = n.read(forked) != ""
	}
}

// needsFrame reports whether the event needs a frame, as far as the notes say, and brings them up to date. every is the number of
// batches after which a frame is made.
//
// Hooks of some agents have holes: a call begins, and no hook tells of its end. So the beginning of a call is noted until the call
// has ended. If the next call begins before, its hook captures what the call before has left.
func (n notes) needsFrame(ev dialect.Event, every int) bool {
	switch ev.Kind {
	case dialect.Calling:
		var id string
		for _, call := range ev.Calls {
			id = call.ID + call.Alias
		}
		before := n.read(openCall)
		return !n.write(openCall, id) || before != "" && before != id
	case dialect.Called:
		n.remove(openCall)
		return n.countBatch(ev, every)
	case dialect.Answered, dialect.Ended:
		n.remove(openCall)
		n.remove(batches)
	case dialect.Ignored, dialect.Started, dialect.Prompted, dialect.Delegated, dialect.Compacting, dialect.Labelled:
	}
	return true
}

// countBatch reports whether a batch is the last of every batches that may have changed files.
func (n notes) countBatch(ev dialect.Event, every int) bool {
	if every <= 1 || !ev.ChangesFiles() {
		return true // Record knows what makes no frame
	}
	count, _ := strconv.Atoi(n.read(batches))
	if count++; count < every {
		return !n.write(batches, strconv.Itoa(count))
	}
	n.remove(batches)
	return true
}
