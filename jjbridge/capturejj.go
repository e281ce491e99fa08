package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
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
	var files capturedFiles
	if rev.conflict {
		files, err = captureConflicted(ctx, w, objects, rev, opts)
	} else {
		files, err = captureCommit(ctx, w, objects, rev.commit, opts)
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
	tracked, err := newParents(objects, rev.commit)
	if err != nil {
		return capturedFiles{}, err
	}
	files := newFilesCapture(w, p, objects, opts)
	files.git = gitRun{env: plain.env, settings: plain.settings, gitDir: plain.gitDir}
	chosen := files.newChoice()
	for _, path := range splitPaths(out) {
		if info, err := lstat(w.full(path)); err == nil {
			has, err := tracked.has(path)
			if err != nil {
				return capturedFiles{}, err
			}
			chosen.take(path, info, wantedFile{tracked: has})
		}
	}
	result, err := files.finish(ctx, objstore.ID{}, chosen)
	result.scope = snapshot.ScopeAll
	return result, err
}

// captureCommit captures the tree of a jj commit that has no conflict. The captured tree lacks changed files that are larger
// than opts.MaxFile. It lacks new files that opts.Leave names, and new files with secrets. A file is new if no parent of the
// commit has a file at its path. A file stays if a parent has the same file, because the repository keeps the file anyway.
// The quarantine holds the new trees. If no file is removed, the quarantine is nil.
func captureCommit(ctx context.Context, w *Workspace, objects objstore.Reader, commit string, opts CaptureOptions) (_ capturedFiles, err error) {
	tree, _, err := ReadCommit(objects, commit)
	if err != nil {
		return capturedFiles{}, err
	}
	parents, err := newParents(objects, commit)
	if err != nil {
		return capturedFiles{}, err
	}
	p, err := w.lockIndex(ctx)
	if err != nil {
		return capturedFiles{}, err
	}
	defer func() { err = errors.Join(err, p.Unlock()) }()
	var state gitindex.State
	if stored := p.ReadState(); stored.Root == w.Root {
		state = stored
	}
	result := capturedFiles{scope: snapshot.ScopeAll, tree: tree}
	var left leftOuts
	filter := commitFilter{
		ctx: ctx, w: w, objects: objects, limit: opts.MaxFile, leaves: opts.leaves, left: &left,
		secrets: newSecretFiles(opts.Secrets, state.Secrets),
	}
	filtered, err := filter.tree(tree, parents.trees, filter.searched(), "")
	if err != nil {
		return capturedFiles{}, err
	}
	result.left = left.all
	if secrets := filter.secrets.result(tree, true); opts.Secrets != nil && !secrets.Equal(state.Secrets) {
		// The other members belong to the capture of a conflict, which reads its files anew after this capture.
		if err := p.WriteState(gitindex.State{Version: gitindex.StateVersion, Root: w.Root, Secrets: secrets}); err != nil {
			return capturedFiles{}, err
		}
	}
	filter.secrets.warn(opts.Warn)
	if filtered == tree {
		return result, nil
	}
	q, err := p.NewQuarantine()
	if err != nil {
		return capturedFiles{}, err
	}
	for _, data := range filter.made {
		if err := q.Add(tree.Algorithm().ID(objstore.Tree, data), objstore.Tree, data); err != nil {
			return capturedFiles{}, errors.Join(err, q.Close())
		}
	}
	result.tree, result.q = filtered, q
	return result, nil
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

// refusedByJJ matches a warning of jj about a new file that jj left out because of its size, in the form " <path>:
// 1.5MiB (1572864 bytes); the maximum size allowed is …".
var refusedByJJ = lazyregexp.New(`(?m)^  (.*): [^:]* \((\d+) bytes\); the maximum size allowed is `)

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
