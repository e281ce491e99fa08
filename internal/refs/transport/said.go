package transport

import (
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// advice holds lines of general advice that git adds after the reason for a failure.
var advice = []string{
	"fatal: Could not read from remote repository.",
	"Please make sure you have the correct access rights", "and the repository exists.",
}

// ofAddresses holds parts of git's messages about an address at which there is no repository.
var ofAddresses = []string{
	"does not appear to be a git repository", "not a git repository", "does not exist", "not found", "not exported",
	"Could not resolve", "unable to look up", "unable to find remote helper", "strange hostname", "strange pathname",
	"No such remote", "no path specified",
}

// Said returns git's own reason for err, an error that wraps ErrRemote, in one line and without general advice. If
// git's message has only advice, Said returns a fixed text. If err has no message of git, Said returns the text of err.
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
		return "git could not read from the remote"
	}
	return strings.Join(lines, "; ")
}

// IsUnknownFormat reports whether err, an error that wraps ErrRemote, means that a git does not know the format of the repository at the address.
func IsUnknownFormat(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && strings.Contains(failed.Stderr, "unknown repository extension")
}

// IsNowhere reports whether err, an error that wraps ErrRemote, means that there is no repository at the address. A
// retry is then useless.
func IsNowhere(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && saysAny(failed.Stderr, ofAddresses)
}
