package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
)

// edit is the change at one path that turns a tree into another.
type edit struct {
	path     string
	from, to treeFile
}

// treeFile is the entry of a tree at a path. Its mode is 0 if the tree has no entry at the path.
type treeFile struct {
	mode objstore.Mode
	id   objstore.ID
}

// exists reports whether the tree has an entry at the path.
func (f treeFile) exists() bool { return f.mode != 0 }

// isModule reports whether the entry is a submodule.
func (f treeFile) isModule() bool { return f.mode == objstore.ModeCommit }

// change returns the PathChange for e, without content. The Op is OpAdd for a new file, OpRemove for a removed file,
// and OpModify otherwise.
func (e edit) change() PathChange {
	switch {
	case !e.from.exists():
		return PathChange{Path: e.path, Op: OpAdd}
	case !e.to.exists():
		return PathChange{Path: e.path, Op: OpRemove}
	}
	return PathChange{Path: e.path, Op: OpModify}
}

// compare returns the edits that turn the files of p.From into those of p.To, sorted by path. If there are too many
// changes, the error wraps objstore.ErrTreeSize, and no list of them is made.
func (p *Plan) compare(ctx context.Context, w *Workspace) (edits []edit, err error) {
	err = p.withTrees(w, func(trees objstore.Reader) error {
		if err := objstore.CheckChanges(ctx, trees, p.From, p.To); err != nil {
			return err
		}
		edits, err = compareTrees(trees, p.From, p.To)
		return err
	})
	if !errors.Is(err, objstore.ErrNotFound) {
		return edits, err
	}
	// git fetches a tree that a partial clone lacks.
	out, err := w.gitWith(ctx, gitRun{
		args: diffTreeArgs(p.From.String(), p.To.String()), env: alternates(p.objects),
	})
	if err != nil {
		return nil, err
	}
	return parseEdits(out)
}

// ExpectedEdits are the edits of a Plan that is made later.
type ExpectedEdits struct {
	from, to objstore.ID
	edits    []edit
	largest  int64 // as in Plan
}

// Expect prepares a Plan from the files of the tree from to those of the tree to, for CapturedFiles.Expect. It reads no file of the
// working copy, so it can run while the working copy is captured. The trees may have objects of c.
func (w *Workspace) Expect(ctx context.Context, c *CapturedFiles, from, to objstore.ID) (*ExpectedEdits, error) {
	objects, err := c.directory(ctx, w)
	if err != nil {
		return nil, err
	}
	return w.expect(ctx, &Plan{From: from, To: to, objects: objects, repository: c.repository}, alternates(objects))
}

// expect compares the trees of p, and checks that the files of p.To are present. env is further environment of the git that
// looks for them.
func (w *Workspace) expect(ctx context.Context, p *Plan, env []string) (_ *ExpectedEdits, err error) {
	expected := &ExpectedEdits{from: p.From, to: p.To}
	if expected.edits, err = p.compare(ctx, w); err != nil {
		return nil, err
	}
	expected.largest, err = present(ctx, w, expected.edits, env)
	return expected, err
}

// of returns e if e has the edits from the tree from to the tree to, and otherwise nil. e may be nil.
func (e *ExpectedEdits) of(from, to objstore.ID) *ExpectedEdits {
	if e == nil || e.from != from || e.to != to {
		return nil
	}
	return e
}

// withTrees calls f with a reader of the objects of p.From and p.To.
func (p *Plan) withTrees(w *Workspace, f func(objstore.Reader) error) error {
	return withObjects(w.Repo, p.repository, func(objects *objstore.Store) (err error) {
		reader := capturedReader{repository: objects}
		if p.objects != "" {
			if reader.captured, err = openObjects(w.Repo, p.objects); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, reader.captured.Close()) }()
		}
		return f(reader)
	})
}

// compareTrees returns the edits that turn the files of the tree from into those of the tree to, sorted by path. The trees
// must have passed objstore.CheckChanges.
func compareTrees(trees objstore.Reader, from, to objstore.ID) ([]edit, error) {
	return compareAt(trees, "", objstore.TreeEntry{Mode: objstore.ModeTree, ID: from}, objstore.TreeEntry{Mode: objstore.ModeTree, ID: to})
}

// compareAt is compareTrees for what two trees have at a path.
func compareAt(trees objstore.Reader, path string, from, to objstore.TreeEntry) (edits []edit, err error) {
	err = (&treeBuilder{objects: trees}).compareAt(path, from, to, func(objstore.ID) bool { return true }, func(path string, was, now treeFile) {
		edits = append(edits, edit{path, was, now})
	})
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.path, b.path) })
	return edits, err
}

// diffTreeArgs returns the arguments with which git compares the trees or commits from and to. parseEdits reads git's
// output.
func diffTreeArgs(from, to string) []string {
	return []string{
		"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", from, to,
	}
}

// alternates returns the environment in which git also reads objects from the object directory dir, or nil if
// dir is "".
func alternates(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + gitindex.QuoteAlternate(dir)}
}

// Reading returns a copy of w whose git finds the objects of c, too.
func (w *Workspace) Reading(ctx context.Context, c *CapturedFiles) (*Workspace, error) {
	dir, err := c.directory(ctx, w)
	other := *w
	other.more = alternates(dir)
	return &other, err
}

// parseEdits returns the edits in out, sorted by path. out is the output of git with the arguments of diffTreeArgs.
func parseEdits(out []byte) ([]edit, error) {
	var edits []edit
	for len(out) > 0 {
		// An edit is ":<mode> <mode> <id> <id> <status>", a NUL, the path, and a NUL.
		head, rest, ok := bytes.Cut(out, []byte{0})
		path, rest, found := bytes.Cut(rest, []byte{0})
		fields := strings.Fields(strings.TrimPrefix(string(head), ":"))
		if !ok || !found || len(fields) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %q", head)
		}
		e := edit{path: string(path)}
		var err error
		if e.from, err = parseTreeFile(fields[0], fields[2]); err == nil {
			e.to, err = parseTreeFile(fields[1], fields[3])
		}
		if err != nil {
			return nil, fmt.Errorf("git diff-tree: %w", err)
		}
		edits, out = append(edits, e), rest
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.path, b.path) })
	return edits, nil
}

// parseTreeFile returns the treeFile with an octal mode and a hex id, as git prints them. If the mode is zero, the
// treeFile does not exist.
func parseTreeFile(mode, id string) (treeFile, error) {
	m, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return treeFile{}, err
	}
	f := treeFile{mode: objstore.Mode(m)}
	f.id, err = objstore.ParseID(id)
	return f, err
}

// present checks that the repository has every file that the given edits write, so that a missing object cannot
// interrupt the restore. If an object is missing, the error wraps objstore.ErrNotFound. largest is the size in bytes of
// the largest file among those that the edits add at new paths, or 0 if they add no file. env is further environment of git.
func present(ctx context.Context, w *Workspace, edits []edit, env []string) (largest int64, err error) {
	var ask bytes.Buffer
	added := make(map[string]bool)
	for _, e := range edits {
		if !e.to.exists() || e.to.isModule() {
			continue
		}
		id := e.to.id.String()
		fmt.Fprintln(&ask, id)
		added[id] = added[id] || !e.from.exists()
	}
	if ask.Len() == 0 {
		return 0, nil
	}
	out, err := w.gitWith(ctx, gitRun{
		args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"}, stdin: &ask, env: env,
	})
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(out)) {
		// For a missing object, git prints only the id and the word missing.
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != objstore.Blob.String() {
			return 0, fmt.Errorf("%w: %s", objstore.ErrNotFound, strings.TrimSpace(line))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("git cat-file: %w", err)
		}
		if added[fields[0]] {
			largest = max(largest, size)
		}
	}
	return largest, nil
}
