package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesCapture is one capture of files by git's means, under the lock of the private index.
type filesCapture struct {
	w       *Workspace
	p       *gitindex.Folder
	opts    CaptureOptions // without zeros
	objects objstore.Reader
	source  *synced
	q       *gitindex.Quarantine // nil as long as nothing is new
	git     gitRun               // how git is run to read files: environment, settings, git directory

	scope string
	left  leftOuts
	trees [][]byte // new tree objects
}

// captured is what a capture of files found.
type captured struct {
	tree    objstore.ID
	scope   string
	left    []snapshot.LeftOut
	altered []snapshot.Altered
	trees   [][]byte             // tree objects that the repository does not have
	q       *gitindex.Quarantine // nil for none
}

// captureRounds bounds how often files are read again that change while they are read.
const captureRounds = 4

// run captures the files, of which a scan of the index as it is now found the changes. On
// an error nothing stays of it but what the next one can use.
func (c *filesCapture) run(ctx context.Context, found *changes) (_ captured, err error) {
	defer func() {
		if err != nil && c.q != nil {
			err = errors.Join(err, c.q.Close())
		}
	}()
	now := c.source.now
	edits := c.choose(found)
	if !edits.empty() {
		if now, err = c.apply(ctx, now, edits); err != nil {
			return captured{}, err
		}
	}
	c.dirtyModules(ctx)
	result := captured{scope: c.scope, left: c.left.sorted()}
	if result.tree, err = c.writeTrees(ctx, now, edits); err != nil {
		return captured{}, err
	}
	if result.altered, err = c.altered(ctx, now, result.tree, edits.read); err != nil {
		return captured{}, err
	}
	result.q, result.trees = c.q, c.trees
	return result, nil
}

// apply brings the private index up to date and returns what is in it.
func (c *filesCapture) apply(ctx context.Context, now *gitindex.Index, edits *indexEdits) (*gitindex.Index, error) {
	if len(edits.gone) > 0 || len(edits.put) > 0 {
		now = now.Without(edits.gone, edits.put)
		if err := now.Write(c.p.IndexPath()); err != nil {
			return nil, err
		}
	}
	again := edits.read
	for range captureRounds {
		if len(again) == 0 {
			break
		}
		if err := c.read(ctx, again); err != nil {
			return nil, err
		}
		var err error
		if now, err = gitindex.Read(c.p.IndexPath()); err != nil {
			return nil, err
		}
		again = slices.DeleteFunc(changedMeanwhile(c.w, now, again), c.left.isFiltered)
	}
	c.left.warnOfFilters(c.opts.Warn)
	if failed := c.left.failed; len(failed) > 0 {
		now = now.Without(failed, nil)
		if err := now.Write(c.p.IndexPath()); err != nil {
			return nil, err
		}
	}
	return now, c.keepBlobs(now, edits.read)
}

// read has git read files into the private index, as many as it can: a file that it
// cannot read is left out.
func (c *filesCapture) read(ctx context.Context, paths []string) error {
	if err := c.quarantine(); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, path := range paths {
		list.WriteString(path)
		list.WriteByte(0)
	}
	_, err := c.w.gitWith(ctx, gitRun{
		args:  []string{"update-index", "-z", "--add", "--remove", "--replace", "--stdin"},
		env:   slices.Concat(c.git.env, c.q.GitEnv(c.w.objectsDir(), c.w.env), []string{"GIT_INDEX_FILE=" + c.p.IndexPath()}),
		stdin: &list, settings: slices.Concat(c.git.settings, readSettings), gitDir: c.git.gitDir,
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || !isAboutOneFile(err):
		return err
	}
	return c.readApart(ctx, paths, err)
}

// readSettings are for a git that writes into a quarantine: what is in it is stored again,
// packed and synced, or dropped.
var readSettings = []string{
	"core.bigFileThreshold=2047m", "core.looseCompression=1", "core.fsync=none", "core.fsyncObjectFiles=false",
	"index.sparse=false", "core.ignoreStat=false",
}

// quarantine makes the quarantine if there is none yet.
func (c *filesCapture) quarantine() (err error) {
	if c.q == nil {
		c.q, err = c.p.NewQuarantine()
	}
	return err
}

// changedMeanwhile are those of paths that are not what the index says, by now.
func changedMeanwhile(w *Workspace, now *gitindex.Index, paths []string) []string {
	var changed []string
	for _, path := range paths {
		i, found := now.Find(path)
		info, err := lstat(w.full(path))
		switch {
		case !found:
			if err == nil && !info.IsDir() {
				changed = append(changed, path)
			}
		case err != nil:
			changed = append(changed, path)
		case now.Entries[i].Mode != objstore.ModeCommit && !now.Entries[i].Mtime().Equal(info.ModTime()):
			changed = append(changed, path)
		}
	}
	return changed
}

// keepBlobs puts into the quarantine those new contents that the repository has already:
// it may have them only because of something that nobody keeps, and let go of them
// before the capture is stored.
func (c *filesCapture) keepBlobs(now *gitindex.Index, paths []string) error {
	for _, path := range paths {
		i, found := now.Find(path)
		if !found || now.Entries[i].Mode == objstore.ModeCommit {
			continue
		}
		id := now.Entries[i].ID
		if i, found := c.source.now.Find(path); found && c.source.now.Entries[i].ID == id || c.q.Has(id) {
			continue
		}
		kind, data, err := c.objects.Get(id)
		if err != nil {
			continue // it is where only git finds it
		}
		if err := c.q.Add(id, kind, data); err != nil {
			return err
		}
	}
	return nil
}

// writeTrees finds, or writes into the quarantine, the trees of the index that the
// repository does not have, and returns the root.
func (c *filesCapture) writeTrees(ctx context.Context, now *gitindex.Index, edits *indexEdits) (objstore.ID, error) {
	if err := (objstore.TreeSize{Paths: int64(len(now.Entries))}).Check(objstore.ID{}); err != nil {
		return objstore.ID{}, err // no other clone would take the run
	}
	if c.source.stored {
		trees := now.TreesSince(c.source.trees, edits.paths())
		c.addTrees(trees)
		return trees.Root, nil
	}
	trees := now.Trees()
	if err := c.quarantine(); err != nil {
		return objstore.ID{}, err
	}
	out, err := c.w.gitWith(ctx, gitRun{
		args: []string{"write-tree"}, settings: readSettings,
		env: append(c.q.GitEnv(c.w.objectsDir(), c.w.env), "GIT_INDEX_FILE="+c.p.IndexPath()),
	})
	if err != nil {
		return objstore.ID{}, err
	}
	root := strings.TrimSpace(string(out))
	if root != trees.Root.String() {
		return objstore.ID{}, fmt.Errorf("git write-tree: %s, expected %v", root, trees.Root)
	}
	if len(now.Entries) == 0 {
		c.addTrees(trees) // git has the empty tree without any file
	}
	return trees.Root, nil
}

// addTrees keeps the trees that the index did not have before.
func (c *filesCapture) addTrees(trees gitindex.Trees) {
	for _, id := range slices.SortedFunc(maps.Keys(trees.Encoded), objstore.ID.Compare) {
		if _, known := c.source.trees.Encoded[id]; !known || !c.source.stored {
			c.trees = append(c.trees, trees.Encoded[id])
		}
	}
}

// dirtyModules notes the submodules that have changes in them. One that cannot be asked
// may have.
func (c *filesCapture) dirtyModules(ctx context.Context) {
	for _, path := range c.left.modules {
		if _, err := lstat(c.w.full(path + "/.git")); err != nil {
			continue // not initialized
		}
		git := moduleGit{dir: c.w.full(path), env: c.w.gitEnv()}
		out, err := git.run(ctx, "status", "--porcelain", "-z", "--ignore-submodules=none", "--no-renames")
		if err != nil || len(out) > 0 {
			c.left.add(path, snapshot.LeftDirty, 0)
		}
	}
}

// objectsDir is the repository's object directory.
func (w *Workspace) objectsDir() string { return filepath.Join(w.Repo.CommonDir, "objects") }

// openObjects opens the repository's objects for reading.
func (w *Workspace) openObjects() (*objstore.Store, error) {
	return w.openObjectsIn(w.objectsDir())
}

// openObjectsIn opens an object directory for reading.
func (w *Workspace) openObjectsIn(dir string) (*objstore.Store, error) {
	return objstore.Open(objstore.Options{ObjectsDir: dir, TempDir: filepath.Join(w.Repo.CommonDir, "smithers", "tmp")})
}
