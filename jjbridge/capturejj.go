package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// captureJJ makes jj take a snapshot and captures the tree of @, jj's working-copy commit. With ScopeOff it captures
// no tree. jj protects the tree from every gc until the capture is stored. If an error occurs after the snapshot,
// captureJJ returns a result and the error. The caller must close every result that is not nil.
func (w *Workspace) captureJJ(ctx context.Context, objects objstore.Reader, opts CaptureOptions) (*CapturedFiles, error) {
	if opts.Scope == ScopeOff {
		v, err := w.Pointer(ctx)
		if err != nil {
			return nil, err
		}
		return &CapturedFiles{VCS: *v}, nil
	}
	// git lists the nested repositories while jj takes its snapshot.
	embedded := make(chan []string, 1)
	go func() {
		folders, err := embeddedInJJ(ctx, w)
		if err != nil {
			opts.Warn(fmt.Errorf("cannot list the repositories inside the working copy: %w", err))
		}
		embedded <- folders
	}()
	rev, stderr, err := w.jjRevision(ctx)
	inside := <-embedded
	if err != nil {
		return nil, err
	}
	c := &CapturedFiles{VCS: snapshot.VCS{
		Type: snapshot.VCSJJ, ChangeID: rev.change, CommitID: rev.commit, Operation: rev.operation,
		Branch: rev.bookmark, Root: w.vcsRoot(), Conflicted: rev.conflict,
	}}
	left := leftOuts{all: leftByJJ(stderr)}
	files := capturedFiles{scope: snapshot.ScopeAll}
	if rev.conflict {
		files, err = captureConflicted(ctx, w, objects, rev, opts)
	} else {
		files.tree, files.q, err = takeLarge(ctx, w, objects, rev.commit, opts, &left)
	}
	c.take(files)
	if err != nil {
		return c, err
	}
	left.all = append(left.all, files.left...)
	left.addEmbedded(objects, files.tree, inside)
	c.VCS.LeftOut = left.sorted()
	return c, nil
}

// captureConflicted captures the files of a workspace in which the working-copy commit, rev, has conflicts. It reads
// the files on disk, which have jj's conflict markers. It does not use the commit's tree, because this tree has all
// sides of a conflict in folders that no checkout shows.
func captureConflicted(ctx context.Context, w *Workspace, objects objstore.Reader, rev jjRevision, opts CaptureOptions) (_ capturedFiles, err error) {
	p, err := w.lockIndex(ctx)
	if err != nil {
		return capturedFiles{}, err
	}
	defer func() { err = errors.Join(err, p.Unlock()) }()
	plain, err := w.filesGit(p, "") // a git that stores files byte for byte, as jj does
	if err != nil {
		return capturedFiles{}, err
	}
	out, _, err := w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+rev.commit, `--template=self.path() ++ "\0"`)
	if err != nil {
		return capturedFiles{}, err
	}
	// No file is missing in jj's list: the snapshot has just added the new files, except those that the user
	// told jj to leave out.
	files := newFilesCapture(w, p, objects, opts)
	files.git = gitRun{env: plain.env, settings: plain.settings, gitDir: plain.gitDir}
	chosen := files.newChoice()
	for _, path := range splitPaths(out) {
		if info, err := lstat(w.full(path)); err == nil {
			chosen.take(path, info, treeFile{})
		}
	}
	result, err := files.finish(ctx, objstore.ID{}, chosen)
	result.scope = snapshot.ScopeAll
	return result, err
}

// takeLarge returns the tree of a jj commit without the changed files that are larger than opts.MaxFile, and without
// the new files that opts.Leave names. It records these files in left. A file stays if a parent of the commit has the
// same file, because the repository keeps the file anyway. The quarantine holds the new trees. If no file is removed,
// the quarantine is nil.
func takeLarge(ctx context.Context, w *Workspace, objects objstore.Reader, commit string, opts CaptureOptions, left *leftOuts) (tree objstore.ID, _ *gitindex.Quarantine, err error) {
	tree, parents, err := ReadCommit(objects, commit)
	if err != nil {
		return objstore.ID{}, nil, err
	}
	var before []objstore.ID
	for _, parent := range parents {
		parentTree, _, err := ReadCommit(objects, parent)
		if err != nil {
			return objstore.ID{}, nil, err
		}
		before = append(before, parentTree)
	}
	filter := largeFilter{w: w, objects: objects, limit: opts.MaxFile, leaves: opts.leaves, left: left}
	filtered, err := filter.tree(tree, before, "")
	if err != nil || filtered == tree {
		return tree, nil, err
	}
	p, err := w.lockIndex(ctx)
	if err != nil {
		return objstore.ID{}, nil, err
	}
	defer func() { err = errors.Join(err, p.Unlock()) }()
	q, err := p.NewQuarantine()
	if err != nil {
		return objstore.ID{}, nil, err
	}
	for _, data := range filter.made {
		if err := q.Add(objstore.Hash(objstore.Tree, data), objstore.Tree, data); err != nil {
			return objstore.ID{}, nil, errors.Join(err, q.Close())
		}
	}
	return filtered, q, nil
}

// ReadCommit returns the tree and the ids of the parents of commit, a commit id. The error wraps
// objstore.ErrNotFound if objects lacks the commit.
func ReadCommit(objects objstore.Reader, commit string) (tree objstore.ID, parents []string, err error) {
	id, err := objstore.ParseID(commit)
	if err != nil {
		return objstore.ID{}, nil, err
	}
	data, err := objstore.GetKind(objects, id, objstore.Commit)
	if err != nil {
		return objstore.ID{}, nil, err
	}
	head, _, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "tree":
			tree, err = objstore.ParseID(value)
		case "parent":
			parents = append(parents, value)
		}
		if err != nil {
			return objstore.ID{}, nil, fmt.Errorf("commit %s: %w", commit, err)
		}
	}
	return tree, parents, nil
}

// largeFilter removes from trees the changed files of more than limit bytes, and the new files for which leaves returns
// true.
type largeFilter struct {
	w       *Workspace
	objects objstore.Reader
	limit   int64
	leaves  func(path string) (as string, ok bool)
	left    *leftOuts
	made    [][]byte // the encoded new trees
}

// tree filters the tree with the given id and returns the id of the filtered tree. It adds each new tree to f.made.
// before has the ids of the parents' trees at the same path. prefix is this path with a final slash, or "" for the
// root. tree does not read a subtree that a parent has unchanged.
func (f *largeFilter) tree(id objstore.ID, before []objstore.ID, prefix string) (objstore.ID, error) {
	entries, err := objstore.ReadTree(f.objects, id)
	if err != nil {
		return objstore.ID{}, err
	}
	others := make([][]objstore.TreeEntry, len(before))
	for i, other := range before {
		if others[i], err = objstore.ReadTree(f.objects, other); err != nil {
			return objstore.ID{}, err
		}
	}
	kept := make([]objstore.TreeEntry, 0, len(entries))
	for _, e := range entries {
		e, keep, err := f.entry(e, others, prefix+e.Name)
		if err != nil {
			return objstore.ID{}, err
		}
		if keep {
			kept = append(kept, e)
		}
	}
	data := objstore.EncodeTree(kept)
	filtered := objstore.Hash(objstore.Tree, data)
	if filtered != id {
		f.made = append(f.made, data)
	}
	return filtered, nil
}

// entry filters e, the entry of a tree at path. It returns the filtered entry, and reports whether the entry stays.
// others has the entries of the parents' trees. If a parent has the same entry, the entry stays. An entry for an empty
// subtree is removed.
func (f *largeFilter) entry(e objstore.TreeEntry, others [][]objstore.TreeEntry, path string) (objstore.TreeEntry, bool, error) {
	var before []objstore.ID
	for _, entries := range others {
		switch other, ok := objstore.FindEntry(entries, e.Name); {
		case ok && other == e:
			return e, true, nil
		case ok && other.Mode == objstore.ModeTree:
			before = append(before, other.ID)
		}
	}
	switch e.Mode {
	case objstore.ModeTree:
		id, err := f.tree(e.ID, before, path+"/")
		e.ID = id
		return e, id != objstore.Hash(objstore.Tree, nil), err
	case objstore.ModeFile, objstore.ModeExecutable:
		if as, ok := f.leaves(path); ok && !isIn(others, e.Name) {
			f.left.add(as, snapshot.LeftUntracked, 0)
			return e, false, nil
		}
		if info, err := lstat(f.w.full(path)); err == nil && info.Mode().IsRegular() && info.Size() > f.limit {
			f.left.add(path, snapshot.LeftTooLarge, info.Size())
			return e, false, nil
		}
	default:
	}
	return e, true, nil
}

// isIn reports whether at least one of trees has an entry with the given name.
func isIn(trees [][]objstore.TreeEntry, name string) bool {
	return slices.ContainsFunc(trees, func(entries []objstore.TreeEntry) bool {
		_, ok := objstore.FindEntry(entries, name)
		return ok
	})
}

// refusedByJJ matches a warning of jj about a new file that jj left out because of its size, in the form " <path>:
// 1.5MiB (1572864 bytes); the maximum size allowed is …".
var refusedByJJ = regexp.MustCompile(`(?m)^  (.*): [^:]* \((\d+) bytes\); the maximum size allowed is `)

// leftByJJ returns the files that jj left out because of their size, as jj reports them in stderr. It ignores
// everything else in stderr.
func leftByJJ(stderr []byte) []snapshot.LeftOut {
	var left []snapshot.LeftOut
	for _, match := range refusedByJJ.FindAllStringSubmatch(string(stderr), -1) {
		size, err := strconv.ParseInt(match[2], 10, 64)
		if err == nil {
			left = append(left, snapshot.LeftOut{Path: match[1], Reason: snapshot.LeftByJJ, Bytes: size})
		}
	}
	return left
}
