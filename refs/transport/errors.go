package transport

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/refs"
)

// ErrRemote is wrapped by the errors about a repository that cannot be reached, that is
// none, or with which the connection broke. The *gitexec.Error is in them, too.
var ErrRemote = errors.New("remote")

// ErrBundle is wrapped by the errors about a bundle that is damaged, holds objects that git
// fsck would not let pass, or goes on from commits that are not here.
var ErrBundle = errors.New("bad bundle")

// ErrUnsound is wrapped by the errors about objects that git found to be damaged or
// malformed when they came. Nothing of what came with them was kept.
var ErrUnsound = errors.New("unsound objects")

// ofObjects are words of messages about objects that came.
var ofObjects = []string{"fsck error", "error in object", "bad object"}

// ofHere are words of messages about this repository, whatever else is said.
var ofHere = []string{"fsck error", "bad object", "pack-objects", "cannot lock ref", "No space left on device"}

// ofRemote are words of messages about the other side and the way there.
var ofRemote = []string{
	"Could not read from remote repository", "does not appear to be a git repository", "the remote end hung up",
	"unable to access", "unable to connect", "unable to look up", "Could not resolve", "Connection ", "connection ",
	"Authentication failed", "could not read Username", "could not read Password", "access denied or repository not exported",
	"unable to find remote helper", "is not a git command", "not allowed", "strange hostname", "strange pathname",
	"No such remote", "no path specified", "early EOF", "unexpected disconnect", "RPC failed", "protocol error",
	"bad line length", "expected flush", "not found", "not a git repository", "invalid server response",
	"unrecognized bundle", "does not exist",
}

// brokenHere is what git says before anything moves, whatever is to move, of a ref of this
// repository that names no object in it.
var brokenHere = regexp.MustCompile(`(?m)^fatal: bad object (refs/\S+)$`)

// secret is the password in what git shows of a URL, or of its server alone.
var secret = regexp.MustCompile(`([^\s/:@'"]*):[^\s/@'"]+@`)

// withoutSecrets leaves out what a URL holds for its own server alone.
func withoutSecrets(said string) string { return secret.ReplaceAllString(said, "$1@") }

// classify makes errors of git what callers tell apart.
func classify(ctx context.Context, err error) error {
	var failed *gitexec.Error
	if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || failed.Stopped() {
		return err
	}
	failed.Stderr = withoutSecrets(withoutProgress(failed.Stderr))
	if name := brokenHere.FindStringSubmatch(failed.Stderr); name != nil {
		return fmt.Errorf("%w: %w", &refs.BrokenError{Name: refs.Name(name[1]), Reason: "git finds no object that it names"}, err)
	}
	switch says := func(words string) bool { return strings.Contains(failed.Stderr, words) }; {
	case says("couldn't find remote ref"):
		return fmt.Errorf("%w: %w", refs.ErrNotFound, err)
	case says("Repository lacks these prerequisite commits"):
		return fmt.Errorf("%w: %w", ErrBundle, err)
	case saysAny(failed.Stderr, ofObjects):
		return fmt.Errorf("%w: %w", ErrUnsound, err)
	case saysAny(failed.Stderr, ofHere):
		return err
	case saysAny(failed.Stderr, ofRemote):
		return fmt.Errorf("%w: %w", ErrRemote, err)
	default:
		return err
	}
}

func saysAny(said string, all []string) bool {
	for _, words := range all {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}
