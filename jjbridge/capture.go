package jjbridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ScopeOff is the scope of a capture that records the revision and captures no files.
const ScopeOff = "off"

// CaptureOptions configure a capture. The zero value captures everything within the default limits.
type CaptureOptions struct {
	Scope             string // snapshot.ScopeAll, snapshot.ScopeTracked or ScopeOff; "" means ScopeAll
	MaxFile           int64  // bytes; a larger file is left out; 0 means DefaultMaxFile
	MaxUntracked      int    // files; 0 means DefaultMaxUntracked
	MaxUntrackedBytes int64  // bytes of all untracked files; 0 means DefaultMaxUntrackedBytes
	// Leave has the paths of files that are left out unless the user tracks them. A path is relative to the top, with
	// slashes. A path that ends in a slash means all files in the folder.
	Leave []string
	// Include has patterns, as in .gitignore, of ignored files that a capture with ScopeAll takes as other untracked files. A jj workspace has none.
	Include []string
	// Secrets finds files with secrets. If Secrets is nil, the capture searches no files.
	Secrets *SecretSearch
	// Objects is the repository's object store, if the caller has it open. A Plan for the capture also reads objects
	// through this store. If Objects is nil, Capture and Plan open a store.
	Objects *objstore.Store
	// Warn is called with each warning: a limit, a failed filter or a secret leaves files out, a tracked file has a
	// secret, or a list of files cannot be read. If Warn is nil, warnings are dropped.
	Warn func(error)
}

// The default limits of a capture.
const (
	DefaultMaxFile           = 50 << 20
	DefaultMaxUntracked      = 20_000
	DefaultMaxUntrackedBytes = 500 << 20
)

// maxMaxFile is the largest possible MaxFile in bytes: an object store accepts no larger file.
const maxMaxFile = 1 << 30

// withDefaults returns o with defaults. Each zero value becomes its default, MaxFile is at most maxMaxFile, and a nil
// Warn becomes a function that does nothing.
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

// leaves reports whether an entry of o.Leave names path or a folder above path. If so, it also returns this entry.
// Otherwise entry is "".
func (o *CaptureOptions) leaves(path string) (entry string, ok bool) {
	for _, leave := range o.Leave {
		if leave == path || strings.HasSuffix(leave, "/") && strings.HasPrefix(path, leave) {
			return leave, true
		}
	}
	return "", false
}

// CapturedFiles is a captured working copy: VCS with its trees, and the new objects, which the repository does not have
// yet. It also pins the repository's objects, because a prune might otherwise remove objects that the capture shares
// with an old run. The caller must close it as soon as the new objects are stored or no longer needed.
type CapturedFiles struct {
	VCS snapshot.VCS

	staged     bool                 // git's index differs from the commit VCS.CommitID, or has conflicts
	included   []string             // the untracked files that matched CaptureOptions.Include
	expected   *ExpectedEdits       // nil if Expect was not called
	repository *objstore.Store      // CaptureOptions.Objects, which may be nil
	made       []madeObject         // the new objects outside the quarantine; the repository may have some of them
	objects    string               // the quarantine's object directory; "" without a quarantine
	quarantine *gitindex.Quarantine // nil if there is no quarantine
	release    func()               // ends the pin; nil if nothing is pinned
}

// madeObject is a new object in memory.
type madeObject struct {
	kind objstore.Kind
	data []byte
}

// Objects adds to w the new objects of the capture, both those in memory and those in the quarantine. It has the
// signature of snapshot.Draft.Objects.
func (c *CapturedFiles) Objects(w objstore.Writer) error {
	for _, o := range c.made {
		w.Add(o.kind, o.data)
	}
	if c.objects == "" {
		return nil
	}
	return objstore.AddLoose(w, c.objects)
}

// IsStaged reports whether git's index differed from the commit c.VCS.CommitID, or had conflicts. It returns false in a jj
// workspace, and for a capture that read no files.
func (c *CapturedFiles) IsStaged() bool { return c.staged }

// Included reports whether the file at path was captured, or left out, because CaptureOptions.Include names it: git ignores it.
func (c *CapturedFiles) Included(path string) bool {
	_, found := slices.BinarySearch(c.included, path)
	return found
}

// Expect makes a later Plan for the capture use edits, if they are the edits of that Plan. The repository must have all objects
// of the tree to which they lead. edits may be nil.
func (c *CapturedFiles) Expect(edits *ExpectedEdits) { c.expected = edits }

// AddTree adds a tree, encoded in data, to the new objects of the capture. The caller must not change data
// afterwards.
func (c *CapturedFiles) AddTree(data []byte) {
	c.made = append(c.made, madeObject{objstore.Tree, data})
}

// directory returns an object directory with all new objects of the capture, or "" if there are no new objects. It
// moves the objects in memory into the quarantine. If c has no quarantine yet, directory creates one under the lock of
// w's private index.
func (c *CapturedFiles) directory(ctx context.Context, w *Workspace) (string, error) {
	if len(c.made) == 0 {
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
	for _, o := range c.made {
		if err := c.quarantine.Add(algorithm(w.Repo).ID(o.kind, o.data), o.kind, o.data); err != nil {
			return "", err
		}
	}
	c.made = nil
	return c.objects, nil
}

// Close removes the quarantine with the capture's objects. It also ends the pin, which kept [objstore.Store.Drop]
// from removing objects of the repository. Close may be called more than once.
func (c *CapturedFiles) Close() error {
	if c.release != nil {
		c.release()
	}
	if c.quarantine == nil {
		return nil
	}
	err := c.quarantine.Close()
	c.made, c.objects, c.quarantine = nil, "", nil
	return err
}

// Capture reads the revision and the files of the working copy. In a git repository, the user's index, HEAD, stash,
// hooks and reflogs stay as they are. In a jj workspace, jj takes a snapshot, which adds at most one operation.
// Captures of one working copy wait for each other, also across processes. The caller must close the result. Without
// a working copy, the error is ErrNoWorkingCopy.
func (w *Workspace) Capture(ctx context.Context, opts CaptureOptions) (*CapturedFiles, error) {
	if w.Root == "" {
		return nil, ErrNoWorkingCopy
	}
	opts = opts.withDefaults()
	var c *CapturedFiles
	err := withObjects(w.Repo, opts.Objects, func(objects *objstore.Store) (err error) {
		c, err = w.capturePinned(ctx, objects, opts)
		return err
	})
	return c.unless(err)
}

// capturePinned pins the objects of the repository and then captures the working copy. objects is the
// repository's store, and opts is a result of withDefaults. The result holds the pin until its Close.
func (w *Workspace) capturePinned(ctx context.Context, objects *objstore.Store, opts CaptureOptions) (*CapturedFiles, error) {
	release, err := objects.Pin(ctx)
	if err != nil {
		return nil, err
	}
	var c *CapturedFiles
	stored, err := objects.OnDisk() // bypasses the cache of the store, which may have objects that git has pruned
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

// unless returns c if err is nil. Otherwise it closes c, which may be nil, and returns nil and err, joined
// with the error of Close.
func (c *CapturedFiles) unless(err error) (*CapturedFiles, error) {
	if err == nil {
		return c, nil
	}
	if c != nil {
		err = errors.Join(err, c.Close())
	}
	return nil, err
}

// captureGit captures the working copy of a git repository under the lock of its private index. With
// ScopeOff, captureGit only reads HEAD, without the lock.
func (w *Workspace) captureGit(ctx context.Context, objects objstore.Reader, opts CaptureOptions) (_ *CapturedFiles, err error) {
	c := &CapturedFiles{VCS: snapshot.VCS{Type: snapshot.VCSGit, Root: w.vcsRoot()}}
	if opts.Scope == ScopeOff {
		c.VCS.CommitID, c.VCS.Branch, err = w.Head(ctx)
		return c, err
	}
	p, err := w.lockIndex(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Unlock()) }()
	capture := newFilesCapture(w, p, objects, opts)
	found, err := capture.look(ctx)
	if err != nil {
		return nil, err
	}
	if c.included, err = capture.include(ctx, found); err != nil {
		return nil, err
	}
	c.VCS.CommitID, c.VCS.Branch, c.staged = found.commit, found.branch, found.staged
	files, err := capture.run(ctx, found)
	if err != nil {
		return nil, err
	}
	c.take(files)
	return c, nil
}

// take copies the tree, the lists and the new objects of files into c. After the call, c owns files.q, and c.Close
// closes it.
func (c *CapturedFiles) take(files capturedFiles) {
	c.VCS.Tree, c.VCS.Scope = files.tree, files.scope
	c.VCS.LeftOut, c.VCS.Altered = files.left, files.altered
	c.made = files.made
	if files.q != nil {
		c.quarantine, c.objects = files.q, files.q.Dir
	}
}
