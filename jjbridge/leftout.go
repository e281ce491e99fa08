package jjbridge

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ErrFilter is wrapped by the error of a capture that one of the user's filters, which git
// requires, did not let come to its end.
var ErrFilter = errors.New("a filter failed")

// leftOuts gathers what a capture leaves out.
type leftOuts struct {
	all     []snapshot.LeftOut
	modules []string        // submodules that may have changes in them
	failed  map[string]bool // files that git could not read
}

func (l *leftOuts) add(path, reason string, size int64) {
	l.all = append(l.all, snapshot.LeftOut{Path: path, Reason: reason, Bytes: size})
}

// sorted is what is left out by path, each once.
func (l *leftOuts) sorted() []snapshot.LeftOut {
	slices.SortStableFunc(l.all, func(a, b snapshot.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(l.all, func(a, b snapshot.LeftOut) bool { return a.Path == b.Path })
}

// isAboutOneFile tells whether git gave up because of a file, and not because of itself.
func isAboutOneFile(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && strings.Contains(failed.Stderr, "fatal: Unable to process path ") || filterFailure(err) != nil
}

// leaveFailed leaves out a file that git could not read. A filter that failed is an error.
func (c *filesCapture) leaveFailed(path string, err error) error {
	if failure := filterFailure(err); failure != nil {
		return failure
	}
	if c.left.failed == nil {
		c.left.failed = make(map[string]bool)
	}
	c.left.failed[path] = true
	if _, err := lstat(c.w.full(path)); err == nil {
		c.left.add(path, snapshot.LeftUnreadable, 0)
	}
	return nil
}

var filterFailed = regexp.MustCompile(`(?m)^fatal: (.*): clean filter '(.*)' failed$`)

// filterFailure is the error for a filter that failed; nil where none did.
func filterFailure(err error) error {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return nil
	}
	match := filterFailed.FindStringSubmatch(failed.Stderr)
	if match == nil {
		return nil
	}
	return fmt.Errorf("%w: clean filter %q on %s: %w", ErrFilter, match[2], match[1], err)
}
