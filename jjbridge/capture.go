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

// CaptureOptions configure a capture. The zero value captures everything within the default limits.
type CaptureOptions struct {
	Scope             string // snapshot.ScopeAll, snapshot.ScopeTracked or ScopeOff; "" means ScopeAll
	MaxFile           int64  // bytes; a larger file is left out; 0 means DefaultMaxFile
	MaxUntracked      int    // files; 0 means DefaultMaxUntracked
	MaxUntrackedBytes int64  // bytes of all untracked files; 0 means DefaultMaxUntrackedBytes
	// Leave are paths of files that are left out unless the user tracks them. They are relative to
	// the top, with slashes. A path that ends in a slash means all files in the folder.
	Leave []string
	// Objects is the repository's object store, if the caller has it open. A Plan for the capture reads
	// through it, too. If it is nil, Capture and Plan open one.
	Objects *objstore.Store
	// Warn, if not nil, is called if more is left out than was asked for.
	Warn func(error)
}

// The default limits of a capture.
const (
	DefaultMaxFile           = 50 << 20
	DefaultMaxUntracked      = 20_000
	DefaultMaxUntrackedBytes = 500 << 20
)

// maxMaxFile is the size in bytes of the largest file that an object store takes.
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

// leaves reports whether a file is to be left out. as is the entry of Leave that says so.
func (o *CaptureOptions) leaves(path string) (as string, ok bool) {
	for _, leave := range o.Leave {
		if leave == path || strings.HasSuffix(leave, "/") && strings.HasPrefix(path, leave) {
			return leave, true
		}
	}
	return "", false
}

// Captured is a captured working copy: VCS with its trees, and a quarantine with the objects that
// the repository does not have yet. The objects that the repository has are pinned, because perhaps
// only a run that is about to be pruned needs them. The caller closes it once the objects are
// stored, or not needed.
type Captured struct {
	VCS snapshot.VCS

	repository *objstore.Store      // the caller's; nil if it has none open
	trees      [][]byte             // more tree objects that the repository does not have
	objects    string               // the quarantine's object directory; "" for none
	quarantine *gitindex.Quarantine // nil for none
	index      fs.FileInfo          // of the private index, if its tree is VCS.Tree; else nil
	release    func()               // ends the pin; nil if nothing is pinned
}

// Objects adds the quarantined objects to w. It can be used as snapshot.Draft.Objects.
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

// directory returns an object directory with everything that Objects would add, or "" if that is
// nothing.
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

// Close removes the quarantine and ends the pin. It may be called more than once.
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

// Capture reads the working copy. The user's index, HEAD, stash, hooks and reflogs stay as they
// are. With jj, jj takes a snapshot, which is at most one operation. Captures of one working copy
// wait for each other, also across processes. Without a working copy, the error is
// ErrNoWorkingCopy.
func (w *Workspace) Capture(ctx context.Context, opts CaptureOptions) (*Captured, error) {
	if w.Root == "" {
		return nil, ErrNoWorkingCopy
	}
	opts = opts.withDefaults()
	var c *Captured
	err := withObjects(w.Repo, opts.Objects, func(objects *objstore.Store) (err error) {
		c, err = w.capturePinned(ctx, objects, opts)
		return err
	})
	return c.unless(err)
}

// capturePinned captures while no object of the repository can be dropped.
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
	c.release, c.repository = release, opts.Objects
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
func (w *Workspace) captureFiles(ctx context.Context, objects objstore.Reader, p *gitindex.Folder, opts CaptureOptions) (_ capturedFiles, err error) {
	capture := &filesCapture{w: w, p: p, opts: opts, objects: objects, scope: opts.Scope}
	// Usually the index is up to date, so the files are looked at meanwhile.
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
		return capturedFiles{}, err
	}
	return capture.run(ctx, found)
}

// take makes the captured files part of c.
func (c *Captured) take(files capturedFiles) {
	c.VCS.Tree, c.VCS.Scope = files.tree, files.scope
	c.VCS.LeftOut, c.VCS.Altered = files.left, files.altered
	c.trees = files.trees
	if files.q != nil {
		c.quarantine, c.objects = files.q, files.q.Dir
	}
}
