package agent

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/peer/agent/dialect"
)

// Hooks of some agents have holes: a call begins, and no hook tells of its end. So the beginning of a call is noted, and forgotten
// when the call has ended. If the next call begins before, its hook captures what the call before has left.

// isNoHole reports whether the event is the beginning of a call, and no earlier call is still open: then nothing has to be captured.
// It keeps the note up to date. private is the store's private folder. If the note cannot be read or written, isNoHole returns
// false: a capture too many does no harm.
func isNoHole(private string, ev dialect.Event) bool {
	note := filepath.Join(private, sessionsDir, "open-"+ev.Session)
	if ev.Kind != dialect.Calling {
		if ev.Kind == dialect.Called || ev.Kind == dialect.Answered || ev.Kind == dialect.Ended {
			_ = os.Remove(note)
		}
		return false
	}
	var id string
	for _, call := range ev.Calls {
		id = call.ID + call.Alias
	}
	before, err := os.ReadFile(note)
	if os.MkdirAll(filepath.Dir(note), 0o700) != nil || os.WriteFile(note, []byte(id), 0o600) != nil {
		return false
	}
	return err != nil || strings.TrimSpace(string(before)) == id
}
