package jjbridge

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// IgnoredMatching returns the files of the working copy that git ignores and that match a pattern in the file patterns, in the form of .gitignore.
// The paths are relative to the top, with slashes, and sorted. Files that git or jj tracks, and files of repositories inside the working copy, are not among
// them.
func (w *Workspace) IgnoredMatching(ctx context.Context, patterns string) ([]string, error) {
	matching, err := w.untrackedFiles(ctx, nil, "--ignored", "--exclude-from="+patterns)
	if err != nil || len(matching) == 0 {
		return nil, err
	}
	ignored, err := w.Ignores(ctx, matching)
	if err != nil {
		return nil, err
	}
	var inside []snapshot.LeftOut
	kept := slices.DeleteFunc(matching, func(path string) bool {
		folder, is := repositoryOf(path)
		if is {
			inside = append(inside, snapshot.LeftOut{Path: folder})
		}
		return is || !ignored[path] || strings.HasPrefix(path, ".jj/")
	})
	kept = slices.DeleteFunc(kept, func(path string) bool { return IsLeftOut(inside, path) })
	slices.Sort(kept)
	return kept, nil
}

// IgnoredAtTop returns the names of the ignored files and folders at the top of the working copy. The name of a folder ends with a slash. A folder counts
// only if all files in it are ignored.
func (w *Workspace) IgnoredAtTop(ctx context.Context) ([]string, error) {
	all, err := w.untrackedFiles(ctx, nil, "--ignored", "--exclude-standard", "--directory")
	return slices.DeleteFunc(all, func(path string) bool {
		return path == ".jj/" || strings.Contains(strings.TrimSuffix(path, "/"), "/")
	}), err
}

// include adds the ignored files that opts.Include names to the untracked files of found, and returns them, sorted.
func (c *filesCapture) include(ctx context.Context, found *status) (ignored []string, err error) {
	if len(c.opts.Include) == 0 || c.scope != snapshot.ScopeAll {
		return nil, nil
	}
	options := []string{"--ignored"}
	for _, pattern := range c.opts.Include {
		options = append(options, "--exclude="+pattern)
	}
	all, err := c.w.untrackedFiles(ctx, []string{"GIT_INDEX_FILE=" + c.p.TrackedPath()}, options...)
	if err != nil {
		return nil, err
	}
	slices.Sort(found.untracked)
	for _, path := range all {
		if _, known := slices.BinarySearch(found.untracked, path); !known {
			ignored = append(ignored, path)
		}
	}
	slices.Sort(ignored)
	found.untracked = slices.Concat(found.untracked, ignored)
	return ignored, nil
}

// untrackedFiles returns the untracked files of the working copy that git lists with the options. env is as in gitRun.
func (w *Workspace) untrackedFiles(ctx context.Context, env []string, options ...string) ([]string, error) {
	out, err := w.gitWith(ctx, gitRun{args: append([]string{"ls-files", "-z", "--others"}, options...), env: env})
	return splitPaths(out), err
}

// Ignores returns those of the paths that git would ignore in the working copy if it did not track them. The files need not exist. If git fails
// although ctx has not ended, no file counts as ignored.
func (w *Workspace) Ignores(ctx context.Context, paths []string) (map[string]bool, error) {
	var ask bytes.Buffer
	for _, path := range paths {
		ask.WriteString("./" + path + "\x00")
	}
	// git exits with status 1 if no file is ignored, so an error counts only if ctx has ended.
	out, err := w.gitWith(ctx, gitRun{args: []string{"check-ignore", "-z", "--stdin", "--no-index"}, stdin: &ask})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	ignored := make(map[string]bool)
	for _, name := range splitPaths(out) {
		ignored[strings.TrimPrefix(name, "./")] = true
	}
	return ignored, nil
}
