package jjbridge

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ScopeOff captures no files, only the revision.
const ScopeOff = "off"

// CaptureOptions say what a capture takes. The zero value takes everything within the
// default limits.
type CaptureOptions struct {
	Scope             string // snapshot.ScopeAll ("" means it), snapshot.ScopeTracked or ScopeOff
	MaxFile           int64  // bytes; a larger file is left out; 0 means DefaultMaxFile
	MaxUntracked      int    // files; 0 means DefaultMaxUntracked
	MaxUntrackedBytes int64  // bytes of them together; 0 means DefaultMaxUntrackedBytes
	// Leave are paths of files, relative to the top, with slashes, that are left out unless the
	// user tracks them; one that ends in a slash is all files in a folder.
	Leave []string
	// Objects is the repository's object store, if the caller has it open. If it is nil, Capture opens one.
	Objects *objstore.Store
	// Warn is told of what is left out in another way than was asked for; nil: nobody.
	Warn func(error)
}

// The default limits of a capture.
const (
	DefaultMaxFile           = 50 << 20
	DefaultMaxUntracked      = 20_000
	DefaultMaxUntrackedBytes = 500 << 20
)

// maxMaxFile is the largest file that an object store takes, whatever the limit is.
const maxMaxFile = 1 << 30

func (o CaptureOptions) withDefaults() CaptureOptions {
	o.Scope = cmp.Or(o.Scope, snapshot.ScopeAll)
	o.MaxFile = min(cmp.Or(o.MaxFile, DefaultMaxFile), maxMaxFile)
	o.MaxUntracked = cmp.Or(o.MaxUntracked, DefaultMaxUntracked)
	o.MaxUntrackedBytes = cmp.Or(o.MaxUntrackedBytes, DefaultMaxUntrackedBytes)
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// leaves reports whether a file is to be left out, and under which path that is noted.
func (o *CaptureOptions) leaves(path string) (as string, ok bool) {
	for _, leave := range o.Leave {
		if leave == path || strings.HasSuffix(leave, "/") && strings.HasPrefix(path, leave) {
			return leave, true
		}
	}
	return "", false
}

// Captured is the working copy as it was captured: VCS with its trees, and the objects
// that the repository does not have yet, in a quarantine of their own. Those that it has
// are pinned, since no more than a run that is about to go may need them. The caller
// closes it when they are stored, or not wanted.
type Captured struct {
	VCS snapshot.VCS

	trees      [][]byte             // more tree objects that the repository does not have
	objects    string               // the quarantine's object directory; "" for none
	quarantine *gitindex.Quarantine // nil for none
	index      fs.FileInfo          // of the private index with VCS.Tree; nil where none has it
	release    func()               // ends the pin of what the repository has of it; nil where nothing is pinned
}

// Objects adds the quarantined objects to w; it is what snapshot.Draft.Objects takes.
func (c *Captured) Objects(w objstore.Writer) error {
	for _, tree := range c.trees {
		w.Add(objstore.Tree, tree)
	}
	if c.objects == "" {
		return nil
	}
	return objstore.AddLoose(w, c.objects)
}

// AddTree adds a tree to the objects of the capture.
func (c *Captured) AddTree(data []byte) { c.trees = append(c.trees, data) }

// directory is an object directory with everything that Objects would add; "" where that
// is nothing.
func (c *Captured) directory(ctx context.Context, w *Workspace) (string, error) {
	if len(c.trees) == 0 {
		return c.objects, nil
	}
	if c.quarantine == nil {
		p, err := w.lockIndex(ctx)
		if err != nil {
			return "", err
		}
		c.quarantine, err = p.NewQuarantine()
		if err = errors.Join(err, p.Unlock()); err != nil {
			return "", err
		}
		c.objects = c.quarantine.Dir
	}
	for _, tree := range c.trees {
		if err := c.quarantine.Add(objstore.Hash(objstore.Tree, tree), objstore.Tree, tree); err != nil {
			return "", err
		}
	}
	c.trees = nil
	return c.objects, nil
}

// Close drops the quarantine, and lets go of what the repository has. It may be called
// more than once.
func (c *Captured) Close() error {
	if c.release != nil {
		c.release()
	}
	if c.quarantine == nil {
		return nil
	}
	err := c.quarantine.Close()
	c.trees, c.objects, c.quarantine = nil, "", nil
	return err
}

// Capture reads the working copy. What is the user's stays as it is: index, HEAD,
// stash, hooks and reflogs; with jj, jj itself takes a snapshot, which is at most one
// operation. Captures of one working copy wait for each other, also across processes.
// ErrNoWorkingCopy where there is none.
func (w *Workspace) Capture(ctx context.Context, opts CaptureOptions) (*Captured, error) {
	if w.Root == "" {
		return nil, ErrNoWorkingCopy
	}
	opts = opts.withDefaults()
	if opts.Objects != nil {
		return w.capturePinned(ctx, opts.Objects, opts)
	}
	objects, err := w.openObjects()
	if err != nil {
		return nil, err
	}
	c, err := w.capturePinned(ctx, objects, opts)
	return c.unless(errors.Join(err, objects.Close()))
}

// capturePinned captures while nothing that the repository has can be dropped.
func (w *Workspace) capturePinned(ctx context.Context, objects *objstore.Store, opts CaptureOptions) (*Captured, error) {
	release, err := objects.Pin(ctx)
	if err != nil {
		return nil, err
	}
	var c *Captured
	stored, err := objects.OnDisk() // git may have pruned what the store's cache still has
	switch {
	case err != nil:
	case w.Type == snapshot.VCSJJ:
		c, err = w.captureJJ(ctx, stored, opts)
	default:
		c, err = w.captureGit(ctx, stored, opts)
	}
	if c == nil {
		release()
		return nil, err
	}
	c.release = release
	return c.unless(err)
}

// unless returns c if err is nil. Otherwise it closes c, which may be nil, and returns the error.
func (c *Captured) unless(err error) (*Captured, error) {
	if err == nil {
		return c, nil
	}
	if c != nil {
		err = errors.Join(err, c.Close())
	}
	return nil, err
}

// captureGit reads the working copy of a git repository.
func (w *Workspace) captureGit(ctx context.Context, objects objstore.Reader, opts CaptureOptions) (_ *Captured, err error) {
	c := &Captured{VCS: snapshot.VCS{Type: snapshot.VCSGit, Root: w.vcsRoot()}}
	if opts.Scope == ScopeOff {
		c.VCS.CommitID, c.VCS.Branch, err = w.Head(ctx)
		return c, err
	}
	p, err := w.lockIndex(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Unlock()) }()
	head := make(chan error, 1)
	go func() {
		var err error
		c.VCS.CommitID, c.VCS.Branch, err = w.Head(ctx)
		head <- err
	}()
	files, err := w.captureFiles(ctx, objects, p, opts)
	if err := errors.Join(err, <-head); err != nil {
		if files.q != nil {
			err = errors.Join(err, files.q.Close())
		}
		return nil, err
	}
	c.take(files)
	if info, err := os.Stat(p.IndexPath()); err == nil {
		c.index = info
	}
	return c, nil
}

// captureFiles captures the files as git sees them.
func (w *Workspace) captureFiles(ctx context.Context, objects objstore.Reader, p *gitindex.Folder, opts CaptureOptions) (_ captured, err error) {
	capture := &filesCapture{w: w, p: p, opts: opts, objects: objects, scope: opts.Scope}
	// Mostly the index is up to date, so the files are looked at meanwhile.
	early := capture.scanEarly(ctx)
	capture.source, err = w.sync(ctx, p, objects, opts.Warn)
	found, scanErr := early()
	if err == nil && (found == nil || capture.source.remade) {
		found, scanErr = capture.scan(ctx)
	}
	if err == nil && filterFailure(scanErr) != nil {
		capture.source.now.ForgetRecent()
		if err = capture.source.now.Write(p.IndexPath()); err == nil {
			found, scanErr = capture.scan(ctx)
		}
	}
	if err = cmp.Or(err, scanErr); err != nil {
		return captured{}, err
	}
	return capture.run(ctx, found)
}

// take makes what was captured of files part of c.
func (c *Captured) take(files captured) {
	c.VCS.Tree, c.VCS.Scope = files.tree, files.scope
	c.VCS.LeftOut, c.VCS.Altered = files.left, files.altered
	c.trees = files.trees
	if files.q != nil {
		c.quarantine, c.objects = files.q, files.q.Dir
	}
}
