package jjbridge

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// changes is how the working copy differs from the private index and from what the user tracks.
type changes struct {
	modified []modified
	gone     []string // in the private index, and no longer there
	// untracked are the paths that are neither in the user's index nor ignored. A folder
	// that is a repository of its own ends in a slash.
	untracked  []string
	unreadable []string // folders that could not be read, with a slash at their end
}

// modified is a file that is not, or may not be, what the private index says.
type modified struct {
	path   string
	module bool // a submodule, and was one before
}

// scan looks for changes: what git says of the private index, and what it says is
// untracked beside the user's, by processes that run side by side.
func (c *filesCapture) scan(ctx context.Context) (*changes, error) {
	type answer struct {
		out, stderr []byte
		err         error
	}
	others := make(chan answer, 1)
	if c.scope == snapshot.ScopeAll {
		go func() {
			var a answer
			a.out, a.stderr, a.err = c.w.gitFull(ctx, gitRun{
				args: []string{"ls-files", "-z", "--others", "--exclude-standard", "--exclude=/.jj"},
				env:  []string{"GIT_INDEX_FILE=" + c.p.TrackedPath()},
			})
			others <- a
		}()
	} else {
		others <- answer{}
	}
	out, err := c.w.gitWith(ctx, gitRun{
		args:     []string{"diff-files", "-z", "--raw", "--no-renames", "--no-ext-diff", "--ignore-submodules=none"},
		env:      append(slices.Clone(c.git.env), "GIT_INDEX_FILE="+c.p.IndexPath()),
		settings: c.git.settings, gitDir: c.git.gitDir,
	})
	other := <-others
	if err == nil {
		err = other.err
	}
	if err != nil {
		return nil, err
	}
	found := &changes{untracked: splitPaths(other.out), unreadable: unreadableFolders(other.stderr)}
	return found, found.parse(out)
}

// scanEarly begins a scan, where there is an index to scan with, and returns how to get
// at what it found: nil where there was none.
func (c *filesCapture) scanEarly(ctx context.Context) func() (*changes, error) {
	if _, err := lstat(c.p.IndexPath()); err != nil {
		return func() (*changes, error) { return nil, nil } //nolint:nilnil // see above
	}
	var found *changes
	var err error
	var scan sync.WaitGroup
	scan.Go(func() { found, err = c.scan(ctx) })
	return func() (*changes, error) {
		scan.Wait()
		return found, err
	}
}

// parse reads what git diff-files -z --raw says.
func (c *changes) parse(out []byte) error {
	for len(out) > 0 {
		head, rest, ok := bytes.Cut(out, []byte{0})
		path, rest, found := bytes.Cut(rest, []byte{0})
		fields := strings.Fields(string(head))
		if !ok || !found || len(fields) != 5 {
			return fmt.Errorf("git diff-files: unexpected answer %q", head)
		}
		if fields[4] == "D" {
			c.gone = append(c.gone, string(path))
		} else {
			module := fmt.Sprintf(":%o", objstore.ModeCommit)
			c.modified = append(c.modified, modified{path: string(path), module: fields[0] == module && fields[1] == module[1:]})
		}
		out = rest
	}
	return nil
}

// splitPaths splits a list of paths, each with a NUL at its end.
func splitPaths(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// unreadableFolders are the folders that git warned of because it could not look into them.
func unreadableFolders(stderr []byte) []string {
	var folders []string
	for line := range strings.Lines(string(stderr)) {
		if name, ok := strings.CutPrefix(line, "warning: could not open directory '"); ok {
			if i := strings.LastIndex(name, "': "); i > 0 {
				folders = append(folders, strings.TrimSuffix(name[:i], "/")+"/")
			}
		}
	}
	return folders
}
