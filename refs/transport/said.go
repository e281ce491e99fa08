package transport

import (
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// advice are lines that git adds to a failure it has already named.
var advice = []string{
	"fatal: Could not read from remote repository.",
	"Please make sure you have the correct access rights", "and the repository exists.",
}

// ofAddresses are parts of messages about an address without a repository.
var ofAddresses = []string{
	"does not appear to be a git repository", "not a git repository", "does not exist", "not found", "not exported",
	"Could not resolve", "unable to look up", "unable to find remote helper", "strange hostname", "strange pathname",
	"No such remote", "no path specified",
}

// Said returns git's own reason for an error that wraps ErrRemote: one line, without general
// advice.
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

// IsNowhere reports whether an error that wraps ErrRemote is about an address without a repository,
// so that a retry is useless.
func IsNowhere(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && saysAny(failed.Stderr, ofAddresses)
}
