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

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// graph is the history of one file with the frames of runs. It has commits of its own for frames, in a folder that close removes.
type graph struct {
	r     *Reader
	s     *timeline.Store
	w     *jjbridge.Workspace // its git reads and writes objects in dir, and reads those of the repository
	path  string
	dir   string
	store *objstore.Store // of dir
	batch *objstore.Batch

	nodes  map[string]*node                   // by their commits
	points map[pointKey]*point                // of the frames that were walked
	frames map[frameKey]*point                // the same by their numbers
	blobs  map[objstore.ID]jjbridge.FileState // the file in each tree
	more   string                             // the commit with the content of the working copy; "" if there is none
	before *capture                           // the newest one of the run that was in the working copy before the one that is added; nil if it is unknown

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

// frameKey names a working copy at a frame.
type frameKey struct {
	run      string
	frame    int64
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
func newGraph(r *Reader, path string) (*graph, error) {
	dir, err := os.MkdirTemp("", "git-smithers-blame-")
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(dir, "objects")
	g := &graph{
		r: r, s: r.s, path: path, dir: dir, nodes: make(map[string]*node), points: make(map[pointKey]*point), frames: make(map[frameKey]*point), blobs: make(map[objstore.ID]jjbridge.FileState),
		looked: make(map[string]bool), absent: make(map[string][]string), grafts: make(map[string][]string),
	}
	if err = os.Mkdir(objects, 0o700); err == nil {
		g.store, err = objstore.Open(objstore.Options{
			ObjectsDir: objects, TempDir: filepath.Join(dir, "new"), Hash: objstore.HashOf(r.s.Objects()), Fsync: objstore.Relaxed,
		})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	g.batch = g.store.Begin()
	g.w = r.s.Workspace().WithObjects(objects)
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

// chain adds the frames of a run up to newest, and of the runs from which it was forked, in one working copy. It returns the commit with
// the version at newest, or "" if no frame has captured files of the working copy.
func (g *graph) chain(ctx context.Context, newest *snapshot.Entry, worktree string) (string, error) {
	last, err := g.r.capture(ctx, newest, worktree)
	if err != nil || last == nil {
		return "", err
	}
	at, err := g.versionAt(ctx, last)
	if err != nil || at == nil {
		return "", err
	}
	return at.commit, nil
}

// step is a capture, and the file in it.
type step struct {
	*capture
	file  jjbridge.FileState
	exact bool // the file may have been renamed after the frame
}

// versionAt adds a capture and those before it. It returns nil if this clone has the files of none of them.
func (g *graph) versionAt(ctx context.Context, last *capture) (*point, error) {
	var steps []step
	var below *point
	exact, seen := false, false
	for c := last; c != nil && below == nil; c = c.older {
		if at, ok := g.points[c.key()]; ok {
			below = at
			break
		}
		file, err := g.fileAt(c.vcs.Tree)
		if err == nil {
			seen = seen || file.Mode != 0
			exact = exact || seen && file.Mode == 0
			steps = append(steps, step{c, file, exact})
		} else if !errors.Is(err, objstore.ErrNotFound) {
			return nil, err
		}
		if c.from != nil {
			if below, err = g.versionAt(ctx, c.from); err != nil {
				return nil, err
			}
		}
	}
	for _, one := range slices.Backward(steps) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		from := below
		if based := one.entry.Based; based != nil && *based != snapshot.NoFrame {
			from = cmp.Or(g.frames[frameKey{one.entry.Run, *based, one.worktree}], below)
		}
		at, err := g.point(one, from, below)
		if err != nil {
			return nil, err
		}
		below = at
		g.frames[frameKey{one.entry.Run, one.entry.Frame, one.worktree}] = at
		g.points[one.key()] = at
	}
	return below, nil
}

// point returns the version of the file at a frame. from is the version at the frame that it continues, and below the version at the frame
// before; nil if there is none.
func (g *graph) point(one step, from, below *point) (*point, error) {
	at := &point{file: one.file, tree: one.vcs.Tree, base: one.base, entry: one.entry}
	g.noteCommits(at, from)
	if from != nil && (from.tree == at.tree || !one.exact && from.file == at.file) {
		at.commit = from.commit
		return at, nil
	}
	n := &node{entry: one.entry, worktree: one.worktree, before: from == nil && one.entry.Frame == 0}
	if from == nil || at.base != from.base {
		same, err := g.isCommitted(at, one.exact)
		if err != nil {
			return nil, err
		}
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
	if n.before {
		n.follow(g.foundAt(one.entry.AtMs))
	}
	at.commit = g.add(n, at.tree)
	return at, nil
}

// foundAt returns the version of g.before at a time, or "" if there is none.
func (g *graph) foundAt(ms int64) string {
	for c := g.before; c != nil; c = c.older {
		if at := g.points[c.key()]; at != nil && c.entry.AtMs <= ms {
			return at.commit
		}
	}
	return ""
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
