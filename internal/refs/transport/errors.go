package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/refs"
)

// ErrRemote means that the remote cannot be reached or is not a repository, or that the connection to the remote broke.
// An error that wraps ErrRemote usually also wraps the *gitexec.Error.
var ErrRemote = errors.New("remote")

// ErrBundle means that a bundle is damaged, has objects that fail git fsck, or needs commits that this
// repository lacks.
var ErrBundle = errors.New("bad bundle")

// ErrUnsound means that received objects are damaged or malformed. git has stored none of the received
// objects.
var ErrUnsound = errors.New("unsound objects")

// HashError means that the other repository, or a bundle, names objects by another hash than this repository. No object was sent or
// stored.
type HashError struct{ Here, There string } // object formats: "sha1" or "sha256"

// Error returns a message with both hashes.
func (e *HashError) Error() string {
	return "this repository has " + e.Here + " objects, and the other side has " + e.There + " objects"
}

// Unwrap returns ErrRemote: the remote cannot be used.
func (e *HashError) Unwrap() error { return ErrRemote }

// otherHash returns a HashError, to which err is added if err is not nil.
func (t *Transport) otherHash(err error) error {
	out := &HashError{Here: t.opts.Repo.ObjectFormat, There: "sha256"}
	if out.Here == out.There {
		out.There = "sha1"
	}
	if err == nil {
		return out
	}
	return fmt.Errorf("%w: %w", out, err)
}

// ofHashes holds parts of git's messages about a remote with another hash.
var ofHashes = []string{"does not support this repository's hash algorithm", "mismatched algorithms:", "unexpected capabilities^{}"}

// ofObjects holds parts of git's messages about damaged or malformed received objects.
var ofObjects = []string{"fsck error", "error in object", "bad object"}

// ofHere holds parts of git's messages about this repository.
var ofHere = []string{"fsck error", "bad object", "pack-objects", "cannot lock ref", "No space left on device"}

// ofRemote holds parts of git's messages about the remote and the connection.
var ofRemote = []string{
	"Could not read from remote repository", "does not appear to be a git repository", "the remote end hung up",
	"unable to access", "unable to connect", "unable to look up", "Could not resolve", "Connection ", "connection ",
	"Authentication failed", "could not read Username", "could not read Password", "access denied or repository not exported",
	"unable to find remote helper", "is not a git command", "not allowed", "strange hostname", "strange pathname",
	"No such remote", "no path specified", "early EOF", "unexpected disconnect", "RPC failed", "protocol error",
	"bad line length", "expected flush", "not found", "not a git repository", "invalid server response",
	"unrecognized bundle", "does not exist",
}

// brokenHere matches git's message that a ref of this repository points at a missing object.
var brokenHere = lazyregexp.New(`(?m)^fatal: bad object (refs/\S+)$`)

// secret matches the user and the password of a URL in git's messages.
var secret = lazyregexp.New(`([^\s/:@'"]*):[^\s/@'"]+@`)

// withoutSecrets returns said, a message of git, without the passwords in its URLs. The names of users stay.
func withoutSecrets(said string) string { return secret.ReplaceAllString(said, "$1@") }

// classify returns an error that wraps err, the error of a git command, and the error that git's message indicates: a
// *refs.BrokenError, refs.ErrNotFound, ErrBundle, ErrUnsound or ErrRemote. If the message indicates none of these
// errors, the result is err itself. In both cases, classify removes progress and passwords from the message in err.
//
// If err is nil or not a *gitexec.Error, if git was stopped, or if ctx has ended, classify returns err unchanged.
func classify(ctx context.Context, err error) error {
	var failed *gitexec.Error
	if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || failed.Stopped() {
		return err
	}
	failed.Stderr = withoutSecrets(withoutProgress(failed.Stderr))
	if name := brokenHere.FindStringSubmatch(failed.Stderr); name != nil {
		return fmt.Errorf("%w: %w", &refs.BrokenError{Name: refs.Name(name[1]), Reason: "the object that the ref names is missing"}, err)
	}
	// A message about objects or about this repository can also contain a text of ofRemote, so ofRemote comes last.
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

// classify is the function classify, which adds a [HashError] if the remote has another hash.
func (t *Transport) classify(ctx context.Context, err error) error {
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && saysAny(failed.Stderr, ofHashes) {
		return t.otherHash(err)
	}
	return classify(ctx, err)
}

// saysAny reports whether said, a message of git, contains at least one of the texts in all.
func saysAny(said string, all []string) bool {
	for _, words := range all {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}
