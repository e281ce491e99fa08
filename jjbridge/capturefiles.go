package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesCapture is one capture of files by git, under the lock of the private folder. Usually it runs
// git status alone: the captured tree is that of HEAD with the files that git status lists. Files that
// the last capture has read and that have not changed since are not read again.
type filesCapture struct {
	w       *Workspace
	p       *gitindex.Folder
	opts    CaptureOptions // after withDefaults
	objects objstore.Reader
	state   gitindex.State
	before  *gitindex.Index // the files that the last capture has read; never nil
	builder *treeBuilder
	q       *gitindex.Quarantine // nil until there is a new object
	git     gitRun               // environment, settings and git directory with which git reads files
	made    []madeObject         // new contents that are not in the quarantine

	scope string
	left  leftOuts
}

// capturedFiles is the result of a filesCapture. The receiver must close q.
type capturedFiles struct {
	tree    objstore.ID
	scope   string
	left    []snapshot.LeftOut
	altered []snapshot.Altered
	made    []madeObject         // new objects that are not in the quarantine
	q       *gitindex.Quarantine // the other new objects; nil if all are in made
}

// captureRounds limits how often git reads the same files if they change during a capture.
const captureRounds = 4

// newFilesCapture begins a capture with what the last one has left in the folder. That counts only if
// the last capture was stored.
func newFilesCapture(w *Workspace, p *gitindex.Folder, objects objstore.Reader, opts CaptureOptions) *filesCapture {
	c := &filesCapture{
		w: w, p: p, opts: opts, objects: objects, scope: opts.Scope,
		builder: &treeBuilder{objects: objects, made: make(map[objstore.ID][]byte)},
	}
	if state := p.ReadState(); state.Root == w.Root {
		c.state = state
	}
	if !c.state.Tree.IsZero() && !has(objects, c.state.Tree) {
		c.state.Tree = objstore.ID{}
	}
	c.before = &gitindex.Index{}
	if c.state.Tree.IsZero() {
		return c
	}
	id, _, err := gitindex.ReadFingerprint(p.ChangedPath(), func(gitindex.Fingerprint) bool { return false })
	if err != nil || id != c.state.Changed || id == (gitindex.Fingerprint{}) {
		return c
	}
	if before, err := gitindex.Read(p.ChangedPath()); err == nil {
		c.before = before
	}
	return c
}

// look returns what git status says.
func (c *filesCapture) look(ctx context.Context) (*status, error) {
	made, err := c.track(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := c.status(ctx)
	if filterFailure(err) != nil {
		return c.status(ctx, c.w.withoutFilters()...)
	}
	if err != nil && !made && ctx.Err() == nil { // the copy may be damaged
		if _, err := c.track(ctx, true); err != nil {
			return nil, err
		}
		return c.status(ctx)
	}
	return found, err
}

// run captures the files. After an error only files in the private folder stay, which do no harm.
func (c *filesCapture) run(ctx context.Context, found *status) (capturedFiles, error) {
	chosen := c.choose(found)
	size := objstore.TreeSize{Paths: int64(c.state.Survey.Entries + len(found.untracked))}
	if err := size.Check(objstore.ID{}); err != nil {
		return capturedFiles{}, err // no other clone would accept the run
	}
	var base objstore.ID
	if found.commit != "" {
		var err error
		if base, _, err = ReadCommit(c.objects, found.commit); err != nil {
			return capturedFiles{}, err
		}
	}
	return c.finish(ctx, base, chosen)
}

// finish reads the chosen files and makes the tree of them on a base.
func (c *filesCapture) finish(ctx context.Context, base objstore.ID, chosen *choice) (_ capturedFiles, err error) {
	defer func() {
		if err != nil && c.q != nil {
			err = errors.Join(err, c.q.Close())
		}
	}()
	if err := c.readChosen(ctx, chosen); err != nil {
		return capturedFiles{}, err
	}
	result := capturedFiles{scope: c.scope, left: c.left.sorted()}
	if result.tree, err = c.builder.edited(base, chosen.edits); err != nil {
		return capturedFiles{}, err
	}
	trees, err := c.builder.newTrees(c.state.Tree, result.tree)
	if err != nil {
		return capturedFiles{}, err
	}
	result.made = c.made
	for _, data := range trees {
		result.made = append(result.made, madeObject{objstore.Tree, data})
	}
	altered, err := c.altered(ctx, result.tree, chosen.edits.files)
	if err != nil {
		return capturedFiles{}, err
	}
	result.altered, result.q = altered.Files, c.q
	return result, c.remember(result.tree, altered)
}

// remember writes the state for the next capture, if it has changed.
func (c *filesCapture) remember(tree objstore.ID, altered gitindex.AlteredFiles) error {
	changed, _, err := gitindex.ReadFingerprint(c.p.ChangedPath(), func(gitindex.Fingerprint) bool { return false })
	if err != nil {
		return err
	}
	same := c.state.Tree == tree && c.state.Changed == changed && c.state.Version == gitindex.StateVersion &&
		c.state.Altered.Rules == altered.Rules && c.state.Altered.Tree == altered.Tree && slices.Equal(c.state.Altered.Files, altered.Files)
	if same {
		return nil
	}
	c.state.Version, c.state.Root = gitindex.StateVersion, c.w.Root
	c.state.Tree, c.state.Changed, c.state.Altered = tree, changed, altered
	return c.p.WriteState(c.state)
}

// readChosen reads the wanted files of a choice, and adds them to its edits.
func (c *filesCapture) readChosen(ctx context.Context, chosen *choice) error {
	if len(chosen.wanted) == 0 && len(chosen.known) == len(c.before.Entries) {
		return nil
	}
	// The index is dated before the first file is read: a file that changes from now on is not fresh.
	index := &gitindex.Index{Entries: chosen.known}
	index.Sort()
	if err := index.Write(c.p.ChangedPath()); err != nil {
		return err
	}
	info, err := os.Stat(c.p.ChangedPath())
	if err != nil || len(chosen.wanted) == 0 {
		return err
	}
	index.Made = info.ModTime()
	left := c.readPlain(chosen, index)
	for _, path := range left {
		// Whether git converts line ends depends on the content in the index.
		if was := chosen.wanted[path]; was.exists() && !was.id.IsZero() {
			index.Entries = append(index.Entries, gitindex.Entry{Path: path, Mode: was.mode, ID: was.id})
		}
	}
	index.Sort()
	if err := index.Write(c.p.ChangedPath()); err != nil || len(left) == 0 {
		return err
	}
	now, err := c.readAgain(ctx, left)
	if err != nil {
		return err
	}
	for _, path := range left {
		file := treeFile{}
		if i, found := now.Find(path); found && !c.left.failed[path] {
			file = treeFile{mode: now.Entries[i].Mode, id: now.Entries[i].ID}
		}
		chosen.edits.files[path] = file
	}
	if err := c.keepBlobs(now, left); err != nil {
		return err
	}
	return os.Chtimes(c.p.ChangedPath(), index.Made, index.Made)
}

// readPlain adds to the index those of the wanted files that need no git to be read, and returns the
// others, sorted.
func (c *filesCapture) readPlain(chosen *choice, index *gitindex.Index) (left []string) {
	reader := c.newPlainReader()
	for _, path := range slices.Sorted(maps.Keys(chosen.wanted)) {
		if reader == nil {
			left = append(left, path)
			continue
		}
		e, data, ok := reader.read(path, chosen.wanted[path])
		if !ok {
			left = append(left, path)
			continue
		}
		index.Entries = append(index.Entries, e)
		chosen.edits.files[path] = treeFile{mode: e.Mode, id: e.ID}
		if i, found := c.before.Find(path); !found || c.before.Entries[i].ID != e.ID {
			c.made = append(c.made, madeObject{objstore.Blob, data})
		}
	}
	return left
}

// readAgain makes git read files into the index of changed files, and returns it.
func (c *filesCapture) readAgain(ctx context.Context, paths []string) (*gitindex.Index, error) {
	var now *gitindex.Index
	again := paths
	for range captureRounds {
		if err := c.read(ctx, again); err != nil {
			return nil, err
		}
		var err error
		if now, err = gitindex.Read(c.p.ChangedPath()); err != nil {
			return nil, err
		}
		again = slices.DeleteFunc(changedMeanwhile(c.w, now, again), c.left.isFiltered)
		if len(again) == 0 {
			break
		}
	}
	c.left.warnOfFilters(c.opts.Warn)
	return now, nil
}

// read makes git read files into the index of changed files. A file that git cannot read is left out.
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
		env:   slices.Concat(c.git.env, c.q.GitEnv(objectsDir(c.w.Repo), c.w.env), []string{"GIT_INDEX_FILE=" + c.p.ChangedPath()}),
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
		info, err := os.Lstat(w.full(path))
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
		if i, found := c.before.Find(path); found && c.before.Entries[i].ID == id || c.q.Has(id) {
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
