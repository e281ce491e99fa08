package blame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runsHere is how many runs of the working copy, the newest first, can have written lines that are not committed.
const runsHere = 5

// workingCopy returns the commit with the file as it is in the working copy. It is a commit of the repository if the file has not changed.
func (g *graph) workingCopy(ctx context.Context) (string, error) {
	if g.w.Root == "" {
		return "", fault.New(fault.NoWorkingCopy, "this repository has no working copy").Hint("name a commit or a frame after the file")
	}
	parents, err := g.checkedOut(ctx)
	if err != nil {
		return "", err
	}
	file, err := g.hash(ctx)
	if err != nil {
		return "", err
	}
	var tree objstore.ID
	same := false
	if len(parents) > 0 {
		if tree, _, err = jjbridge.ReadCommit(g.s.Objects(), parents[0]); err != nil {
			return "", err
		}
		was, err := g.fileAt(tree)
		if err != nil {
			return "", err
		}
		same = was.ID == file.ID
	}
	if same && g.w.Type == snapshot.VCSGit {
		return parents[0], nil
	}
	versions, err := g.here(ctx)
	if err != nil {
		return "", err
	}
	if g.w.Type == snapshot.VCSJJ && len(parents) > 0 { // jj's commit has what is not committed
		for _, from := range versions {
			g.wanted = append(g.wanted, graft{parents[0], from})
		}
		if _, err := g.graft(ctx); err != nil || same {
			return parents[0], err
		}
	}
	if tree, err = g.with(tree, strings.Split(g.path, "/"), file); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, parent := range slices.Concat(parents, versions) {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	seconds := g.s.Now().Unix()
	fmt.Fprintf(&b, "author working copy <> %d +0000\ncommitter working copy <> %d +0000\n\nnot committed\n", seconds, seconds)
	g.more = g.batch.Add(objstore.Commit, []byte(b.String())).String()
	return g.more, nil
}

// checkedOut returns the commit on which the working copy is, or nothing in a repository without a commit. With jj, it is the working copy's
// own commit, as of jj's last snapshot.
func (g *graph) checkedOut(ctx context.Context) ([]string, error) {
	if g.w.Type == snapshot.VCSJJ {
		at, err := g.w.JJChangeAt(ctx, "@")
		if err != nil || at == nil {
			return nil, err
		}
		return []string{at.Commit}, nil
	}
	commit, err := g.w.CommitOf(ctx, "HEAD")
	if err != nil || commit == "" {
		return nil, err
	}
	return []string{commit}, nil
}

// hash stores the file of the working copy in the graph, as a commit would have it.
func (g *graph) hash(ctx context.Context) (jjbridge.FileState, error) {
	info, err := os.Lstat(filepath.Join(g.w.Root, filepath.FromSlash(g.path)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return jjbridge.FileState{}, fault.New(fault.Usage, "the working copy has no regular file %s", g.path).
			Hint("a path is relative to the current folder; a commit or a frame may follow it")
	}
	if err != nil {
		return jjbridge.FileState{}, err
	}
	args := []string{"hash-object", "-w"}
	if g.w.Type == snapshot.VCSJJ {
		args = append(args, "--no-filters")
	}
	out, err := g.w.RunGit(ctx, append(args, "--", g.path)...)
	if err != nil {
		return jjbridge.FileState{}, err
	}
	id, err := objstore.ParseID(strings.TrimSpace(string(out)))
	return jjbridge.FileState{Mode: objstore.ModeFile, ID: id}, err
}

// with adds a tree with a file at the path parts and what the tree at id has besides, and returns its id.
func (g *graph) with(id objstore.ID, parts []string, file jjbridge.FileState) (objstore.ID, error) {
	var entries []objstore.TreeEntry
	if !id.IsZero() {
		var err error
		if entries, err = objstore.ReadForeignTree(g.s.Objects(), id); err != nil {
			return id, err
		}
	}
	entry := objstore.TreeEntry{Name: parts[0], Mode: file.Mode, ID: file.ID}
	if len(parts) > 1 {
		var below objstore.ID
		if was, ok := objstore.FindEntry(entries, parts[0]); ok && was.Mode == objstore.ModeTree {
			below = was.ID
		}
		var err error
		if entry.ID, err = g.with(below, parts[1:], file); err != nil {
			return id, err
		}
		entry.Mode = objstore.ModeTree
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e objstore.TreeEntry) bool { return e.Name == parts[0] })
	entries = append(entries, entry)
	slices.SortFunc(entries, objstore.TreeEntry.Compare)
	return g.batch.Add(objstore.Tree, objstore.EncodeTree(entries)), nil
}

// here returns the newest versions of the runs of the working copy, the newest run first, and those of a landing that is not committed. What a
// run found when it began can be of the run before.
func (g *graph) here(ctx context.Context) (versions []string, err error) {
	runs := list.Here(g.s)
	if session := agent.Here(ctx, g.s); session != "" {
		runs = append([]string{session}, runs...)
	}
	var heads []*timeline.Head
	for _, run := range runs[:min(len(runs), runsHere)] {
		head, err := g.s.Head(ctx, run)
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() != fault.ExitBug {
			continue
		}
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	slices.SortStableFunc(heads, func(a, b *timeline.Head) int { return cmp.Compare(a.Entry().AtMs, b.Entry().AtMs) })
	for _, head := range heads {
		commit, err := g.chain(ctx, head.Entry(), "")
		if err != nil {
			return nil, err
		}
		if g.nodes[commit] != nil && !slices.Contains(versions, commit) {
			versions = append(versions, commit)
		}
		if g.before, err = g.r.capture(ctx, head.Entry(), ""); err != nil {
			return nil, err
		}
	}
	g.before = nil
	slices.Reverse(versions)
	if message, err := g.w.PreparedMessage(); err == nil {
		lines := slices.DeleteFunc(strings.SplitAfter(string(message), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
		for _, landed := range list.LandedFrames(strings.Join(lines, "")) {
			found, _, err := g.versions(ctx, landed)
			if err != nil {
				return nil, err
			}
			versions = append(versions, found...)
		}
	}
	return versions, nil
}
