package transport

import (
	"strings"

	"github.com/git-smithers/git-smithers/refs"
)

// ofObjectsHere are words of a git that ended since it could not read objects.
var ofObjectsHere = []string{
	"bad object", "bad tree object", "bad blob object", "bad commit object", "bad tag object", "unable to read", "unable to parse",
	"could not parse", "missing", "is corrupt", "failed to read object", "loose object", "packed object", "unable to get type of object",
	"cannot read", "not a valid object",
}

// isUnsent reports whether a push ended for trouble on this side: the git here gave a reason,
// and it is neither the connection nor what the other side made of the refs.
func isUnsent(stderr string) bool {
	for line := range strings.Lines(withoutProgress(stderr)) {
		// Of a broken connection, pack-objects dies by SIGPIPE.
		died := strings.Contains(line, "pack-objects died") && !strings.Contains(line, "of signal 13")
		if died || fatalHere(line) != "" {
			return true
		}
	}
	return false
}

// unreadable is why objects could not be read here; "" where it was something else.
func unreadable(stderr string) string {
	for line := range strings.Lines(withoutProgress(stderr)) {
		if reason := fatalHere(line); saysAny(reason, ofObjectsHere) {
			return reason
		}
	}
	return ""
}

// fatalHere is the reason that the git here gave for its end in a line; "" where it gave
// none, or one about the other side.
func fatalHere(line string) string {
	reason, ok := strings.CutPrefix(line, "fatal: ")
	if !ok || saysAny(line, ofRemote) || saysAny(line, refusedAll) || strings.HasPrefix(reason, "remote error") {
		return ""
	}
	return strings.TrimSpace(reason)
}

// allOf is the same answer for every move of a chunk.
func allOf(chunk []Move, a answer) map[refs.Name]answer {
	answers := make(map[refs.Name]answer, len(chunk))
	for _, move := range chunk {
		answers[move.Name] = a
	}
	return answers
}
