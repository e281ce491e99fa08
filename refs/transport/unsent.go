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

// isUnsent reports whether a push failed because of this repository, according to git's messages in stderr. It returns
// true for a fatal error about this repository, and if pack-objects died of any signal but SIGPIPE.
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

// unreadable returns the reason in stderr why git could not read objects of this repository, or "" if git
// failed for another reason.
func unreadable(stderr string) string {
	for line := range strings.Lines(withoutProgress(stderr)) {
		if reason := fatalHere(line); saysAny(reason, ofObjectsHere) {
			return reason
		}
	}
	return ""
}

// fatalHere returns the text after "fatal: " in a line of git's messages. It returns "" if the line has no
// such text or is about the remote.
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
