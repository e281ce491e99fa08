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

// filesCapture is one capture of files by git, under the lock of the private index.
type filesCapture struct {
	w       *Workspace
	p       *gitindex.Folder
	opts    CaptureOptions // with the defaults
	objects objstore.Reader
	source  *indexPair
	q       *gitindex.Quarantine // nil until there is a new object
	git     gitRun               // how git is run to read files: environment, settings, git directory

	scope string
	left  leftOuts
	trees [][]byte // new tree objects
}

// capturedFiles is the result of a filesCapture.
type capturedFiles struct {
	tree    objstore.ID
	scope   string
	left    []snapshot.LeftOut
	altered []snapshot.Altered
	trees   [][]byte             // new tree objects that the repository does not have
	q       *gitindex.Quarantine // nil for none
}

// captureRounds bounds how often files are read again because they change while they are read.
const captureRounds = 4

// run captures the files. found is the result of a scan with the present index. After an error only
// the files in the private folder stay, which the next capture can use.
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

// apply brings the private index up to date and returns it.
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

// read makes git read files into the private index. A file that git cannot read is left out.
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

// readSettings are settings for a git that writes into a quarantine. Its objects are written once
// more, packed and synced, or dropped.
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

// changedMeanwhile returns those of paths whose files differ from the index by now.
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

// keepBlobs copies into the quarantine those new contents that the repository has already. It may
// have them only because of something temporary, and lose them before the capture is stored.
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
			continue // only git finds it
		}
		if err := c.q.Add(id, kind, data); err != nil {
			return err
		}
	}
	return nil
}

// writeTrees returns the root tree of the index. It writes trees into the quarantine that the
// repository does not have.
func (c *filesCapture) writeTrees(ctx context.Context, now *gitindex.Index, edits *indexEdits) (objstore.ID, error) {
	if err := (objstore.TreeSize{Paths: int64(len(now.Entries))}).Check(objstore.ID{}); err != nil {
		return objstore.ID{}, err // no other clone would accept the run
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

// addTrees keeps the trees that the index did not have before.
func (c *filesCapture) addTrees(trees gitindex.Trees) {
	for _, id := range slices.SortedFunc(maps.Keys(trees.Encoded), objstore.ID.Compare) {
		if _, known := c.source.trees.Encoded[id]; !known || !c.source.stored {
			c.trees = append(c.trees, trees.Encoded[id])
		}
	}
}

// dirtyModules records the submodules that have changes in them. If git status fails in a
// submodule, it counts as changed.
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
