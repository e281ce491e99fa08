package files

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// FileChanges counts how the captured files of a working copy differ between two frames.
type FileChanges struct {
	Worktree string `json:"worktree"`     // the task whose own worktree has the files; "" for the run's working copy
	Files    int    `json:"files"`        // the number of files that differ
	Added    int64  `json:"linesAdded"`   // the number of added lines
	Removed  int64  `json:"linesRemoved"` // the number of removed lines
	// Began is true if this is the worktree's first capture, compared with the files that the worktree began with.
	Began bool `json:"began,omitempty"`
	// Uncounted is the number of files whose lines were not counted, because the files are binary or large.
	Uncounted int `json:"uncounted"`
}

// CompareFiles counts how the files of two frames differ. The result has one element for each working copy that
// differs: first the run's working copy, then the tasks' own worktrees by name. If the frame to has a worktree that the
// frame from lacks, CompareFiles compares the worktree with the files with which the worktree began (see
// WorktreeStart). It leaves out a working copy whose files are unknown for one of the frames.
//
// git counts the lines, without the working copy's settings and attributes. If all files are equal, git is not
// started. Code: limit_exceeded if too many paths differ.
func CompareFiles(ctx context.Context, s *timeline.Store, from, to *snapshot.Entry) ([]FileChanges, error) {
	before, err := from.VCSRevision()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	after, err := to.VCSRevision()
	if err != nil || before == nil || after == nil {
		return nil, timeline.Explain(err)
	}
	was, is := TreesOf(before), TreesOf(after)
	var list []FileChanges
	for _, name := range slices.Sorted(maps.Keys(is)) {
		tree, had := was[name]
		began := !had && name != ""
		if began {
			tree = WorktreeStart(s.Objects(), before, WorktreeOf(after, name))
		}
		if tree.IsZero() || tree == is[name] {
			continue
		}
		counted, err := countChanges(ctx, s, tree, is[name])
		if err != nil {
			return nil, timeline.Explain(err)
		}
		counted.Worktree, counted.Began = name, began
		list = append(list, counted)
	}
	return list, nil
}

// countChanges counts the files and lines that differ between two trees. The error is that of CountFiles.
func countChanges(ctx context.Context, s *timeline.Store, from, to objstore.ID) (counted FileChanges, err error) {
	counts, err := CountFiles(ctx, s, from, to)
	for _, c := range counts {
		counted.Files++
		if c.Added == nil {
			counted.Uncounted++
			continue
		}
		counted.Added += *c.Added
		counted.Removed += *c.Removed
	}
	return counted, err
}

// FileCount is a file that differs between two trees. Added and Removed are nil if its lines were not counted.
type FileCount struct {
	Path    string `json:"path"`
	Added   *int64 `json:"linesAdded"`
	Removed *int64 `json:"linesRemoved"`
}

// CountFiles returns the files that differ between two trees, sorted by path, with the lines that git counts. Code: limit_exceeded if too many paths differ.
func CountFiles(ctx context.Context, s *timeline.Store, from, to objstore.ID) ([]FileCount, error) {
	if err := CheckChanges(ctx, s, from, to); err != nil {
		return nil, err
	}
	git, args := Numstat(s)
	out, err := git.Run(ctx, append(args, "-z", from.String(), to.String())...)
	var counts []FileCount
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) < 3 {
			continue
		}
		count := FileCount{Path: snapshot.EscapePath(fields[2])}
		if added, removed, ok := CountedLines(fields); ok {
			count.Added, count.Removed = &added, &removed
		}
		counts = append(counts, count)
	}
	return counts, timeline.Explain(err)
}

// Numstat returns git and the arguments with which git counts the lines that differ between two trees. The caller adds
// the ids of the trees. The command uses no settings or attributes of the working copy, and fetches nothing. A file
// larger than 1 MiB counts as binary, since a stranger may have made the files of a fetched run large on purpose.
func Numstat(s *timeline.Store) (git *gitexec.Git, args []string) {
	git = gitexec.New(s.Repo(), append(slices.Clone(s.Env()), "GIT_NO_LAZY_FETCH=1"))
	return git, []string{
		"-c", "core.bigFileThreshold=" + LargeFile, "diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none", "--diff-algorithm=myers",
	}
}

// CountedLines returns how many lines were added to a file and removed from it. fields are the fields of the
// file's line in the output of numstat. ok is false for a binary file, whose fields are "-".
func CountedLines(fields []string) (added, removed int64, ok bool) {
	added, addedErr := strconv.ParseInt(fields[0], 10, 64)
	removed, removedErr := strconv.ParseInt(fields[1], 10, 64)
	return added, removed, addedErr == nil && removedErr == nil
}

// TreesOf returns the captured trees in the record v by worktree: the run's working copy under "", and the tasks'
// own worktrees by name. Worktrees without captured files are left out.
func TreesOf(v *snapshot.VCS) map[string]objstore.ID {
	trees := make(map[string]objstore.ID)
	if !v.Tree.IsZero() {
		trees[""] = v.Tree
	}
	for _, w := range v.Worktrees {
		if !w.Tree.IsZero() {
			trees[w.Name] = w.Tree
		}
	}
	return trees
}
