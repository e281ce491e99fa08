package agent

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/git-smithers/git-smithers/peer/agent/dialect"
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
	byCopy   = "copy"    // when hooks of the working copy heard that the session began or went on
	byUser   = "user"    // when the user's hooks heard that
)

// together is the time in milliseconds within which all hooks hear that a session begins.
const together = 30_000

// isOthers reports whether a hook leaves an event to another one, so that it is recorded once: the user's hooks leave a session to those of the working
// copy, if these have heard of its beginning, too.
func (n notes) isOthers(ev dialect.Event, user bool, nowMs int64) bool {
	if ev.Kind == dialect.Started {
		n.write(map[bool]string{false: byCopy, true: byUser}[user], strconv.FormatInt(nowMs, 10))
	}
	if !user || ev.Kind == dialect.Started {
		return false
	}
	theirs, err := strconv.ParseInt(n.read(byCopy), 10, 64)
	own, _ := strconv.ParseInt(n.read(byUser), 10, 64)
	return err == nil && theirs > own-together
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
