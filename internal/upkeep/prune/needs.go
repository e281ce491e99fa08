package prune

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// gitPatience is the maximal number of checks for a git process that changes an index. gitRetry is the
	// time between two checks.
	gitPatience = 500
	gitRetry    = 20 * time.Millisecond
)

// needFinder finds the objects of the repository that must not be deleted.
type needFinder struct{ git *gitReader }

// keepNeeded removes from ids every object that must stay, and every object that such an object refers to. These
// objects must stay: the objects at refs, HEADs and index entries of all worktrees, in reflogs, and in git's notes
// of an operation in progress. Unreachable objects outside ids must stay, too.
//
// roots are the ids at refs, at HEADs and in git's notes. The caller passes them to unneeded later.
func (n needFinder) keepNeeded(ctx context.Context, ids map[objstore.ID]struct{}) (roots []objstore.ID, err error) {
	keep := func(id objstore.ID, _ string) { delete(ids, id) }
	roots, err = n.needing(ctx)
	if err != nil {
		return nil, err
	}
	users, err := n.userTips(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.git.walk(ctx, roots, nil, userRoots, keep); err != nil {
		return nil, err
	}
	strays, err := n.strays(ctx, ids)
	if err != nil {
		return nil, err
	}
	// The objects that an unreachable object refers to may be missing.
	err = n.git.walk(ctx, strays, nil, []string{"--ignore-missing", evenMissing}, keep)
	return append(roots, users...), err
}

// unneeded reports whether all of ids are still unneeded. oldRoots are the ids that keepNeeded returned. unneeded
// searches from the ids that refs and git's files have now. To save time, it skips most of the objects that
// oldRoots reach.
func (n needFinder) unneeded(ctx context.Context, oldRoots []objstore.ID, ids map[objstore.ID]struct{}) (bool, error) {
	newRoots, err := n.needing(ctx)
	if err != nil {
		return false, err
	}
	unneeded := true
	err = n.git.walk(ctx, newRoots, oldRoots, userRoots, func(id objstore.ID, _ string) {
		if _, ok := ids[id]; ok {
			unneeded = false
		}
	})
	return unneeded, err
}

// needing returns the ids in git-smithers' refs. It also returns the ids of the existing objects that ORIG_HEAD,
// MERGE_HEAD and similar files of git name; see noted.
func (n needFinder) needing(ctx context.Context) ([]objstore.ID, error) {
	list, err := n.git.ourRefs(ctx)
	if err != nil {
		return nil, err
	}
	noted, err := n.noted()
	if err != nil {
		return nil, err
	}
	var roots []objstore.ID
	// git's files may name objects that were deleted long ago.
	if err := n.git.sizes(ctx, noted, func(id objstore.ID, _ int64) { roots = append(roots, id) }); err != nil {
		return nil, err
	}
	for _, ref := range list {
		roots = append(roots, ref.ID)
	}
	return roots, nil
}

// userTips returns the commits at the user's refs and at the HEADs of all worktrees; see userRefs.
func (n needFinder) userTips(ctx context.Context) (tips []objstore.ID, err error) {
	args := append([]string{"--no-replace-objects", "rev-list", "--no-walk=unsorted"}, userRefs...)
	err = n.git.lines(ctx, nil, args, func(line string) error {
		id, err := objstore.ParseID(line)
		tips = append(tips, id)
		return err
	})
	return tips, err
}

// gitDirs returns the git directories of all worktrees. The common directory is the first.
func (n needFinder) gitDirs() ([]string, error) {
	common := n.git.repo.CommonDir
	linked, err := filepath.Glob(filepath.Join(fsx.GlobQuote(common), "worktrees", "*"))
	return append([]string{common}, linked...), err
}

// inProgress lists the folders of a git directory in which git notes an operation in progress, and the folder
// of the private refs of a linked worktree.
var inProgress = []string{"rebase-merge", "rebase-apply", "sequencer", "refs"}

// noted returns the ids that git stores outside the shared refs, sorted and without duplicates. It reads these
// files of each worktree's git directory: ORIG_HEAD, MERGE_HEAD and other files with such names, the files in the
// folders inProgress, and the private refs of a linked worktree. In a reftable repository it reads the
// worktree's own refs, too. The objects may be missing.
func (n needFinder) noted() ([]objstore.ID, error) {
	dirs, err := n.gitDirs()
	if err != nil {
		return nil, err
	}
	var ids []objstore.ID
	for i, dir := range dirs {
		own, err := reftable.OwnIDs(dir, objstore.AlgorithmOf(n.git.repo.ObjectFormat), i == 0)
		if err != nil {
			return nil, err
		}
		ids = append(ids, own...)
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, file := range files {
			// The name has only capital letters and underscores, as in MERGE_HEAD.
			if file.Type().IsRegular() && strings.Trim(file.Name(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
				ids = append(ids, idsIn(filepath.Join(dir, file.Name()))...)
			}
		}
		for _, folder := range inProgress {
			if i == 0 && folder == "refs" {
				continue // userRefs and ourRefs cover the shared refs
			}
			err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					ids = append(ids, idsIn(path)...)
				}
				return nil // the operation may have ended
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(ids, objstore.ID.Compare)
	return slices.Compact(ids), nil
}

// idsIn returns the ids that stand as separate words in the file at path, without the zero id. It returns nil if the
// file is unreadable or larger than 1 MiB.
func idsIn(path string) []objstore.ID {
	const large = 1 << 20
	if info, err := os.Stat(path); err != nil || info.Size() > large {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // the operation may have ended
	}
	var ids []objstore.ID
	for word := range strings.FieldsSeq(string(data)) {
		if id, err := objstore.ParseID(word); err == nil && !id.IsZero() {
			ids = append(ids, id)
		}
	}
	return ids
}

// strays returns all loose objects and all objects of cruft packs, except those in ids. git keeps such objects
// even if no ref reaches them, because a running command or the user may still need them.
func (n needFinder) strays(ctx context.Context, ids map[objstore.ID]struct{}) ([]objstore.ID, error) {
	objects := filepath.Join(n.git.repo.CommonDir, "objects")
	var strays []objstore.ID
	add := func(digits string) {
		id, err := objstore.ParseID(digits)
		if _, ours := ids[id]; err == nil && !ours {
			strays = append(strays, id)
		}
	}
	loose, err := filepath.Glob(filepath.Join(fsx.GlobQuote(objects), "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range loose {
		add(filepath.Base(filepath.Dir(path)) + filepath.Base(path))
	}
	cruft, err := filepath.Glob(filepath.Join(fsx.GlobQuote(objects), "pack", "*.mtimes"))
	if err != nil {
		return nil, err
	}
	for _, path := range cruft {
		if err := n.packed(ctx, strings.TrimSuffix(path, ".mtimes")+".idx", add); err != nil {
			return nil, err
		}
	}
	return strays, nil
}

// packed calls add with the hexadecimal id of every object in the pack index at path. If the file is missing, because
// git gc has removed the pack, packed does nothing.
func (n needFinder) packed(ctx context.Context, path string, add func(digits string)) (err error) {
	index, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	return n.git.lines(ctx, index, []string{"show-index"}, func(line string) error {
		if words := strings.Fields(line); len(words) > 1 {
			add(words[1])
		}
		return nil
	})
}

// awaitGit waits until no worktree has an index.lock, because a git process that changes an index may be
// about to refer to an existing object. It returns an error with the code locked after gitPatience checks.
// awaitGit need not wait for a git process that starts later: Drop checks again with unneeded.
func (n needFinder) awaitGit(ctx context.Context) error {
	dirs, err := n.gitDirs()
	if err != nil {
		return err
	}
	for range gitPatience {
		busy := slices.ContainsFunc(dirs, func(dir string) bool {
			_, err := os.Lstat(filepath.Join(dir, "index.lock"))
			return err == nil
		})
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(gitRetry):
		}
	}
	return fault.New(fault.Locked, "another git process is changing an index of this repository").
		Hint("try again when that git process has ended").
		Hint("if no git process is running, remove the file index.lock from the git directory")
}
