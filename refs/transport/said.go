package transport

import (
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// advice is what git adds to a failure that it has named, line by line.
var advice = []string{
	"fatal: Could not read from remote repository.",
	"Please make sure you have the correct access rights", "and the repository exists.",
}

// ofAddresses are words of messages about an address where no repository is.
var ofAddresses = []string{
	"does not appear to be a git repository", "not a git repository", "does not exist", "not found", "not exported",
	"Could not resolve", "unable to look up", "unable to find remote helper", "strange hostname", "strange pathname",
	"No such remote", "no path specified",
}

// Said is why a git failed that wraps ErrRemote, in its own words: one line, without what it
// adds for everybody.
func Said(err error) string {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok || failed.Stderr == "" {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(failed.Stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(advice, line) {
			lines = append(lines, strings.TrimPrefix(line, "fatal: "))
		}
	}
	if len(lines) == 0 {
		return "git could not read from it"
	}
	return strings.Join(lines, "; ")
}

// IsNowhere reports whether an error that wraps ErrRemote is about an address where no
// repository is, so that trying again is of no use.
func IsNowhere(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && saysAny(failed.Stderr, ofAddresses)
}
