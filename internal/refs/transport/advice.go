package transport

import (
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// advices are what helps against reasons for which a remote refuses, by words of git and of hosts; the first that fits counts. A retry alone
// helps against none of them.
var advices = []struct {
	words  []string
	advice string
}{
	{[]string{"dubious ownership"}, "git does not trust a repository that another user owns: `git config --global --add safe.directory DIR` trusts it"},
	{
		[]string{"exceeds", "too large", "file size limit", "maximum allowed size", "HTTP 413", "returned error: 413", "GH001"},
		"the remote limits sizes: `git smithers du` shows which runs are large, and a file that git ignores stays out of frames",
	},
	{
		[]string{"deny updating a hidden ref", "funny refname", "refusing to update", "prohibited by Gerrit", "deletion prohibited", "GH013", "GH006", "protected ref", "protected branch"},
		"rules of the host refuse these refs: ask who runs it to allow refs/smithers/*, or keep runs in another repository with `git config smithers.remote NAME`",
	},
	{
		[]string{"hook declined", "declined by"},
		"a hook of the remote refuses: its own words stand above; ask who runs it",
	},
	{
		[]string{"returned error: 401", "returned error: 403", "HTTP 401", "HTTP 403", "Authentication failed", "Permission denied", "permission to", "insufficient permission", "access denied", "could not read Username"},
		"check your credentials, and whether you may write to the repository",
	},
	{[]string{"returned error: 404", "HTTP 404"}, "check the address, and whether you may see the repository"},
	{[]string{"returned error: 4", "HTTP 4"}, "the remote refuses the request: its words stand above"},
}

// AdviceOn returns what helps against a reason in the words of git or of a host, or "" if it knows nothing.
func AdviceOn(said string) string {
	for _, one := range advices {
		if saysAny(strings.ToLower(said), lower(one.words)) {
			return one.advice
		}
	}
	return ""
}

// Advice returns what AdviceOn does of an error of git's transport.
func Advice(err error) string {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return ""
	}
	return AdviceOn(failed.Stderr)
}

// lower returns words in small letters.
func lower(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = strings.ToLower(word)
	}
	return out
}
