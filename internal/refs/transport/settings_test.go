package transport_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// What users set for their own pushes and fetches does not reach ours: each setting would
// make ours fail, or move what is not theirs to move.
func TestSettingsForTheUsersOwnPushesDoNotReachOurs(t *testing.T) {
	t.Parallel()
	for _, setting := range [][]string{
		{"remote.origin.mirror", "true"},
		{"remote.origin.fetch", "+refs/*:refs/*"},
		{"remote.origin.push", "+refs/*:refs/*"},
		{"push.followTags", "true"},
		{"push.gpgSign", "true"},
		{"push.pushOption", "ci.skip"},
		{"push.recurseSubmodules", "only"},
		{"push.useForceIfIncludes", "true"},
		{"color.ui", "always"},
		{"color.push", "always"},
	} {
		t.Run(setting[0], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			w.Git("config", "--add", setting[0], setting[1])
			w.Git("tag", "-a", "-m", "v1", "v1", w.commits[0].String())
			name := refstest.Tip(t, "run")
			// The tip here is ahead of what is pushed, as that of a run that goes on is.
			w.Git("update-ref", string(name), w.commits[2].String())
			to := open(t, w.Repo, nil)

			outcomes, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[1])})
			require.NoError(t, err)
			assert.Equal(t, []transport.Status{transport.Moved}, statuses(outcomes))
			assert.Equal(t, string(name), w.origin.Git("for-each-ref", "--format=%(refname)"), "nothing else went there")
			assert.Equal(t, w.commits[2], has(t, w.Repo)[name], "the ref here is as it was")

			outcomes, err = to.Push(t.Context(), "origin", []transport.Move{{Name: name, How: transport.Delete, Old: w.commits[1]}})
			require.NoError(t, err)
			assert.Equal(t, []transport.Status{transport.Moved}, statuses(outcomes))
			assert.Equal(t, map[refs.Name]objstore.ID{name: w.commits[2]}, has(t, w.Repo))
		})
	}
}

func TestSettingsForTheUsersOwnFetchesDoNotReachOurs(t *testing.T) {
	t.Parallel()
	for _, setting := range [][]string{
		{"fetch.prune", "true"},
		{"remote.origin.prune", "true"},
		{"remote.origin.mirror", "true"},
		{"fetch.pruneTags", "true"},
		{"remote.origin.fetch", "+refs/*:refs/*"},
		{"remote.origin.tagOpt", "--tags"},
		{"fetch.recurseSubmodules", "true"},
		{"fetch.writeCommitGraph", "true"},
		{"gc.auto", "1"},
		{"fetch.all", "true"},
	} {
		t.Run(setting[0], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:refs/smithers/_tip/a", "refs/heads/main:refs/heads/main")
			w.origin.Git("tag", "-a", "-m", "v1", "v1", w.commits[0].String())
			colleague := w.colleague(t)
			colleague.Git("config", "--add", setting[0], setting[1])
			mine := colleague.Git("commit-tree", "-m", "mine", colleague.GitInput("", "mktree"))
			colleague.Git("update-ref", "refs/smithers/_tip/mine", mine)
			colleague.Git("tag", "mine", mine)

			require.NoError(t, open(t, colleague, nil).Fetch(t.Context(), "origin", []transport.Spec{allTips, allGone}, true))

			assert.Equal(t, "refs/smithers-remote/origin/a\nrefs/smithers/_tip/mine\nrefs/tags/mine",
				colleague.Git("for-each-ref", "--format=%(refname)"))
			for _, file := range []string{"FETCH_HEAD", "objects/info/commit-graphs", "gc.pid"} {
				assert.NoFileExists(t, filepath.Join(colleague.GitDir, file))
			}
			loose, err := filepath.Glob(filepath.Join(colleague.GitDir, "objects", "??"))
			require.NoError(t, err)
			assert.LessOrEqual(t, len(loose), 2, "what came is in a pack, beside the two objects that were there")
		})
	}
}

func TestNoHookOfThisRepositoryRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	ran := filepath.Join(t.TempDir(), "ran")
	hooks := filepath.Join(w.GitDir, "hooks")
	require.NoError(t, os.MkdirAll(hooks, 0o777))
	for _, hook := range []string{"pre-push", "reference-transaction", "post-checkout"} {
		repotest.WriteProgram(t, filepath.Join(hooks, hook), "#!/bin/sh\necho "+hook+" >>"+ran+"\nexit 1\n")
	}
	both := open(t, w.Repo, nil)

	outcomes, err := both.Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[1])})
	require.NoError(t, err)
	assert.Equal(t, 1, count(outcomes, transport.Moved))
	require.NoError(t, both.Fetch(t.Context(), "origin", []transport.Spec{allTips}, true))

	assert.NoFileExists(t, ran)
	assert.Equal(t, w.commits[1], has(t, w.Repo)[remoteTip(t, "run")])
}

// receive.denyDeletes and receive.denyNonFastForwards are about branches.
func TestAServerThatDeniesDeletionsLetsRunsBeDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.origin.Git("config", "receive.denyDeletes", "true")
	w.origin.Git("config", "receive.denyNonFastForwards", "true")
	to := open(t, w.Repo, nil)
	_, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[1])})
	require.NoError(t, err)

	outcomes, err := to.Push(t.Context(), "origin", []transport.Move{{Name: refstest.Tip(t, "run"), How: transport.Delete, Old: w.commits[1]}})

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved}, statuses(outcomes))
	assert.Empty(t, has(t, w.origin))
}

func TestARemoteWithTwoPlacesToPushToHasBothOrSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	second := refstest.New(t, repotest.Bare)
	for _, url := range []string{w.origin.Dir, second.Dir} {
		w.Git("remote", "set-url", "--add", "--push", "origin", url)
	}
	to := open(t, w.Repo, nil)
	outcomes, err := to.Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[0])})
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved}, statuses(outcomes))
	assert.Equal(t, has(t, w.origin), has(t, second))

	second.Git("update-ref", "refs/smithers/_tip/run", w.commits[0].String())
	second.Git("config", "transfer.hideRefs", "refs/smithers")
	outcomes, err = to.Push(t.Context(), "origin", []transport.Move{tip(t, "run", w.commits[1])})
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Refused}, statuses(outcomes))
}

// The same path means the same to git in a working copy as to ours.
func TestARelativePathOfARemoteIsThatOfTheWorkingCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	linked := filepath.Join(filepath.Dir(w.Dir), "linked")
	w.Git("worktree", "add", "--quiet", "--detach", linked)
	relative, err := filepath.Rel(w.Dir, w.origin.Dir)
	require.NoError(t, err)
	w.Git("remote", "add", "near", relative)
	inLinked := *w.Repo
	inLinked.Dir = linked
	for _, repo := range []*repotest.Repo{w.Repo, &inLinked} {
		to := open(t, repo, nil)
		for _, remote := range []string{"near", relative} {
			_, err := to.Push(t.Context(), remote, []transport.Move{tip(t, "run", w.commits[0])})
			require.NoError(t, err)
			found, err := to.List(t.Context(), remote, "refs/smithers/")
			require.NoError(t, err)
			assert.Equal(t, []refs.Ref{{Name: refstest.Tip(t, "run"), ID: w.commits[0]}}, found)
		}
	}
}
