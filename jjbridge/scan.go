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

// changes holds the differences of the working copy from the private index and from the user's index.
type changes struct {
	modified []modifiedFile
	gone     []string // paths of the private index whose files are missing
	// untracked are the paths that are neither in the user's index nor ignored. A path with a final slash is a
	// nested repository.
	untracked  []string
	unreadable []string // folders that git could not read, each with a final slash
}

// modifiedFile is a file that differs, or may differ, from the private index.
type modifiedFile struct {
	path   string
	module bool // the path is a submodule now and in the private index
}

// scan returns the differences of the working copy. Two processes run side by side: git compares the files
// with the private index, and git lists untracked files by the user's index. If c.scope is not
// snapshot.ScopeAll, scan lists no untracked files.
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

// scanEarly begins a scan and returns a function that waits for the result. If there is no private index yet,
// the result is nil.
func (c *filesCapture) scanEarly(ctx context.Context) func() (*changes, error) {
	if _, err := lstat(c.p.IndexPath()); err != nil {
		return func() (*changes, error) { return nil, nil } //nolint:nilnil // without an index there is no result
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

// parse fills modified and gone from out, the output of git diff-files -z --raw.
func (c *changes) parse(out []byte) error {
	for len(out) > 0 {
		head, rest, ok := bytes.Cut(out, []byte{0})
		path, rest, found := bytes.Cut(rest, []byte{0})
		fields := strings.Fields(string(head))
		if !ok || !found || len(fields) != 5 {
			return fmt.Errorf("git diff-files: unexpected output %q", head)
		}
		if fields[4] == "D" {
			c.gone = append(c.gone, string(path))
		} else {
			module := fmt.Sprintf(":%o", objstore.ModeCommit)
			c.modified = append(c.modified, modifiedFile{path: string(path), module: fields[0] == module && fields[1] == module[1:]})
		}
		out = rest
	}
	return nil
}

// splitPaths returns the paths in out, each of which ends with a NUL there.
func splitPaths(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// unreadableFolders returns the folders, each with a final slash, that git could not read, as git's warnings
// in stderr report.
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
