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

// ErrRemote means that a repository cannot be reached, is not a repository, or that the connection
// broke. Such errors also wrap the *gitexec.Error.
var ErrRemote = errors.New("remote")

// ErrBundle means that a bundle is damaged, has objects that fail git fsck, or needs commits that
// are missing here.
var ErrBundle = errors.New("bad bundle")

// ErrUnsound means that received objects are damaged or malformed. None of the received objects is
// stored.
var ErrUnsound = errors.New("unsound objects")

// ofObjects are parts of git's messages about received objects.
var ofObjects = []string{"fsck error", "error in object", "bad object"}

// ofHere are parts of git's messages about this repository.
var ofHere = []string{"fsck error", "bad object", "pack-objects", "cannot lock ref", "No space left on device"}

// ofRemote are parts of git's messages about the remote and the connection.
var ofRemote = []string{
	"Could not read from remote repository", "does not appear to be a git repository", "the remote end hung up",
	"unable to access", "unable to connect", "unable to look up", "Could not resolve", "Connection ", "connection ",
	"Authentication failed", "could not read Username", "could not read Password", "access denied or repository not exported",
	"unable to find remote helper", "is not a git command", "not allowed", "strange hostname", "strange pathname",
	"No such remote", "no path specified", "early EOF", "unexpected disconnect", "RPC failed", "protocol error",
	"bad line length", "expected flush", "not found", "not a git repository", "invalid server response",
	"unrecognized bundle", "does not exist",
}

// brokenHere matches git's message that a ref of this repository points to a missing object.
var brokenHere = regexp.MustCompile(`(?m)^fatal: bad object (refs/\S+)$`)

// secret matches the password, or other secret, in a URL in git's messages.
var secret = regexp.MustCompile(`([^\s/:@'"]*):[^\s/@'"]+@`)

// withoutSecrets removes secrets from the URLs in a message.
func withoutSecrets(said string) string { return secret.ReplaceAllString(said, "$1@") }

// classify wraps an error of git in this package's errors.
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
