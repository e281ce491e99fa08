// Package workcopy finds the working copies that rows of Smithers name: the working copies in which a run's processes
// started, and the working copies that the run's attempts left. The package also captures a run's current working
// copy.
package workcopy

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Finder finds working copies by their commits, even if the repository lacks a commit. Until Close, no process
// removes objects from the repository. A Finder must be used by one goroutine at a time.
type Finder struct {
	ctx      context.Context //nolint:containedctx // the context of the import, which ends after the Finder is closed
	store    *timeline.Store
	Database string                  // the path of the database, which captures leave out; "" if there is no database
	release  func()                  // ends the pin of the repository's objects
	commits  map[string]snapshot.VCS // the results of At, by "<kind> <commit id>"
	whole    map[objstore.ID]bool    // the results of isWhole
	meter    *objstore.TreeMeter
	captured map[string]*jjbridge.CapturedFiles // the results of Capture by root; nil if root is in no working copy
}

// NewFinder returns a Finder and pins the repository's objects until Close. The caller must call Close.
func NewFinder(ctx context.Context, s *timeline.Store) (*Finder, error) {
	release, err := s.Objects().Pin(ctx)
	if err != nil {
		return nil, err
	}
	return &Finder{
		ctx: ctx, store: s, release: release,
		commits: make(map[string]snapshot.VCS), whole: make(map[objstore.ID]bool), meter: objstore.NewTreeMeter(s.Objects()),
		captured: make(map[string]*jjbridge.CapturedFiles),
	}, nil
}

// Close unpins the repository's objects and closes all captured working copies. The caller must first store all
// entries that refer to the found files.
func (c *Finder) Close() error {
	c.release()
	var err error
	for _, captured := range c.captured {
		if captured != nil {
			err = errors.Join(err, captured.Close())
		}
	}
	return err
}

// At returns the working copy at pointer, a commit id or, for jj, a change id. kind must be snapshot.VCSGit or
// snapshot.VCSJJ. For a change id, the result has only this id. For a commit id, the result has the commit's files if
// the repository has all folders of the commit and the commit has no conflict. Otherwise it has no files. For any other
// kind or pointer, At returns nil.
func (c *Finder) At(kind, pointer string) *snapshot.VCS {
	if kind != snapshot.VCSGit && kind != snapshot.VCSJJ {
		return nil
	}
	if kind == snapshot.VCSJJ && isChange(pointer) {
		return &snapshot.VCS{Type: kind, ChangeID: pointer}
	}
	id, err := objstore.ParseID(pointer)
	if err != nil || id.IsZero() {
		return nil
	}
	key := kind + " " + pointer
	if _, known := c.commits[key]; !known {
		vcs := snapshot.VCS{Type: kind, CommitID: pointer}
		if data, err := objstore.GetKind(c.store.Objects(), id, objstore.Commit); err == nil {
			c.read(&vcs, data)
		}
		c.commits[key] = vcs
	}
	vcs := c.commits[key]
	return &vcs
}

// isChange reports whether pointer is a change id of jj. Old versions of Smithers recorded change ids.
func isChange(pointer string) bool {
	return len(pointer) == 32 && strings.Trim(pointer, "klmnopqrstuvwxyz") == ""
}

// read sets the fields of vcs that follow from commit, the text of the commit: whether it has a conflict, jj's change
// id, and the tree with its scope. It sets no tree if the commit has a conflict, or if isWhole returns false for the
// tree.
func (c *Finder) read(vcs *snapshot.VCS, commit []byte) {
	header, _, _ := bytes.Cut(commit, []byte("\n\n"))
	var tree objstore.ID
	for line := range bytes.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch {
		case name == "tree":
			tree, _ = objstore.ParseID(value)
		case name == "jj:trees":
			// The commit's tree has the sides of the conflict instead of the files.
			vcs.Conflicted = true
		case name == "change-id" && vcs.Type == snapshot.VCSJJ && isChange(value):
			vcs.ChangeID = value
		}
	}
	if vcs.Conflicted || tree.IsZero() || !c.isWhole(tree) {
		return
	}
	vcs.Tree, vcs.Scope = tree, snapshot.ScopeTracked
	if vcs.Type == snapshot.VCSJJ {
		vcs.Scope = snapshot.ScopeAll
	}
}

// isWhole reports whether the repository has all folders of tree, and tree is within the size bounds of objstore. git
// may have pruned some folders if no ref needed the commit. isWhole does not look for the files of a folder, because
// git prunes files together with their folders. A partial clone may lack any file, so isWhole returns false in a
// partial clone.
func (c *Finder) isWhole(tree objstore.ID) bool {
	if whole, known := c.whole[tree]; known {
		return whole
	}
	whole := false
	if !c.store.Repo().Config.IsPartial() {
		size, err := c.meter.Added(c.ctx, tree)
		whole = err == nil && size.Check(tree) == nil
	}
	c.whole[tree] = whole
	return whole
}

// Base returns the commit on which a run's first entry builds. vcs is the working copy of the entry. The result is
// the first of these commits that a branch, a tag or a remote branch reaches:
//  1. the commit of vcs
//  2. for jj, the parent of this commit
//
// If there is no such commit, if vcs is nil or has no files, or if a git command fails, Base returns the zero id. If
// ctx has ended, it also returns the error of ctx.
func (c *Finder) Base(ctx context.Context, vcs *snapshot.VCS) (objstore.ID, error) {
	if vcs == nil || vcs.Tree.IsZero() {
		return objstore.ID{}, nil
	}
	names := []string{vcs.CommitID}
	if vcs.Type == snapshot.VCSJJ {
		names = append(names, vcs.CommitID+"^") // jj's working-copy commit is rarely in a branch
	}
	git := gitexec.New(c.store.Repo(), c.store.Env())
	for _, name := range names {
		out, err := git.Run(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
		if err != nil {
			break
		}
		id, err := objstore.ParseID(strings.TrimSpace(string(out)))
		if err != nil {
			return objstore.ID{}, err
		}
		refs, err := git.Run(ctx, "for-each-ref", "--count=1", "--contains="+id.String(), "refs/heads", "refs/remotes", "refs/tags")
		if err != nil {
			break
		}
		if len(refs) > 0 {
			return id, nil
		}
	}
	return objstore.ID{}, ctx.Err()
}

// Capture captures the current files of the working copy that contains the folder root. If root is "", it captures
// the store's own working copy. It leaves out the database and the engine's logs, unless the user tracks them. If
// root is in no working copy of this repository, Capture returns nil. A later call with the same root returns the
// same result. The result stays open until Close.
func (c *Finder) Capture(ctx context.Context, root string) (*jjbridge.CapturedFiles, error) {
	if captured, known := c.captured[root]; known {
		return captured, nil
	}
	at := files.WorkingCopyOf(c.store)
	if root != "" && !sameFolder(root, at.Root()) {
		other, err := files.WorkingCopyAt(ctx, c.store, root)
		if err != nil {
			// root is in no working copy of this repository.
			c.captured[root] = nil
			return nil, ctx.Err()
		}
		at = other
	}
	captured, err := at.Without(c.ownFiles(at.Root(), root)...).Capture(ctx)
	if err != nil {
		return nil, err
	}
	c.captured[root] = captured
	return captured, nil
}

// executions is the folder below a run's root in which Smithers keeps the logs of the run.
const executions = ".smithers/executions/"

// ownFiles returns the paths that a capture of a working copy leaves out, relative to top and with slashes. top is
// the top folder of the working copy, and root the folder in which the run works. The paths are the engine's logs
// below top and below root, and the database with the files that SQLite keeps beside it. Paths outside top are not in
// the result.
func (c *Finder) ownFiles(top, root string) []string {
	files := []string{executions}
	if below, ok := within(top, root); ok && below != "." {
		files = append(files, below+"/"+executions)
	}
	if name, ok := within(top, c.Database); ok {
		files = append(files, name, name+"-journal", name+"-shm", name+"-wal")
	}
	return files
}

// within resolves the symbolic links of path and returns the result relative to top, with slashes. It returns
// false if path is empty or missing, or leads outside top.
func within(top, path string) (string, bool) {
	resolved, err := filepath.EvalSymlinks(path)
	if path == "" || err != nil {
		return "", false
	}
	name, err := filepath.Rel(top, resolved)
	return filepath.ToSlash(name), err == nil && filepath.IsLocal(name)
}
