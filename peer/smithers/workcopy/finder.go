// Package workcopy finds the working copies that rows of Smithers name: those in which a run's processes started, and those
// that its attempts left. It captures the working copy of a run as it is now.
package workcopy

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// Finder finds working copies by their commits, which may be in the repository or not. Objects of the repository stay there
// until Close. For one goroutine at a time.
type Finder struct {
	ctx      context.Context //nolint:containedctx // of the import, which lives as long
	store    *timeline.Store
	Database string // its path: it is no part of a working copy; "" for none
	release  func()
	commits  map[string]snapshot.VCS
	whole    map[objstore.ID]bool // trees of commits that were looked at: with all folders below them
	meter    *objstore.TreeMeter
	captured map[string]*jjbridge.Captured
}

// NewFinder returns a Finder, which is to be closed.
func NewFinder(ctx context.Context, s *timeline.Store) (*Finder, error) {
	release, err := s.Objects().Pin(ctx)
	if err != nil {
		return nil, err
	}
	return &Finder{
		ctx: ctx, store: s, release: release,
		commits: make(map[string]snapshot.VCS), whole: make(map[objstore.ID]bool), meter: objstore.NewTreeMeter(s.Objects()),
		captured: make(map[string]*jjbridge.Captured),
	}, nil
}

// Close is to be called when all entries that refer to the found files are stored.
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

// At returns the working copy of a version control system at a revision, with its files if the commit is in the repository.
// It returns nil if the pointer is not a revision.
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

// isChange reports whether a pointer is a change of jj, as Smithers once recorded it.
func isChange(pointer string) bool {
	return len(pointer) == 32 && strings.Trim(pointer, "klmnopqrstuvwxyz") == ""
}

// read adds what a commit says to its working copy.
func (c *Finder) read(vcs *snapshot.VCS, commit []byte) {
	header, _, _ := bytes.Cut(commit, []byte("\n\n"))
	var tree objstore.ID
	for line := range bytes.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch {
		case name == "tree":
			tree, _ = objstore.ParseID(value)
		case name == "jj:trees":
			// The commit's tree has the sides of the conflict, and not the files.
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

// isWhole reports whether all folders of a tree are in the repository, as they may not be where
// git has pruned some of what nothing keeps, and whether the tree is within the bounds of what
// others fetch. Files are not looked for: they come and go with their folders, but in a partial
// clone.
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

// Base returns the commit that a run's first entry builds on: the commit of its working copy, or with jj its parent, if a
// branch or tag of the repository or of a remote reaches that commit; or else the zero id.
func (c *Finder) Base(ctx context.Context, vcs *snapshot.VCS) (objstore.ID, error) {
	if vcs == nil || vcs.Tree.IsZero() {
		return objstore.ID{}, nil
	}
	names := []string{vcs.CommitID}
	if vcs.Type == snapshot.VCSJJ {
		names = append(names, vcs.CommitID+"^") // @ itself is seldom in a branch
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

// Capture reads the working copy at root as it is now, at most once. It returns nil if that is not a working copy of this
// repository. The result stays open until Close.
func (c *Finder) Capture(ctx context.Context, root string) (*jjbridge.Captured, error) {
	if captured, known := c.captured[root]; known {
		return captured, nil
	}
	at := code.WorkingCopyOf(c.store)
	if root != "" && !sameFolder(root, at.Root()) {
		other, err := code.WorkingCopyAt(ctx, c.store, root)
		if err != nil {
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

// executions is where an engine keeps the logs of a run, below the run's root.
const executions = ".smithers/executions/"

// ownFiles are the database, what SQLite keeps beside it, and the logs of the engine, relative to a working
// copy's top, where they are in it. root is the run's.
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

// within is a path relative to a working copy's top, with slashes.
func within(top, path string) (string, bool) {
	resolved, err := filepath.EvalSymlinks(path)
	if path == "" || err != nil {
		return "", false
	}
	name, err := filepath.Rel(top, resolved)
	return filepath.ToSlash(name), err == nil && filepath.IsLocal(name)
}
