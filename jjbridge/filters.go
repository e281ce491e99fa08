package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ErrFilter is wrapped by the warning of a capture that leaves out files because a required filter failed.
var ErrFilter = errors.New("files are left out because a filter failed")

// failedFilter is a filter that git requires and that failed on some files of a capture.
type failedFilter struct {
	name  string
	files []string
	said  string // the first line of git's error output
}

var (
	// filterFailed matches git's error about a required filter that failed.
	filterFailed = lazyregexp.New(`(?m)^fatal: .*: clean filter '(.*)' failed$`)
	// filterAbsent matches git's error about a filter whose command cannot be started.
	filterAbsent = lazyregexp.New(`(?m)^error: (external filter '.*' failed 12[67]|cannot fork to run subprocess .*|initialization for subprocess '.*' failed)$`)
)

// filterHungUp is git's error if the process of a filter ends before the process answers. The error does not name the
// file.
const filterHungUp = "fatal: the remote end hung up unexpectedly"

// filterFailure returns err as a *gitexec.Error if git stopped because a filter failed. Otherwise it returns nil.
func filterFailure(err error) *gitexec.Error {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if ok && (filterFailed.MatchString(failed.Stderr) || strings.Contains(failed.Stderr, filterHungUp)) {
		return failed
	}
	return nil
}

// isAboutOneFile reports whether err shows that git stopped because of one of files, for instance because a filter or a change of
// encoding failed: git's last words name a file. git may then be able to read the other files.
func isAboutOneFile(err error, files []string) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return false
	}
	if filterFailure(err) != nil || isNoEncoding(err) {
		return true
	}
	_, words, ok := strings.Cut(failed.Stderr, "fatal: ")
	return ok && (strings.HasPrefix(words, "Unable to process path ") ||
		slices.ContainsFunc(files, func(file string) bool { return strings.Contains(words, "'"+file+"'") }))
}

// isNoEncoding reports whether git stopped because the attribute working-tree-encoding of a file has no value. The error does not name the file.
func isNoEncoding(err error) bool {
	failed, ok := errors.AsType[*gitexec.Error](err)
	return ok && strings.Contains(failed.Stderr, "fatal: true/false are no valid working-tree-encodings")
}

// unwatch makes git status pass over the tracked files whose attribute working-tree-encoding has no value, as it passes over those that the user marked
// assume-unchanged. The capture then reads them without git status.
func (c *filesCapture) unwatch(ctx context.Context) error {
	tracked := gitRun{args: []string{"ls-files", "-z"}, env: []string{"GIT_INDEX_FILE=" + c.p.TrackedPath()}}
	out, err := c.w.gitWith(ctx, tracked)
	if err != nil {
		return err
	}
	tracked.args, tracked.stdin = []string{"check-attr", "-z", "--stdin", "working-tree-encoding"}, bytes.NewReader(out)
	if out, err = c.w.gitWith(ctx, tracked); err != nil {
		return err
	}
	var refused []string
	for fields := splitPaths(out); len(fields) >= 3; fields = fields[3:] {
		if fields[2] == "set" {
			refused = append(refused, fields[0])
		}
	}
	info, err := os.Stat(c.p.TrackedPath())
	if err != nil {
		return err
	}
	// git reads files that have changed within the time of the index, too, and gives up: it gets a working copy without files.
	away := *c.w
	away.Root = c.p.Dir
	tracked.args, tracked.stdin = []string{"update-index", "-z", "--assume-unchanged", "--stdin"}, paths(refused)
	if _, err = away.gitWith(ctx, tracked); err != nil {
		return err
	}
	// With a later date, git would take a file that has changed within the time of the index for unchanged.
	if err := os.Chtimes(c.p.TrackedPath(), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	data, err := os.ReadFile(c.p.TrackedPath())
	if err == nil {
		c.state.Survey, err = c.surveyOf(data)
	}
	return err
}

// readApart reads files in smaller groups after git has failed with err at one of the files. git stops at the first
// such file and writes nothing. If a filter failed, readApart first separates the files of each filter. It halves any
// other group. A single file that fails is left out. If the command of a filter cannot be started, all files of the
// filter are left out at once.
func (c *filesCapture) readApart(ctx context.Context, files []string, err error) error {
	failed := filterFailure(err)
	if failed != nil {
		groups, err := c.byFilter(ctx, files)
		if err != nil {
			return err
		}
		if len(groups) > 1 {
			return c.readGroups(ctx, slices.Collect(maps.Values(groups)))
		}
		// All files have the same filter: the map has one key.
		for name := range groups {
			if len(files) == 1 || filterAbsent.MatchString(failed.Stderr) {
				c.left.addFiltered(c.w, name, files, failed)
				return nil
			}
		}
	}
	if len(files) == 1 {
		c.left.addFailed(c.w, files[0])
		return nil
	}
	half := len(files) / 2
	return c.readGroups(ctx, [][]string{files[:half], files[half:]})
}

// readGroups reads each group of files with c.read, up to the first error.
func (c *filesCapture) readGroups(ctx context.Context, groups [][]string) error {
	for _, group := range groups {
		if err := c.read(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// byFilter returns files in groups. The key of a group is the value of the attribute filter, or "unspecified" for the
// files without this attribute.
func (c *filesCapture) byFilter(ctx context.Context, files []string) (map[string][]string, error) {
	out, err := c.w.gitWith(ctx, gitRun{
		args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: paths(files),
		env: append(slices.Clone(c.git.env), "GIT_INDEX_FILE="+c.p.TrackedPath()), settings: c.git.settings, gitDir: c.git.gitDir,
	})
	if err != nil {
		return nil, err
	}
	groups := make(map[string][]string)
	// git prints three fields for each file: the path, "filter" and the value.
	for fields := splitPaths(out); len(fields) >= 3; fields = fields[3:] {
		groups[fields[2]] = append(groups[fields[2]], fields[0])
	}
	return groups, nil
}

// addFailed records in l.failed that git could not read file. If the file still exists, addFailed also
// records it as left out.
func (l *leftOuts) addFailed(w *Workspace, file string) {
	if l.failed == nil {
		l.failed = make(map[string]bool)
	}
	l.failed[file] = true
	if _, err := lstat(w.full(file)); err == nil {
		l.add(file, snapshot.LeftUnreadable, 0)
	}
}

// addFiltered records that git could not read files, because the filter with the name filter failed. It also remembers
// the files and the first line of git's message for warnOfFilters. failed is git's error.
func (l *leftOuts) addFiltered(w *Workspace, filter string, files []string, failed *gitexec.Error) {
	for _, file := range files {
		l.addFailed(w, file)
	}
	i := slices.IndexFunc(l.filters, func(f failedFilter) bool { return f.name == filter })
	if i < 0 {
		i = len(l.filters)
		said, _, _ := strings.Cut(failed.Stderr, "\n")
		l.filters = append(l.filters, failedFilter{name: filter, said: said})
	}
	l.filters[i].files = append(l.filters[i].files, files...)
}

// isFiltered reports whether file is left out because its filter failed.
func (l *leftOuts) isFiltered(file string) bool {
	return slices.ContainsFunc(l.filters, func(f failedFilter) bool { return slices.Contains(f.files, file) })
}

// warnOfFilters calls warn once for each failed filter, in the order of the filters' names. The error passed to warn
// wraps ErrFilter.
func (l *leftOuts) warnOfFilters(warn func(error)) {
	slices.SortFunc(l.filters, func(a, b failedFilter) int { return cmp.Compare(a.name, b.name) })
	for _, f := range l.filters {
		slices.Sort(f.files)
		files := f.files[0]
		if more := len(f.files) - 1; more > 0 {
			files = fmt.Sprintf("%s and %d more", files, more)
		}
		warn(fmt.Errorf("%w: %q, which git requires for %s: %s", ErrFilter, f.name, files, f.said))
	}
}
