package blame

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// graft says that a commit of the repository has lines of a version of a frame.
type graft struct {
	commit, from string
}

// addLanded adds the frames that the commits of an annotation have landed. It reports whether lines may come from other commits now.
func (g *graph) addLanded(ctx context.Context, a *annotation) (more bool, err error) {
	for _, one := range a.lines {
		if g.looked[one.commit] || g.nodes[one.commit] != nil || one.commit == g.more {
			continue
		}
		g.looked[one.commit] = true
		if err := g.readMessage(ctx, one.commit); err != nil {
			return false, err
		}
	}
	return g.graft(ctx)
}

// readMessage adds the frames that a commit of the repository has landed, as its message says.
func (g *graph) readMessage(ctx context.Context, commit string) error {
	id, err := objstore.ParseID(commit)
	if err != nil {
		return err
	}
	data, err := objstore.GetKind(g.s.Objects(), id, objstore.Commit)
	if err != nil {
		return err
	}
	head, message, _ := strings.Cut(string(data), "\n\n")
	all := list.LandedFrames(message)
	if len(all) == 0 {
		return g.addMadeDuring(ctx, commit, head)
	}
	for _, landed := range all {
		versions, here, err := g.versions(ctx, landed)
		if err != nil {
			return err
		}
		if !here {
			g.absent[commit] = append(g.absent[commit], landed.Address)
		}
		for _, from := range versions {
			g.wanted = append(g.wanted, graft{commit, from})
		}
	}
	return nil
}

// addMadeDuring adds the runs during which a commit of the repository was made, such as sessions of agents that commit their work themselves.
// head has the headers of the commit.
func (g *graph) addMadeDuring(ctx context.Context, commit, head string) error {
	index, err := g.s.Index(ctx)
	if err != nil {
		return err
	}
	rows, err := index.FramesByCommit(ctx, commit)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, row := range rows {
		if row.FrameNo == 0 || seen[row.RunID] {
			continue
		}
		seen[row.RunID] = true // the first frame on the commit: the one before may have its lines
		if _, err := g.version(ctx, row); err != nil {
			return err
		}
	}
	_, change, ok := strings.Cut(head, "\nchange-id ") // of jj: frames that captured the change have lines of its last commit
	if !ok {
		return nil
	}
	change, _, _ = strings.Cut(change, "\n")
	if rows, err = index.FramesByChange(ctx, change); err != nil {
		return err
	}
	for i, row := range rows {
		if i+1 < len(rows) && rows[i+1].RunID == row.RunID {
			continue // not the last frame of the change
		}
		from, err := g.version(ctx, row)
		if err != nil {
			return err
		}
		if g.nodes[from] != nil {
			g.wanted = append(g.wanted, graft{commit, from})
		}
	}
	return nil
}

// version returns the version of the file at a frame of the index, or "" if the frame was removed since.
func (g *graph) version(ctx context.Context, row sqliteindex.FrameRow) (string, error) {
	at, err := g.s.At(ctx, timeline.Address{Run: row.RunID, Frame: row.FrameNo})
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() == fault.ExitNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return g.chain(ctx, at.Entry, "")
}

// versions returns the versions of the file at a landed frame. here is false if the frame, or its files, are not in this repository.
func (g *graph) versions(ctx context.Context, landed list.LandedFrame) (versions []string, here bool, err error) {
	at, err := g.s.LoadFor(ctx, landed.Address, timeline.ToChange) // the whole id
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() != fault.ExitBug {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	worktrees := landed.Worktrees
	if len(worktrees) == 0 {
		worktrees = []string{""}
	}
	for _, name := range worktrees {
		from, err := g.chain(ctx, at.Entry, name)
		if err != nil {
			return nil, false, err
		}
		if from != "" {
			versions, here = append(versions, from), true
		}
	}
	return versions, here, nil
}

// mostCommits is how many commits a working copy can have got between two frames of a run, along first parents.
const mostCommits = 64

// noteCommits notes that the commits that the working copy got since an older version may have lines of that version: agents commit
// their work themselves.
func (g *graph) noteCommits(at, older *point) {
	if older == nil || older.base == "" || older.base == at.base || g.nodes[older.commit] == nil {
		return
	}
	var between []string
	for commit := at.base; commit != "" && commit != older.base; {
		parents, err := g.r.parents(commit)
		if err != nil || len(parents) == 0 || len(between) == mostCommits {
			return // not made on the older commit
		}
		between, commit = append(between, commit), parents[0]
	}
	for _, commit := range between {
		g.wanted = append(g.wanted, graft{commit, older.commit})
	}
}

// graft makes the wanted versions parents of their commits, apart from those that descend from their commit: git would walk in circles.
// It reports whether it has made one a parent.
func (g *graph) graft(ctx context.Context) (more bool, err error) {
	if len(g.wanted) == 0 {
		return false, nil
	}
	wanted := g.wanted
	g.wanted = nil
	parents, err := g.history(ctx, wanted)
	if err != nil {
		return false, err
	}
	for _, one := range wanted {
		if slices.Contains(g.grafts[one.commit], one.from) || g.reaches(parents, one.from, one.commit) {
			continue
		}
		g.grafts[one.commit] = append(g.grafts[one.commit], one.from)
		more = true
	}
	return more, nil
}

// history returns the parents of the commits of the repository that versions of frames descend from, down to a commit that all commits with
// grafts have in common.
func (g *graph) history(ctx context.Context, wanted []graft) (map[string][]string, error) {
	var bases, grafted []string // commits of the repository
	for _, n := range g.nodes {
		for _, parent := range n.parents {
			if g.nodes[parent] == nil {
				bases = append(bases, parent)
			}
		}
	}
	for _, one := range wanted {
		grafted = append(grafted, one.commit)
		if g.nodes[one.from] == nil {
			bases = append(bases, one.from) // the frame has the version of a commit
		}
	}
	for commit := range g.grafts {
		grafted = append(grafted, commit)
	}
	if len(bases) == 0 {
		return nil, nil
	}
	slices.Sort(grafted)
	out, err := g.w.RunGit(ctx, append([]string{"merge-base", "--octopus"}, slices.Compact(grafted)...)...)
	if failed, ok := errors.AsType[*gitexec.Error](err); err != nil && (!ok || failed.Status != 1) {
		return nil, err
	}
	var input strings.Builder
	for _, base := range bases {
		input.WriteString(base + "\n")
	}
	if common := strings.TrimSpace(string(out)); common != "" {
		input.WriteString("^" + common + "\n")
	}
	if out, err = g.w.RunGitWith(ctx, strings.NewReader(input.String()), "rev-list", "--parents", "--stdin"); err != nil {
		return nil, err
	}
	parents := make(map[string][]string)
	for text := range strings.Lines(string(out)) {
		if ids := strings.Fields(text); len(ids) > 0 {
			parents[ids[0]] = ids[1:]
		}
	}
	return parents, nil
}

// reaches reports whether the commit from descends from the commit to, or is it.
func (g *graph) reaches(parents map[string][]string, from, to string) bool {
	seen, todo := map[string]bool{from: true}, []string{from}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; at == to {
			return true
		}
		next := slices.Concat(parents[at], g.grafts[at])
		if n := g.nodes[at]; n != nil {
			next = n.parents
		}
		for _, one := range next {
			if !seen[one] {
				seen[one], todo = true, append(todo, one)
			}
		}
	}
	return false
}
