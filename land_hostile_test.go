package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// forgeFiles appends a frame to a run, whose files are those of frame 3 and the given entries of a tree.
func (l *landing) forgeFiles(run, entries string) {
	l.t.Helper()
	s, err := timeline.Open(l.t.Context(), timeline.Options{Dir: l.Dir, Env: l.env, Now: time.Now})
	require.NoError(l.t, err)
	head, err := s.Head(l.t.Context(), run)
	require.NoError(l.t, err)
	address, err := s.Load(l.t.Context(), run+":3")
	require.NoError(l.t, err)
	vcs, err := address.Entry.VCSRevision()
	require.NoError(l.t, err)
	vcs.Tree, err = objstore.ParseID(l.GitInput(l.Git("ls-tree", vcs.Tree.String())+"\n"+entries, "mktree"))
	require.NoError(l.t, err)
	require.NoError(l.t, head.Update(l.t.Context(), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{Frame: new(snapshot.FrameDraft), VCS: vcs, AtMs: s.Now().UnixMilli(), Subject: "forged"}, nil
	}))
	require.NoError(l.t, s.Close())
}

// forge appends a frame to a run, whose input is the run's input with other members.
func (l *landing) forge(run string, members map[string]any) {
	l.t.Helper()
	s, err := timeline.Open(l.t.Context(), timeline.Options{Dir: l.Dir, Env: l.env, Now: time.Now})
	require.NoError(l.t, err)
	head, err := s.Head(l.t.Context(), run)
	require.NoError(l.t, err)
	data, err := head.State().Input()
	require.NoError(l.t, err)
	input := make(map[string]any)
	require.NoError(l.t, json.Unmarshal(data, &input))
	maps.Copy(input, members)
	data, err = json.Marshal(input)
	require.NoError(l.t, err)
	require.NoError(l.t, head.Update(l.t.Context(), func() (*snapshot.Draft, error) {
		change := snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: data}
		return &snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{change}}, AtMs: s.Now().UnixMilli(), Subject: "forged"}, nil
	}))
	require.NoError(l.t, s.Close())
}

func TestAnUndoOfALandingObeysNoLaterRecord(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "9", "nine")
		l.Git("branch", "other", l.Git("rev-list", "--all", "--max-parents=0", "-1"))
		if kind.IsJJ() {
			l.JJ("git", "import", "--quiet")
		}
		before := l.stand()
		ran := filepath.Join(t.TempDir(), "ran")
		program := filepath.Join(t.TempDir(), "program")
		repotest.WriteProgram(t, program, "#!/bin/sh\ntouch "+ran+"\n")
		head := l.revision("other")
		if !kind.IsJJ() {
			head = l.revision("HEAD")
		}
		records := map[string]map[string]any{
			"an option of jj": {"changeId": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", "parents": []string{
				"--config=signing.behavior='force'", "--config=signing.backend='gpg'", "--config=signing.backends.gpg.program='" + program + "'", "root()",
			}},
			"a branch":       {"mode": "branch", "branch": "other", "commit": l.revision("other"), "bookmark": "other"},
			"other commits":  {"mode": "commit", "commit": head, "head": l.revision("other"), "commits": []string{l.revision("other")}},
			"nothing landed": {"landed": []any{}},
		}
		for name, members := range records {
			run := strings.TrimSpace(l.must("land", "r", "--quiet"))
			l.forge(run, members)
			l.must("undo", "--yes")
			assert.Equal(t, before, l.stand(), name)
			assert.NoFileExists(t, ran)
		}
	})
}

func TestALandingChecksThePathsOfABranch(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		repo.Damaged() // the frames have trees that fsck refuses
		l := newLanding(t, kind, repo, "9", "nine")
		blob := l.GitInput("bad", "hash-object", "-w", "--stdin")
		tree := l.GitInput("100644 blob "+blob+"\tfile\n", "mktree")
		before := l.stand()
		for _, bad := range []string{
			"040000 tree " + tree + "\t.git\n", "040000 tree " + tree + "\t.GIT\n", "040000 tree " + tree + "\tgit~1\n", "040000 tree " + tree + "\t..\n",
			"040000 tree " + tree + "\t.jj\n", "120000 blob " + blob + "\t.gitmodules\n",
			"100644 blob " + blob + "\tname\n100755 blob " + blob + "\tname\n",
		} {
			l.forgeFiles("r", bad)
			for _, args := range [][]string{{"land", "r", "--branch", "topic"}, {"land", "r", "--commit"}} {
				status, out := l.call(args...)
				assert.NotZero(t, status, "%v %q: %s", args, bad, out)
				assert.NotContains(t, out, "internal error", "%v %q", args, bad)
				assert.Equal(t, before, l.stand(), "%v %q", args, bad)
			}
		}
	})
}

// revision returns the id of a commit.
func (l *landing) revision(name string) string { return l.Git("rev-parse", name) }

// A file whose name the file system cannot have is in a frame that was made elsewhere. Nothing is half-written.
func TestALandingRefusesNamesThatAreTooLong(t *testing.T) {
	t.Parallel()
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		l := newLanding(t, kind, repo, "9", "nine")
		blob := l.GitInput("long", "hash-object", "-w", "--stdin")
		l.forgeFiles("r", "100644 blob "+blob+"\t"+strings.Repeat("n", 300)+"\n")
		before := l.stand()
		for _, args := range [][]string{{"land", "r"}, {"land", "r", "--commit"}} {
			status, out := l.call(args...)
			assert.NotZero(t, status, "%v: %s", args, out)
			assert.Contains(t, out, "nothing was landed: "+strings.Repeat("n", 300)+": file name too long\n", "%v", args)
			assert.Equal(t, before, l.stand(), "%v", args)
		}
	})
}
