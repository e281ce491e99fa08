package share

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// untrackedFinder finds the untracked files of one run: files that a push would send and that are in none of
// the user's commits.
type untrackedFinder struct {
	objects objstore.Reader
	meter   *objstore.TreeMeter
	known   map[objstore.ID]bool   // entries that the remote has
	seen    map[objstore.ID]bool   // vcs.json blobs that were read
	walked  map[folder]bool        // folders that were compared with at most one tracked tree
	paths   int                    // number of paths read
	files   map[string]objstore.ID // the untracked files so far: the newest blob of each path
}

// folder is a tree at a path, with tracked, the tree of the user's commit at that path. tracked is zero if the commit
// has no folder at the path.
type folder struct {
	path          string
	tree, tracked objstore.ID
}

// maxLookedAt is the maximum number of paths that are read for one run. maxKept is the maximum number of files and
// folders that are kept in memory. A hostile run may have many different trees, each within the limits of a tree. The
// trees of an honest run differ little.
const (
	maxLookedAt = 250 * objstore.MaxTreePaths
	maxKept     = 2 * objstore.MaxTreePaths
)

// untrackedFiles returns the untracked files that a push of run would send, sorted by path. tip is the run's tip, and
// known has the entries that the remote has.
//
// untrackedFiles reads the captured files of the entries from tip back to the first entry in known. Like a
// push, it continues into the runs that the run was forked from. It leaves out files in the user's commits, and
// paths that the entry in known has. Secrets in paths are masked. A commit that is missing in this repository counts as empty. The size of a
// file is the size at its newest capture.
func (s *Sharer) untrackedFiles(ctx context.Context, run string, tip objstore.ID, known map[objstore.ID]bool) ([]UntrackedFile, error) {
	u := untrackedFinder{
		objects: s.store.Objects(), meter: objstore.NewTreeMeter(s.store.Objects()), known: known,
		seen: make(map[objstore.ID]bool), walked: make(map[folder]bool), files: make(map[string]objstore.ID),
	}
	if err := u.walk(ctx, tip); err != nil {
		return nil, err
	}
	sizes, err := s.sizes(ctx, u.files)
	if err != nil {
		return nil, err
	}
	finder, err := timeline.SecretFinder(s.store)
	if err != nil {
		return nil, err
	}
	files := make([]UntrackedFile, 0, len(u.files))
	for path, id := range u.files {
		files = append(files, UntrackedFile{RunID: run, Path: timeline.MaskSecrets(finder, path), Bytes: sizes[id]})
	}
	slices.SortFunc(files, func(a, b UntrackedFile) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// walk adds to u.files the untracked files of the entries from id back to the first entry in u.known. It then removes
// the paths that this known entry has. If no entry is in u.known, walk reads all entries.
func (u *untrackedFinder) walk(ctx context.Context, id objstore.ID) error {
	for !id.IsZero() {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := snapshot.ReadEntry(u.objects, id)
		if err != nil {
			return err
		}
		if u.known[id] {
			return u.leaveOut(ctx, entry)
		}
		vcs, err := u.newCopies(entry)
		if err != nil {
			return err
		}
		for _, copied := range vcs {
			if err := u.capture(ctx, copied); err != nil {
				return err
			}
		}
		id = entry.Parent
	}
	return nil
}

// newCopies returns the captured working copies of an entry. It returns nil if the entry has no vcs.json, or the same
// vcs.json as an entry that newCopies has read before.
func (u *untrackedFinder) newCopies(entry *snapshot.Entry) ([]*snapshot.VCS, error) {
	id, err := entry.VCSID()
	if err != nil || id.IsZero() || u.seen[id] {
		return nil, err
	}
	u.seen[id] = true
	return copies(entry)
}

// copies returns those working copies of an entry that have captured files: the shared working copy and the tasks' own
// worktrees.
func copies(entry *snapshot.Entry) ([]*snapshot.VCS, error) {
	vcs, err := entry.VCSRevision()
	if err != nil || vcs == nil {
		return nil, err
	}
	all := []*snapshot.VCS{vcs}
	for i := range vcs.Worktrees {
		all = append(all, &vcs.Worktrees[i].VCS)
	}
	return slices.DeleteFunc(all, func(v *snapshot.VCS) bool { return v.Tree.IsZero() }), nil
}

// capture adds to u.files the files of the captured working copy vcs that are not in the user's commits. If the working
// copy is too large, the error is a TreeSizeError.
func (u *untrackedFinder) capture(ctx context.Context, vcs *snapshot.VCS) error {
	commits, err := u.commitsOf(vcs)
	if err != nil {
		return err
	}
	var tracked []objstore.ID
	for _, commit := range commits {
		tree, _, err := readCommit(u.objects, commit)
		if err != nil {
			return err
		}
		if !tree.IsZero() {
			tracked = append(tracked, tree)
		}
	}
	size, err := u.meter.Added(ctx, vcs.Tree, tracked...)
	if err == nil {
		err = size.Check(vcs.Tree)
	}
	if err != nil {
		return err
	}
	return u.added(ctx, tracked, vcs.Tree, "")
}

// commitsOf returns the commits that the user made for the working copy vcs. For git, the result is the commit that is
// checked out. For jj, the result is the parents of that commit, because jj commits everything in the working copy. If
// the revision is not a git commit, commitsOf returns nil.
func (u *untrackedFinder) commitsOf(vcs *snapshot.VCS) ([]objstore.ID, error) {
	commit, err := objstore.ParseID(vcs.CommitID)
	if err != nil {
		return nil, nil //nolint:nilerr // a revision that is not a git commit has no tracked files
	}
	if vcs.Type != snapshot.VCSJJ {
		return []objstore.ID{commit}, nil
	}
	_, parents, err := readCommit(u.objects, commit)
	return parents, err
}

// readCommit returns the tree and the parents of a commit. If the commit is missing, tree is zero and parents
// is nil.
func readCommit(r objstore.Reader, id objstore.ID) (tree objstore.ID, parents []objstore.ID, err error) {
	data, err := objstore.GetKind(r, id, objstore.Commit)
	if errors.Is(err, objstore.ErrNotFound) {
		return objstore.ID{}, nil, nil
	}
	if err != nil {
		return objstore.ID{}, nil, err
	}
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		parsed, err := objstore.ParseID(value)
		switch {
		case name != "tree" && name != "parent":
			return tree, parents, nil
		case err != nil:
			return objstore.ID{}, nil, &objstore.CorruptError{ID: id, Reason: "commit: " + err.Error()}
		case name == "tree":
			tree = parsed
		default:
			parents = append(parents, parsed)
		}
	}
	return tree, parents, nil
}

// added adds to u.files each untracked file below tree. A file is tracked if a tree in tracked has a file at the
// same path. tracked has the user's trees at the path of tree. prefix is this path followed by "/", or "" for the
// root. added skips a tree that is in tracked, and a tree that was compared before. If all frames of the run
// together have too many files and folders, the error is a TreeSizeError.
func (u *untrackedFinder) added(ctx context.Context, tracked []objstore.ID, tree objstore.ID, prefix string) error {
	if slices.Contains(tracked, tree) || u.wasWalked(tracked, tree, prefix) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := objstore.ReadForeignTree(u.objects, tree)
	if err != nil {
		return err
	}
	u.paths += len(entries)
	if u.paths > maxLookedAt || len(u.walked)+len(u.files) > maxKept {
		return &objstore.TreeSizeError{ID: tree, Reason: "too many files and folders in all frames together"}
	}
	before := make(map[string][]objstore.TreeEntry)
	for _, id := range tracked {
		others, err := objstore.ReadForeignTree(u.objects, id)
		if err != nil && !errors.Is(err, objstore.ErrNotFound) {
			return err
		}
		for _, e := range others {
			before[e.Name] = append(before[e.Name], e)
		}
	}
	for _, e := range entries {
		if err := u.addedAt(ctx, before[e.Name], e, prefix+e.Name); err != nil {
			return err
		}
	}
	return nil
}

// wasWalked reports whether tree was compared before at the same path with the same tracked tree, or without a tracked
// tree if tracked is empty. It also records the comparison. With several tracked trees, it returns false and records
// nothing.
func (u *untrackedFinder) wasWalked(tracked []objstore.ID, tree objstore.ID, path string) bool {
	if len(tracked) > 1 {
		return false
	}
	at := folder{path: path, tree: tree}
	if len(tracked) == 1 {
		at.tracked = tracked[0]
	}
	was := u.walked[at]
	u.walked[at] = true
	return was
}

// addedAt adds e, the entry at path, to u.files if e is an untracked file. If e is a folder, it adds the
// untracked files below e. before holds the entries at path in the tracked trees. addedAt leaves out submodules
// and tracked files. If u.files already has the path, from a newer entry of the run, addedAt keeps that file.
func (u *untrackedFinder) addedAt(ctx context.Context, before []objstore.TreeEntry, e objstore.TreeEntry, path string) error {
	var folders []objstore.ID
	for _, other := range before {
		if other.Mode == objstore.ModeTree {
			folders = append(folders, other.ID)
		}
	}
	switch {
	case e.Mode == objstore.ModeTree:
		return u.added(ctx, folders, e.ID, path+"/")
	case e.Mode == objstore.ModeCommit || len(folders) < len(before): // a submodule, or a path of a tracked file
		return nil
	}
	if _, newer := u.files[path]; !newer {
		u.files[path] = e.ID
	}
	return nil
}

// leaveOut removes from u.files each path at which an entry has a captured file. The remote has this entry already.
func (u *untrackedFinder) leaveOut(ctx context.Context, entry *snapshot.Entry) error {
	vcs, err := copies(entry)
	if err != nil {
		return err
	}
	for _, copied := range vcs {
		if err := u.dropFilesOf(ctx, copied.Tree, slices.Sorted(maps.Keys(u.files)), ""); err != nil {
			return err
		}
	}
	return nil
}

// dropFilesOf removes from u.files each path in paths at which tree has a file. A folder at such a path does not
// count. paths is sorted. Each path begins with prefix, which is the path of tree followed by "/", or "" for the
// root. For paths in the same folder, dropFilesOf reads the folder's tree once.
func (u *untrackedFinder) dropFilesOf(ctx context.Context, tree objstore.ID, paths []string, prefix string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := objstore.ReadForeignTree(u.objects, tree)
	if err != nil {
		return err
	}
	byName := make(map[string]objstore.TreeEntry, len(entries))
	for _, e := range entries {
		byName[e.Name] = e
	}
	for len(paths) > 0 {
		name, _, deeper := strings.Cut(paths[0][len(prefix):], "/")
		below := 1 // number of paths in the same folder
		if deeper {
			below = endOf(paths, prefix+name+"/")
		}
		e, found := byName[name]
		switch {
		case !found || deeper != (e.Mode == objstore.ModeTree):
		case deeper:
			if err := u.dropFilesOf(ctx, e.ID, paths[:below], prefix+name+"/"); err != nil {
				return err
			}
		default:
			delete(u.files, paths[0])
		}
		paths = paths[below:]
	}
	return nil
}

// endOf returns the number of paths at the start of paths that begin with prefix. paths is sorted.
func endOf(paths []string, prefix string) int {
	// The search finds the first path that does not begin with prefix.
	n, _ := slices.BinarySearchFunc(paths, prefix, func(path, prefix string) int {
		if strings.HasPrefix(path, prefix) {
			return -1
		}
		return 1
	})
	return n
}

// sizes returns the sizes of the blobs in files, in bytes. It asks git, which does not read the blobs. A
// missing blob has size 0.
func (s *Sharer) sizes(ctx context.Context, files map[string]objstore.ID) (map[objstore.ID]int64, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var ask strings.Builder
	for _, id := range files {
		ask.WriteString(id.String() + "\n")
	}
	git := gitexec.Process{
		Dir: s.store.Repo().CommonDir, Env: gitexec.PlumbingEnv(s.store.Env()), Options: []string{"--git-dir=."},
		Args: []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"}, Stdin: strings.NewReader(ask.String()),
	}
	out, _, err := git.Run(ctx)
	if err != nil {
		return nil, err
	}
	sizes := make(map[objstore.ID]int64)
	for line := range strings.Lines(string(out)) {
		name, size, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := objstore.ParseID(name)
		if err != nil {
			return nil, fmt.Errorf("size of a captured file: unexpected answer %q", line)
		}
		// A missing blob has no size; the push reports it.
		sizes[id], _ = strconv.ParseInt(size, 10, 64)
	}
	return sizes, nil
}
