package blame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// graph is the history of a file with the frames of runs. It has commits of its own for frames, in a folder that close removes.
type graph struct {
	s     *timeline.Store
	w     *jjbridge.Workspace // its git reads and writes objects in dir, and reads those of the repository
	path  string
	dir   string
	store *objstore.Store // of dir
	batch *objstore.Batch

	nodes  map[string]*node                   // by their commits
	points map[pointKey]*point                // of the frames that were walked
	blobs  map[objstore.ID]jjbridge.FileState // the file in each tree
	more   string                             // the commit with the content of the working copy; "" if there is none

	looked map[string]bool     // commits whose messages were read
	absent map[string][]string // the frames that a commit has landed and that are not here, as its message names them
	wanted []graft             // grafts that were not checked yet
	grafts map[string][]string // further parents of commits of the repository
}

// node is a frame that has changed the file.
type node struct {
	entry    *snapshot.Entry
	older    *snapshot.Entry // the frame before with captured files; nil if there is none
	worktree string
	before   bool     // the frame has the files with which its run began
	parents  []string // commits
}

// follow adds a parent, unless it is "" or the node has it.
func (n *node) follow(commit string) {
	if commit != "" && !slices.Contains(n.parents, commit) {
		n.parents = append(n.parents, commit)
	}
}

// pointKey names a working copy at a frame.
type pointKey struct {
	entry    objstore.ID
	worktree string
}

// point is the version of the file at a frame.
type point struct {
	commit string // of a node or, if the frame has the version of a commit, of the repository
	file   jjbridge.FileState
	tree   objstore.ID
	base   string // the commit on which the working copy was; "" if it is unknown
	entry  *snapshot.Entry
}

// newGraph returns the graph of a file, without any frame. The caller must close it.
func newGraph(s *timeline.Store, path string) (*graph, error) {
	dir, err := os.MkdirTemp("", "git-smithers-blame-")
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(dir, "objects")
	g := &graph{
		s: s, path: path, dir: dir, nodes: make(map[string]*node), points: make(map[pointKey]*point), blobs: make(map[objstore.ID]jjbridge.FileState),
		looked: make(map[string]bool), absent: make(map[string][]string), grafts: make(map[string][]string),
	}
	if err = os.Mkdir(objects, 0o700); err == nil {
		g.store, err = objstore.Open(objstore.Options{
			ObjectsDir: objects, TempDir: filepath.Join(dir, "new"), Hash: objstore.HashOf(s.Objects()), Fsync: objstore.Relaxed,
		})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	g.batch = g.store.Begin()
	g.w = s.Workspace().WithObjects(objects)
	return g, nil
}

// close removes the objects of g.
func (g *graph) close() {
	_ = g.store.Close()
	_ = os.RemoveAll(g.dir) // in the folder of temporary files
}

// fileIn returns the file in a commit of the graph or of the repository.
func (g *graph) fileIn(commit string) (jjbridge.FileState, error) {
	if n := g.nodes[commit]; n != nil {
		return g.points[pointKey{n.entry.ID, n.worktree}].file, nil
	}
	tree, _, err := jjbridge.ReadCommit(g.s.Objects(), commit)
	if err != nil {
		return jjbridge.FileState{}, err
	}
	return g.fileAt(tree)
}

// fileAt returns the file in a tree.
func (g *graph) fileAt(tree objstore.ID) (jjbridge.FileState, error) {
	if at, ok := g.blobs[tree]; ok {
		return at, nil
	}
	at, err := jjbridge.FileAt(g.s.Objects(), tree, g.path)
	if err == nil {
		g.blobs[tree] = at
	}
	return at, err
}

// parents returns the parents of a commit of the repository.
func (g *graph) parents(commit string) ([]string, error) {
	_, parents, err := jjbridge.ReadCommit(g.s.Objects(), commit)
	return parents, err
}

// known reports whether the repository has a commit.
func (g *graph) known(commit string) bool {
	_, _, err := jjbridge.ReadCommit(g.s.Objects(), commit)
	return err == nil
}

// step is a frame with captured files of a working copy.
type step struct {
	entry *snapshot.Entry
	vcs   *snapshot.VCS
	file  jjbridge.FileState
	exact bool // the file may have been renamed after the frame
}

// chain adds the frames of a run up to newest, and of the runs from which it was forked, in one working copy. It returns the commit with
// the version at newest, or "" if no frame has captured files of the working copy.
func (g *graph) chain(ctx context.Context, newest *snapshot.Entry, worktree string) (string, error) {
	steps, below, err := g.walk(ctx, newest, worktree)
	if err != nil {
		return "", err
	}
	frames := make(map[timeline.Address]*point)
	for _, one := range slices.Backward(steps) {
		from := below
		if based := one.entry.Based; based != nil && *based != snapshot.NoFrame {
			from = cmp.Or(frames[timeline.Address{Run: one.entry.Run, Frame: *based}], below)
		}
		at, err := g.point(one, worktree, from, below)
		if err != nil {
			return "", err
		}
		below = at
		frames[timeline.Address{Run: one.entry.Run, Frame: one.entry.Frame}] = at
		g.points[pointKey{one.entry.ID, worktree}] = at
	}
	if below == nil {
		return "", nil
	}
	return below.commit, nil
}

// walk returns the frames with captured files, the newest first, down to the newest one that the graph has. below is the version of that
// one or, for a task's own worktree, the version from which the worktree was made; nil if there is none.
func (g *graph) walk(ctx context.Context, newest *snapshot.Entry, worktree string) (steps []step, below *point, err error) {
	var id objstore.ID
	var vcs *snapshot.VCS
	exact, seen := false, false
	for entry, err := range snapshot.Ancestry(g.s.Objects(), newest) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, nil, err
		}
		if at, ok := g.points[pointKey{entry.ID, worktree}]; ok {
			return steps, at, nil
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		now, err := entry.VCSID()
		if err != nil {
			return nil, nil, err
		}
		if now != id {
			id = now
			if vcs, err = entry.VCSRevision(); err != nil {
				return nil, nil, err
			}
		}
		own := files.WorktreeOf(vcs, worktree)
		switch {
		case own != nil && !own.Tree.IsZero():
		case worktree != "" && len(steps) > 0:
			if _, err := g.chain(ctx, entry, ""); err != nil {
				return nil, nil, err
			}
			return steps, g.points[pointKey{entry.ID, ""}], nil
		default:
			continue
		}
		file, err := g.fileAt(own.Tree)
		if errors.Is(err, objstore.ErrNotFound) {
			continue // this clone lacks the files
		}
		if err != nil {
			return nil, nil, err
		}
		seen = seen || file.Mode != 0
		exact = exact || seen && file.Mode == 0
		steps = append(steps, step{entry, own, file, exact})
	}
	return steps, nil, nil
}

// point returns the version of the file at a frame. from is the version at the frame that it continues, and below the version at the frame
// before; nil if there is none.
func (g *graph) point(one step, worktree string, from, below *point) (*point, error) {
	at := &point{file: one.file, tree: one.vcs.Tree, base: files.BaseOf(g.s.Objects(), one.vcs), entry: one.entry}
	if at.base != "" && !g.known(at.base) {
		at.base = ""
	}
	if from != nil && (from.tree == at.tree || !one.exact && from.file == at.file) {
		at.commit = from.commit
		return at, nil
	}
	n := &node{entry: one.entry, worktree: worktree, before: from == nil && one.entry.Frame == 0}
	if from == nil || at.base != from.base {
		same, err := g.isCommitted(at, one.exact)
		if err != nil {
			return nil, err
		}
		g.noteCommits(at, from)
		if same {
			at.commit = at.base
			return at, nil
		}
		n.follow(at.base)
	}
	if from != nil {
		n.older = from.entry
		n.follow(from.commit)
	}
	if below != nil {
		n.follow(below.commit)
	}
	at.commit = g.add(n, at.tree)
	return at, nil
}

// isCommitted reports whether the commit on which the working copy was has the same version of the file.
func (g *graph) isCommitted(at *point, exact bool) (bool, error) {
	if at.base == "" || exact {
		return false, nil
	}
	was, err := g.fileIn(at.base)
	return was == at.file, err
}

// add writes the commit of a node with the files of a tree, and returns its id.
func (g *graph) add(n *node, tree objstore.ID) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, parent := range n.parents {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	seconds := strconv.FormatInt(max(n.entry.AtMs, 0)/1000, 10)
	for _, who := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s frame <frame> %s +0000\n", who, seconds)
	}
	fmt.Fprintf(&b, "\n%s %q\n", n.entry.ID, n.worktree)
	commit := g.batch.Add(objstore.Commit, []byte(b.String())).String()
	g.nodes[commit] = n
	return commit
}
