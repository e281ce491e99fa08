package transport

import (
	"strings"

	"github.com/git-smithers/git-smithers/refs"
)

// ofObjectsHere holds parts of git's messages about objects of this repository that git could not read.
var ofObjectsHere = []string{
	"bad object", "bad tree object", "bad blob object", "bad commit object", "bad tag object", "unable to read", "unable to parse",
	"could not parse", "missing", "is corrupt", "failed to read object", "loose object", "packed object", "unable to get type of object",
	"cannot read", "not a valid object",
}

// isUnsent reports whether a push failed because of this repository. stderr has git's messages. The result is true if
// the messages contain a fatal error about this repository, or say that pack-objects died of any signal but SIGPIPE.
func isUnsent(stderr string) bool {
	for line := range strings.Lines(withoutProgress(stderr)) {
		// A broken connection ends pack-objects with SIGPIPE (signal 13), which is no fault of this repository.
		died := strings.Contains(line, "pack-objects died") && !strings.Contains(line, "of signal 13")
		if died || fatalHere(line) != "" {
			return true
		}
	}
	return false
}

// unreadable returns the line of stderr that explains why git could not read objects of this repository. If git failed
// for another reason, it returns "".
func unreadable(stderr string) string {
	for line := range strings.Lines(withoutProgress(stderr)) {
		if reason := fatalHere(line); saysAny(reason, ofObjectsHere) {
			return reason
		}
	}
	return ""
}

// fatalHere returns the text after "fatal: " in a line of git's messages. If the line does not begin with "fatal: ", or
// is about the remote, fatalHere returns "".
func fatalHere(line string) string {
	reason, ok := strings.CutPrefix(line, "fatal: ")
	if !ok || saysAny(line, ofRemote) || saysAny(line, refusedAll) || strings.HasPrefix(reason, "remote error") {
		return ""
	}
	return strings.TrimSpace(reason)
}

// allOf returns a map with the answer a for each ref of a chunk.
func allOf(chunk []Move, a answer) map[refs.Name]answer {
	answers := make(map[refs.Name]answer, len(chunk))
	for _, move := range chunk {
		answers[move.Name] = a
	}
	return answers
}
