package share_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// nest is a tree of levels of trees, each of which has the one below under names.
func (f forger) nest(levels int, names ...string) string {
	f.t.Helper()
	mode, kind, below := "100644", "blob", f.blob("x")
	for range levels {
		var lines strings.Builder
		for _, name := range names {
			fmt.Fprintf(&lines, "%s %s %s\t%s\n", mode, kind, below, name)
		}
		mode, kind, below = "040000", "tree", f.GitInput(lines.String(), "mktree")
	}
	return below
}

// bomb is ten thousand million files in a kilobyte.
func (f forger) bomb() string { return f.nest(10, strings.Split("0123456789", "")...) }

// part adds an entry in which a part is another tree.
func (f forger) part(name, tree string) {
	f.t.Helper()
	f.add(f.with(f.tip()+"^{tree}", "040000", "tree", tree, name), nil)
}

// worktree adds an entry whose working copy is a tree, at a commit that nobody has.
func (f forger) worktree(tree string) {
	f.t.Helper()
	vcs := fmt.Sprintf(`{"commitId":%q,"frame":%d,"scope":"all","treeId":%q,"type":"git"}`+"\n", strings.Repeat("5", 40), 2, tree)
	root := f.with(f.tip()+"^{tree}", "100644", "blob", f.blob(vcs), "vcs.json")
	f.add(f.with(root, "040000", "tree", tree, "worktree"), func(h *snapshot.Header) { h.VCS = "git:" + strings.Repeat("5", 40) })
}

func TestATreeBombIsNotTaken(t *testing.T) {
	t.Parallel()
	const many = "more than 4000000 files and folders"
	theirs := newClone(t, newOrigin(t))
	theirs.Damaged()
	bomb := forger{theirs, ""}.bomb()
	cases := map[string]struct {
		forge func(forger)
		why   string
	}{
		"worktree":    {func(f forger) { f.worktree(bomb) }, many},
		"ext":         {func(f forger) { f.part("ext", bomb) }, many},
		"attachments": {func(f forger) { f.part("attachments", bomb) }, many},
		"nodes":       {func(f forger) { f.part("nodes", bomb) }, "collection"},
		"outputs":     {func(f forger) { f.part("outputs-o", bomb) }, "collection"},
		"journal":     {func(f forger) { f.part("journal", bomb) }, many},
		"workflow":    {func(f forger) { f.part("workflow", bomb) }, "workflow"},
		"deep":        {func(f forger) { f.worktree(f.deep(2040)) }, "nested more than 2000 levels deep"},
		"wide": {func(f forger) {
			var names []string
			for i := range 2100 {
				names = append(names, fmt.Sprintf("%0200d", i))
			}
			f.worktree(f.nest(2, names...))
		}, many},
		"long": {func(f forger) {
			var names []string
			for i := range 1000 {
				names = append(names, strconv.Itoa(i))
			}
			f.worktree(f.GitInput(fmt.Sprintf("040000 tree %s\t%s\n", f.nest(1, names...), strings.Repeat("n", 2<<20)), "mktree"))
		}, "paths of more than"},
		"odd-modes": {func(f forger) {
			raw := "40755 folder\x00" + rawID(t, bomb)
			f.worktree(f.GitInput(raw, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"))
		}, many},
	}
	if _, err := theirs.GitErr("for-each-ref", "--include-root-refs"); err == nil {
		delete(cases, "long") // a git as new as this refuses the name by itself, and the whole fetch with it
	}
	theirs.play("sound", 2)
	for run, c := range cases {
		theirs.play(run, 2)
		c.forge(forger{theirs, run})
	}

	ours := newClone(t, newOrigin(t))
	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})

	assert.Equal(t, fault.FetchRefused, fault.CodeOf(err), "%v", err)
	require.NotNil(t, fetched)
	assert.Len(t, fetched.Runs, len(cases)+1)
	for run, got := range byRun(fetched) {
		if run == "sound" {
			assert.Equal(t, share.StateCreated, got.State)
			continue
		}
		assert.Equal(t, share.StateInvalid, got.State, run)
		assert.Contains(t, got.Reason, cases[run].why, run)
	}
}

// deep is a tree of so many levels, written as one pack.
func (f forger) deep(levels int) string {
	f.t.Helper()
	var stream strings.Builder
	stream.WriteString("blob\nmark :1\ndata 1\nx\ncommit refs/heads/deep\ncommitter x <x@localhost> 1 +0000\ndata 0\n")
	stream.WriteString("M 100644 :1 " + strings.Repeat("a/", levels) + "a\n\n")
	f.GitInput(stream.String(), "fast-import", "--quiet", "--force")
	tree := f.Git("rev-parse", "refs/heads/deep^{tree}")
	f.Git("update-ref", "-d", "refs/heads/deep")
	return tree
}

func TestARunThatCannotBeReadKeepsNoOtherFromBeingPushed(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	c := newClone(t, origin)
	c.Damaged()
	for _, run := range []string{"sound", "bomb", "newer", "deep", "whole"} {
		c.play(run, 2)
	}
	forger{c, "bomb"}.worktree(forger{c, "bomb"}.bomb())
	forger{c, "deep"}.worktree(forger{c, "deep"}.deep(5000))
	forger{c, "newer"}.file("plan", "")
	c.reopen()

	pushed, err := c.sharer.Push(t.Context(), share.PushRequest{})

	assert.Equal(t, fault.PushRefused, fault.CodeOf(err), "%v", err)
	assert.Equal(t, map[string]string{
		"sound": share.StatePushed, "whole": share.StatePushed,
		"bomb": share.StateRefused, "deep": share.StateRefused, "newer": share.StateRefused,
	}, states(pushed))
	for _, run := range pushed.Runs {
		if run.State == share.StateRefused {
			assert.Contains(t, run.Reason, "captured files cannot be read: ", run.RunID)
		}
	}
}
