package share_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// forger writes what no appending would into a run, with plain git.
type forger struct {
	*clone

	run string
}

func (f forger) tip() string { return "refs/smithers/_tip/" + f.run }

func (f forger) blob(content string) string {
	return f.GitInput(content, "hash-object", "-t", "blob", "-w", "--stdin")
}

// with is a tree that has another entry of that name.
func (f forger) with(tree, mode, kind, id, name string) string {
	f.t.Helper()
	var lines []string
	for line := range strings.Lines(f.Git("ls-tree", tree) + "\n") {
		if !strings.HasSuffix(line, "\t"+name+"\n") && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return f.GitInput(strings.Join(lines, "")+fmt.Sprintf("%s %s %s\t%s\n", mode, kind, id, name), "mktree")
}

// header is the tip's.
func (f forger) header() snapshot.Header {
	f.t.Helper()
	id, err := objstore.ParseID(f.Git("rev-parse", f.tip()))
	require.NoError(f.t, err)
	header, err := snapshot.DecodeHeader(id, []byte(f.Git("cat-file", "commit", f.tip())+"\n"))
	require.NoError(f.t, err)
	return header
}

// add adds an entry that is no frame, with this tree and the tip's header as edit leaves it.
func (f forger) add(tree string, edit func(*snapshot.Header)) {
	f.t.Helper()
	header := f.header()
	var err error
	header.Parent, err = objstore.ParseID(f.Git("rev-parse", f.tip()))
	require.NoError(f.t, err)
	header.Tree, err = objstore.ParseID(tree)
	require.NoError(f.t, err)
	header.Frame, header.Base = snapshot.NoFrame, objstore.ID{}
	if edit != nil {
		edit(&header)
	}
	f.move(string(snapshot.EncodeHeader(header)))
}

// move makes a commit the tip.
func (f forger) move(commit string) {
	f.t.Helper()
	f.Git("update-ref", f.tip(), f.GitInput(commit, "hash-object", "-t", "commit", "-w", "--stdin"))
}

// file adds an entry in which a file has other bytes.
func (f forger) file(name, content string) {
	f.t.Helper()
	f.add(f.with(f.tip()+"^{tree}", "100644", "blob", f.blob(content), name), nil)
}

// row adds an entry of which run.json says something else.
func (f forger) row(from, to string) {
	f.t.Helper()
	text := f.Git("cat-file", "blob", f.tip()+":run.json") + "\n"
	require.Contains(f.t, text, from)
	f.file("run.json", strings.Replace(text, from, to, 1))
}

func TestWhatDoesNotPassTheChecksIsNotTaken(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		forge func(forger)
		why   string
	}{
		"another-run": {
			func(f forger) { f.Git("update-ref", f.tip(), "refs/smithers/_tip/sound") },
			`the entry belongs to run "sound"`,
		},
		"a-blob": {
			func(f forger) { f.Git("update-ref", f.tip(), f.blob("hello")) },
			"is a blob",
		},
		"a-commit-of-the-user": {
			func(f forger) { f.Git("update-ref", f.tip(), "HEAD") },
			"not the commit of an entry",
		},
		"a-newer-format": {
			func(f forger) {
				f.move(strings.Replace(f.Git("cat-file", "commit", f.tip()), "Smithers-Format: 2", "Smithers-Format: 3", 1) + "\n")
			},
			"format 3",
		},
		"a-part-of-a-newer-format": {
			func(f forger) { f.file("plan", "") },
			"plan",
		},
		"a-row-of-another-run": {
			func(f forger) { f.row(`"runId":"a-row-of-another-run"`, `"runId":"sound"`) },
			"the commit names another run",
		},
		"a-path-on-a-machine": {
			func(f forger) { f.row(`"workflowName":"flow"`, `"workflowName":"flow","workflowPath":"/etc/passwd"`) },
			"absolute path",
		},
		"a-deep-row": {
			func(f forger) { f.file("run.json", strings.Repeat(`{"a":`, 200_000)) },
			"run.json",
		},
		"a-row-of-spaces": {
			func(f forger) { f.file("run.json", strings.Repeat(" ", 64<<20+1)) },
			"too large",
		},
		"events-of-nobody": {
			func(f forger) {
				f.add(f.Git("rev-parse", f.tip()+"^{tree}"), func(h *snapshot.Header) { h.NextSeq += 9 })
			},
			"event",
		},
		"a-deep-event": {
			func(f forger) { f.file("events", strings.Repeat(`[`, 200_000)) },
			"event",
		},
		"a-deep-frame": {
			func(f forger) { f.file("frame", "full\n"+strings.Repeat(`[`, 200_000)) },
			"frame",
		},
		"a-state-of-something-else": {
			func(f forger) {
				f.add(f.with(f.tip()+"^{tree}", "040000", "tree", f.Git("rev-parse", "HEAD^{tree}"), "nodes"), nil)
			},
			"nodes",
		},
		"a-working-copy-that-is-not-there": {
			func(f forger) {
				f.file("vcs.json", `{"frame":2,"scope":"all","treeId":"`+strings.Repeat("2", 40)+`","type":"git"}`+"\n")
			},
			"worktree",
		},
		"a-forged-past": {
			func(f forger) {
				f.add(f.Git("rev-parse", f.tip()+"^{tree}"), func(h *snapshot.Header) { h.Parent, h.NextSeq = f.header().Parent, h.NextSeq-1 })
			},
			"changes the state",
		},
		"a-fork-of-what-it-does-not-go-on-from": {
			func(f forger) {
				text := f.Git("cat-file", "blob", f.tip()+":run.json") + "\n"
				text = strings.Replace(text, f.Git("rev-parse", "refs/smithers/sound/1"), f.Git("rev-parse", "refs/smithers/twin/1"), 1)
				header := f.header()
				tree, err := objstore.ParseID(f.with(f.tip()+"^{tree}", "100644", "blob", f.blob(text), "run.json"))
				require.NoError(f.t, err)
				header.Tree = tree
				f.move(string(snapshot.EncodeHeader(header)))
			},
			"was forked from",
		},
	}
	theirs := newClone(t, newOrigin(t))
	theirs.Damaged()
	theirs.play("sound", 3)
	theirs.play("twin", 1)
	for run, c := range cases {
		if strings.HasPrefix(run, "a-fork") {
			theirs.fork("sound:1", run)
		} else {
			theirs.play(run, 2)
		}
		c.forge(forger{theirs, run})
	}

	ours := newClone(t, newOrigin(t))
	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})
	assert.Equal(t, fault.FetchRefused, fault.CodeOf(err), "%v", err)
	require.NotNil(t, fetched)
	for _, run := range fetched.Runs {
		if run.RunID == "sound" || run.RunID == "twin" {
			assert.Equal(t, share.StateCreated, run.State)
			continue
		}
		assert.Equal(t, share.StateInvalid, run.State, run.RunID)
		assert.Contains(t, run.Reason, cases[run.RunID].why, run.RunID)
		assert.True(t, run.Tip.IsZero(), run.RunID)
	}
	assert.Len(t, fetched.Runs, len(cases)+2)
	assert.Equal(t, []string{"refs/smithers/_tip/sound", "refs/smithers/_tip/twin"},
		slices.Sorted(maps.Keys(refsOf(ours.Repo, "refs/smithers/_tip"))))
	assert.Empty(t, refsOf(ours.Repo, "refs/smithers/a-forged-past"))
}

func TestWhatGitRefusesIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]string{
		"a folder of git":                    ".git",
		"a folder above":                     "..",
		"a folder that NTFS takes for git's": "git~1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs := repotest.New(t, repotest.Commit)
			blob := theirs.GitInput("#!/bin/sh\n", "hash-object", "-w", "--stdin")
			raw := "100755 " + entry + "\x00" + rawID(t, blob)
			tree := theirs.GitInput(raw, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
			theirs.Git("update-ref", "refs/smithers/_tip/evil", theirs.Git("commit-tree", "-m", "evil", tree))
			theirs.Damaged()

			ours := newClone(t, newOrigin(t))
			fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})
			require.Error(t, err)
			assert.Equal(t, fault.FetchRefused, fault.CodeOf(err), "%v", err)
			assert.Empty(t, fetched.Runs)
			assert.Empty(t, ours.Git("for-each-ref", "refs/smithers", "refs/smithers-remote"))
		})
	}
}

// rawID is an id as trees have it.
func rawID(t *testing.T, text string) string {
	t.Helper()
	id, err := objstore.ParseID(text)
	require.NoError(t, err)
	raw := objstore.EncodeTree([]objstore.TreeEntry{{Name: "x", Mode: objstore.ModeFile, ID: id}})
	return string(raw[len("100644 x\x00"):])
}

func TestAnEntryThatIsDamagedOnTopOfWhatIsHereMovesNothing(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	theirs, ours := newClone(t, origin), newClone(t, origin)
	head := theirs.play("one", 2)
	_, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})
	require.NoError(t, err)
	before := ours.Git("for-each-ref", "refs/smithers")

	theirs.goOn(head, 1)
	forger{theirs, "one"}.row(`"epoch":0`, `"epoch":7`)
	forger{theirs, "one"}.row(`"epoch":7`, `"epoch":1`)
	theirs.Damaged()
	fetched, err := ours.sharer.Fetch(t.Context(), share.FetchRequest{Remote: theirs.Dir})
	assert.Equal(t, fault.FetchRefused, fault.CodeOf(err), "%v", err)
	require.Len(t, fetched.Runs, 1)
	assert.Contains(t, fetched.Runs[0].Reason, "epoch 7 is followed by epoch 1")
	assert.Equal(t, before, ours.Git("for-each-ref", "refs/smithers"))
}
