package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesCapture is one capture of files with git. The caller holds the lock of the private index.
type filesCapture struct {
	w       *Workspace
	p       *gitindex.Folder
	opts    CaptureOptions // after withDefaults
	objects objstore.Reader
	source  *indexPair
	q       *gitindex.Quarantine // nil until there is a new object
	git     gitRun               // environment, settings and git directory with which git reads files

	scope string
	left  leftOuts
	trees [][]byte // new tree objects that are not in the quarantine
}

// capturedFiles is the result of a filesCapture. The receiver must close q.
type capturedFiles struct {
	tree    objstore.ID
	scope   string
	left    []snapshot.LeftOut
	altered []snapshot.Altered
	trees   [][]byte             // new tree objects that are not in the quarantine
	q       *gitindex.Quarantine // the other new objects; nil if all are in trees
}

// captureRounds limits how often git reads the same files if they change during a capture.
const captureRounds = 4

// run captures the files and returns the result. found is the result of a scan with the present private
// index. After an error, run closes the quarantine; the changed private index stays and is valid for the next
// capture.
func (c *filesCapture) run(ctx context.Context, found *changes) (_ capturedFiles, err error) {
	defer func() {
		if err != nil && c.q != nil {
			err = errors.Join(err, c.q.Close())
		}
	}()
	now := c.source.now
	edits := c.choose(found)
	if !edits.empty() {
		if now, err = c.apply(ctx, now, edits); err != nil {
			return capturedFiles{}, err
		}
	}
	c.dirtyModules(ctx)
	result := capturedFiles{scope: c.scope, left: c.left.sorted()}
	if result.tree, err = c.writeTrees(ctx, now, edits); err != nil {
		return capturedFiles{}, err
	}
	if result.altered, err = c.altered(ctx, now, result.tree, edits.read); err != nil {
		return capturedFiles{}, err
	}
	result.q, result.trees = c.q, c.trees
	return result, nil
}

// apply makes the edits in now, the private index, and returns the new private index. git reads a file again
// if the file changes meanwhile, at most captureRounds times. apply removes the paths that git could not
// read, and warns of failed filters.
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

// read makes git read the files at paths into the private index, and their contents into the quarantine. A
// file that git cannot read is recorded as left out.
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
		env:   slices.Concat(c.git.env, c.q.GitEnv(objectsDir(c.w.Repo), c.w.env), []string{"GIT_INDEX_FILE=" + c.p.IndexPath()}),
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

// readSettings are the settings of a git that writes into a quarantine. The settings avoid compression and
// syncing, because the objects are later packed and synced, or dropped.
var readSettings = []string{
	"core.bigFileThreshold=2047m", "core.looseCompression=1", "core.fsync=none", "core.fsyncObjectFiles=false",
	"index.sparse=false", "core.ignoreStat=false",
}

// quarantine creates c.q, if c has no quarantine yet.
func (c *filesCapture) quarantine() (err error) {
	if c.q == nil {
		c.q, err = c.p.NewQuarantine()
	}
	return err
}

// changedMeanwhile returns the elements of paths that no longer match now, the index that git has just
// written: a file appeared, disappeared or has another modification time. A submodule matches as long as it
// exists.
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

// keepBlobs copies into the quarantine each new content at paths that the repository already has. The
// repository may have the content only for a short time, and drop it before the capture is stored. keepBlobs
// skips a content that c.objects cannot read.
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
			continue // only git can read the content
		}
		if err := c.q.Add(id, kind, data); err != nil {
			return err
		}
	}
	return nil
}

// writeTrees returns the id of the root tree of now. It stores the trees that the repository lacks in c.trees
// or in the quarantine. edits are the changes since c.source.now. If now has more paths than a tree may have,
// the error wraps objstore.ErrTreeSize.
func (c *filesCapture) writeTrees(ctx context.Context, now *gitindex.Index, edits *indexEdits) (objstore.ID, error) {
	if err := (objstore.TreeSize{Paths: int64(len(now.Entries))}).Check(objstore.ID{}); err != nil {
		return objstore.ID{}, err // other clones would not accept a run with a larger tree
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
		env: append(c.q.GitEnv(objectsDir(c.w.Repo), c.w.env), "GIT_INDEX_FILE="+c.p.IndexPath()),
	})
	if err != nil {
		return objstore.ID{}, err
	}
	root := strings.TrimSpace(string(out))
	if root != trees.Root.String() {
		return objstore.ID{}, fmt.Errorf("git write-tree: %s, expected %v", root, trees.Root)
	}
	if len(now.Entries) == 0 {
		c.addTrees(trees) // git does not store the empty tree
	}
	return trees.Root, nil
}

// addTrees adds to c.trees each of trees that the last private index did not have. If the repository lacks
// the trees of the last private index, addTrees adds all.
func (c *filesCapture) addTrees(trees gitindex.Trees) {
	for _, id := range slices.SortedFunc(maps.Keys(trees.Encoded), objstore.ID.Compare) {
		if _, known := c.source.trees.Encoded[id]; !known || !c.source.stored {
			c.trees = append(c.trees, trees.Encoded[id])
		}
	}
}

// dirtyModules records as left out each submodule in c.left.modules that has uncommitted changes or untracked
// files. A submodule counts as changed if git status fails in it. dirtyModules skips submodules that are not
// initialized.
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
