package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// filesCapture is one capture of the files of a working copy, under the lock of its private folder. The captured tree
// is HEAD's tree with the changes that git status lists. Apart from git status, the capture runs git only for files
// that a plainReader does not read, and to find altered files. The capture does not read a file that is unchanged since
// the last capture.
type filesCapture struct {
	w       *Workspace
	p       *gitindex.Folder // the private folder, locked
	opts    CaptureOptions   // after withDefaults
	objects objstore.Reader  // the repository's objects
	state   gitindex.State   // of the last capture; the survey of the user's index is new after track
	before  *gitindex.Index  // the files that the last capture has read; never nil
	builder *treeBuilder
	q       *gitindex.Quarantine // nil until it is needed
	git     gitRun               // environment, settings and git directory with which git reads files
	made    []madeObject         // new contents that are not in the quarantine

	secrets *secretFiles
	given   map[string]attributes // by path: the attributes that git has told

	scope string // opts.Scope, or snapshot.ScopeTracked if too many untracked files are left out
	left  leftOuts
}

// capturedFiles is the result of a filesCapture. The receiver must close q.
type capturedFiles struct {
	tree    objstore.ID
	scope   string
	left    []snapshot.LeftOut
	altered []snapshot.AlteredFile
	made    []madeObject         // new objects that are not in the quarantine
	q       *gitindex.Quarantine // the other new objects; nil if all are in made
}

// captureRounds limits how often git reads a file that changes during a capture.
const captureRounds = 4

// newFilesCapture returns a capture that continues from the last capture of the same working copy. The folder p has the
// state and the index of changed files of the last capture. If objects lacks the tree of the last capture, the last
// capture was not stored. Its files may then be missing from objects, too, so newFilesCapture ignores the tree and the
// index of the last capture.
func newFilesCapture(w *Workspace, p *gitindex.Folder, objects objstore.Reader, opts CaptureOptions) *filesCapture {
	c := &filesCapture{
		w: w, p: p, opts: opts, objects: objects, scope: opts.Scope,
		builder: &treeBuilder{objects: objects, made: make(map[objstore.ID][]byte)},
	}
	if state := p.ReadState(); state.Root == w.Root {
		c.state = state
	}
	c.secrets = newSecretFiles(opts.Secrets, c.state.Secrets)
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
	if before, err := gitindex.Read(algorithm(c.w.Repo), p.ChangedPath()); err == nil {
		c.before = before
	}
	return c
}

// look brings the copy of the user's index up to date and returns the result of git status. If a filter fails, git
// status runs once more without filters. If git refuses the encoding of files, it runs once more without a look at these files. Any other error may come from a damaged copy. If the copy was made before this
// capture, look then copies the user's index again and runs git status once more.
func (c *filesCapture) look(ctx context.Context) (*status, error) {
	made, err := c.track(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := c.status(ctx)
	if isNoEncoding(err) {
		if err := c.unwatch(ctx); err != nil {
			return nil, err
		}
		found, err = c.status(ctx)
	}
	if filterFailure(err) != nil {
		return c.status(ctx, c.w.withoutFilters()...)
	}
	if err != nil && !made && ctx.Err() == nil {
		if _, err := c.track(ctx, true); err != nil {
			return nil, err
		}
		return c.status(ctx)
	}
	return found, err
}

// run captures the files. found is the result of git status. If there are too many files for one tree, the error is an
// *objstore.TreeSizeError. After an error, run leaves at most some files in the private folder, which do no harm.
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

// finish reads the wanted files of chosen and applies the edits of chosen to the tree base. A zero base is the empty
// tree. finish also stores the state for the next capture. The caller must close the quarantine of the result. If
// finish fails, it closes the quarantine itself.
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
	if err := c.remember(result.tree, altered); err != nil {
		return capturedFiles{}, err
	}
	c.secrets.warn(c.opts.Warn)
	return result, nil
}

// remember stores the state for the next capture: the captured tree, its altered files, the files with secrets and the
// fingerprint of the index of changed files. It writes nothing if the stored state is the same.
func (c *filesCapture) remember(tree objstore.ID, altered gitindex.AlteredFiles) error {
	changed, _, err := gitindex.ReadFingerprint(c.p.ChangedPath(), func(gitindex.Fingerprint) bool { return false })
	if err != nil {
		return err
	}
	secrets := c.secrets.result(objstore.ID{}, c.scope == snapshot.ScopeAll)
	same := c.state.Tree == tree && c.state.Secrets.Equal(secrets) && c.state.Changed == changed && c.state.Version == gitindex.StateVersion &&
		c.state.Altered.Rules == altered.Rules && c.state.Altered.Tree == altered.Tree && slices.Equal(c.state.Altered.Files, altered.Files)
	if same {
		return nil
	}
	c.state.Version, c.state.Root = gitindex.StateVersion, c.w.Root
	c.state.Tree, c.state.Changed, c.state.Altered, c.state.Secrets = tree, changed, altered, secrets
	return c.p.WriteState(c.state)
}

// readChosen reads the wanted files of chosen and adds them to the edits of chosen. It also writes the index of changed
// files for the next capture, which has the files read and chosen.known. The date of this index is before the first
// read, so that the next capture sees later changes. readChosen reads the plain files itself, and lets git read the
// others.
func (c *filesCapture) readChosen(ctx context.Context, chosen *choice) error {
	// All known files are from c.before, so equal numbers mean that the index is up to date.
	if len(chosen.wanted) == 0 && len(chosen.known) == len(c.before.Entries) {
		return nil
	}
	// The index is dated before the first read: a file that changes after this date is read again by the next capture.
	index := &gitindex.Index{Hash: algorithm(c.w.Repo), Entries: chosen.known}
	index.Sort()
	if err := index.Write(c.p.ChangedPath()); err != nil {
		return err
	}
	info, err := os.Stat(c.p.ChangedPath())
	if err != nil || len(chosen.wanted) == 0 {
		return err
	}
	index.Made = info.ModTime()
	left, err := c.readPlain(ctx, chosen, index)
	if err != nil {
		return err
	}
	for _, path := range left {
		// git decides by the blob in the index whether to convert line ends, so the entry has the user's version.
		if was := chosen.wanted[path].index; was.exists() && !was.id.IsZero() {
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
	if left, err = c.searchRead(chosen, now, left); err != nil {
		return err
	}
	for _, path := range left {
		// The captured tree lacks a file that is gone or that git could not read.
		file := treeFile{}
		if i, found := now.Find(path); found && !c.left.failed[path] {
			file = treeFile{mode: now.Entries[i].Mode, id: now.Entries[i].ID}
		}
		chosen.edits.files[path] = file
	}
	if err := c.keepBlobs(now, left); err != nil {
		return err
	}
	// git has written the index with a date after the reads, so the index gets its earlier date back.
	return os.Chtimes(c.p.ChangedPath(), index.Made, index.Made)
}

// readPlain reads the wanted files of chosen that a plainReader can read, because git would store them byte for byte.
// For each of these files, readPlain adds an entry to index and an edit to chosen.edits. It also adds the content to
// c.made, unless the last capture read and stored the same content at the path. A file with a secret that the capture
// leaves out is only added to index. readPlain returns the sorted paths of all other wanted files, which git must read.
func (c *filesCapture) readPlain(ctx context.Context, chosen *choice, index *gitindex.Index) (left []string, err error) {
	paths := slices.Sorted(maps.Keys(chosen.wanted))
	reader, err := c.newPlainReader(ctx, paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if reader == nil {
			left = append(left, path)
			continue
		}
		file := chosen.wanted[path]
		e, data, ok := reader.read(path, file.index)
		if !ok {
			left = append(left, path)
			continue
		}
		index.Entries = append(index.Entries, e)
		if e.Mode != objstore.ModeSymlink && c.secrets.look(path, data, file.tracked) {
			c.left.add(path, snapshot.LeftSecret, 0)
			continue
		}
		chosen.edits.files[path] = treeFile{mode: e.Mode, id: e.ID}
		if !c.stored(path, e.ID) {
			c.made = append(c.made, madeObject{objstore.Blob, data})
		}
	}
	return left, nil
}

// stored reports whether the last capture has stored the blob with the given id as the file at path.
func (c *filesCapture) stored(path string, id objstore.ID) bool {
	i, found := c.before.Find(path)
	_, out, _ := c.secrets.known(path)
	return found && !out && c.before.Entries[i].ID == id
}

// readAgain makes git read the files at paths into the index of changed files, and returns this index. If a file
// changes meanwhile, git reads it again, at most captureRounds times in all. Then the content of the last read counts.
// readAgain warns of failed filters.
func (c *filesCapture) readAgain(ctx context.Context, paths []string) (*gitindex.Index, error) {
	var now *gitindex.Index
	again := paths
	for range captureRounds {
		if err := c.read(ctx, again); err != nil {
			return nil, err
		}
		var err error
		if now, err = gitindex.Read(algorithm(c.w.Repo), c.p.ChangedPath()); err != nil {
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

// read makes git read the files at paths into the index of changed files, and write new contents into the
// quarantine. It removes the entry of a file that is gone. If git cannot read a file, read records it in
// c.left.
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
	case ctx.Err() != nil || !isAboutOneFile(err, paths):
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

// changedMeanwhile returns the elements of paths whose files no longer match index, which git has just written. A
// file does not match if it appeared, disappeared or has another modification time. A submodule matches as long as it
// exists.
func changedMeanwhile(w *Workspace, index *gitindex.Index, paths []string) []string {
	var changed []string
	for _, path := range paths {
		i, found := index.Find(path)
		info, err := os.Lstat(w.full(path))
		switch {
		case !found:
			if err == nil && !info.IsDir() {
				changed = append(changed, path)
			}
		case err != nil:
			changed = append(changed, path)
		case index.Entries[i].Mode != objstore.ModeCommit && !index.Entries[i].Mtime().Equal(info.ModTime()):
			changed = append(changed, path)
		}
	}
	return changed
}

// keepBlobs copies the blobs of the files at paths into the quarantine if the repository has stored them already,
// because git may drop such a blob before the capture is stored. index has the files at paths. keepBlobs skips
// submodules, blobs that the last capture had at the same path, and blobs that c.objects cannot read.
func (c *filesCapture) keepBlobs(index *gitindex.Index, paths []string) error {
	for _, path := range paths {
		i, found := index.Find(path)
		if !found || index.Entries[i].Mode == objstore.ModeCommit {
			continue
		}
		id := index.Entries[i].ID
		if c.stored(path, id) || c.q.Has(id) {
			continue
		}
		kind, data, err := c.objects.Get(id)
		if err != nil {
			continue // only git can read the blob
		}
		if err := c.q.Add(id, kind, data); err != nil {
			return err
		}
	}
	return nil
}
