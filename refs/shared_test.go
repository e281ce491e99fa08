package refs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// sharedNames are the names of a run beside its tip and frames.
func sharedNames(t require.TestingT, remote, run string) []refs.Name {
	var names []refs.Name
	for _, name := range []func() (refs.Name, error){
		func() (refs.Name, error) { return refs.Gone(run) },
		func() (refs.Name, error) { return refs.Held(run) },
		func() (refs.Name, error) { return refs.Remote(remote, run) },
		func() (refs.Name, error) { return refs.RemoteGone(remote, run) },
	} {
		made, err := name()
		require.NoError(t, err)
		names = append(names, made)
	}
	return names
}

func TestSharedNamesSayWhatTheyAreOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []refs.Name{
		"refs/smithers/_gone/%52un", "refs/smithers/_held/%52un", "refs/smithers-remote/origin/%52un", "refs/smithers-remote/origin/_gone/%52un",
	}, sharedNames(t, "origin", "Run"))
	_, err := refs.Gone("")
	assert.ErrorIs(t, err, refs.ErrMalformed)
	for _, name := range sharedNames(t, "origin", "run") {
		_, _, err := name.Split()
		assert.ErrorIs(t, err, refs.ErrMalformed, "it is neither a tip nor a frame")
	}
}

// A run may be called as our own folders are.
func TestSharedNamesOfDifferentRunsAreBesideEachOther(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	db := refstest.Open(t, repo, nil)
	id := refstest.Objects(t, repo, 1)[0]
	var updates []refs.Update
	runs := []string{"_gone", "_held", "_tip", "a", "A", "a/b", strings.Repeat("long", 60)}
	for _, run := range runs {
		for _, name := range append(sharedNames(t, "origin", run), refstest.Tip(t, run), refstest.Frame(t, run, 0)) {
			updates = append(updates, refs.Update{Name: name, New: id})
		}
	}
	require.NoError(t, db.Apply(t.Context(), updates...))
	assert.Len(t, strings.Split(repo.Git("for-each-ref", "--format=%(refname)"), "\n"), len(runs)*6)
}

func TestNamesOfNoRemoteAndNoRunAreMalformed(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	db := refstest.Open(t, repo, nil)
	id := refstest.Objects(t, repo, 1)[0]
	for _, name := range []refs.Name{
		"refs/smithers-remote/origin", "refs/smithers-remote/origin/", "refs/smithers-remote/Origin/run", "refs/smithers-remote/origin/Run",
		"refs/smithers-remote/_gone/run", "refs/smithers-remote/origin/_gone", "refs/smithers-remote/origin/_gone/_gone/run",
		"refs/smithers-remote/origin/run/1", "refs/smithers/_gone/Run", "refs/smithers/_gone/", "refs/smithers/_held/run/1", "refs/heads/main",
	} {
		assert.ErrorIs(t, db.Apply(t.Context(), refs.Update{Name: name, New: id}), refs.ErrMalformed, name)
		_, err := db.Resolve(t.Context(), name)
		assert.ErrorIs(t, err, refs.ErrMalformed, name)
	}
	assert.Empty(t, repo.Git("for-each-ref"))
}

func TestARemoteThatIsNoNameIsKeptAsAHash(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "origin", refs.RemoteComponent("origin", true))
	assert.Equal(t, "team%2fbackup", refs.RemoteComponent("team/backup", true))
	for _, remote := range []string{"https://user:secret@example.invalid/x.git", "/srv/x.git", "origin"} {
		component := refs.RemoteComponent(remote, false)
		assert.Regexp(t, "^_h-[0-9a-f]{64}$", component)
		_, err := refs.Remote(component, "run")
		assert.NoError(t, err)
	}
	assert.NotEqual(t, refs.RemoteComponent("/srv/x.git", false), refs.RemoteComponent("/srv/y.git", false))
}

func TestRemoteComponentsCanBePartsOfNames(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	db := refstest.Open(t, repo, nil)
	rapid.Check(t, func(t *rapid.T) {
		remote := refs.RemoteComponent(rapid.String().Draw(t, "remote"), rapid.Bool().Draw(t, "configured"))
		for _, name := range sharedNames(t, remote, ids().Draw(t, "run")) {
			_, err := db.Resolve(t.Context(), name)
			require.ErrorIs(t, err, refs.ErrNotFound, name)
		}
	})
}

func TestSharedListsHoldWhatIsTheirs(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	db := refstest.Open(t, repo, nil)
	objects := refstest.Objects(t, repo, 6)
	var updates []refs.Update
	for i, name := range append(sharedNames(t, "origin", "a"), sharedNames(t, "origin2", "b")[2:]...) {
		updates = append(updates, refs.Update{Name: name, New: objects[i]})
	}
	require.NoError(t, db.Apply(t.Context(), updates...))
	// What is not ours is left out.
	for _, name := range []string{"refs/smithers-remote/origin/X", "refs/smithers-remote/origin/y/z", "refs/smithers/_gone/X"} {
		repo.Git("update-ref", name, objects[0].String())
	}
	check := func(what string) {
		t.Helper()
		for _, list := range []struct {
			name string
			of   func() ([]refs.TipRef, error)
			want refs.TipRef
		}{
			{"gone", func() ([]refs.TipRef, error) { return db.Gone(t.Context()) }, refs.TipRef{Component: "a", ID: objects[0]}},
			{"held", func() ([]refs.TipRef, error) { return db.Held(t.Context()) }, refs.TipRef{Component: "a", ID: objects[1]}},
			{"tips of origin", func() ([]refs.TipRef, error) { return db.RemoteTips(t.Context(), "origin") }, refs.TipRef{Component: "a", ID: objects[2]}},
			{"gone of origin", func() ([]refs.TipRef, error) { return db.RemoteGone(t.Context(), "origin") }, refs.TipRef{Component: "a", ID: objects[3]}},
			{"tips of origin2", func() ([]refs.TipRef, error) { return db.RemoteTips(t.Context(), "origin2") }, refs.TipRef{Component: "b", ID: objects[4]}},
			{"gone of origin2", func() ([]refs.TipRef, error) { return db.RemoteGone(t.Context(), "origin2") }, refs.TipRef{Component: "b", ID: objects[5]}},
		} {
			got, err := list.of()
			require.NoError(t, err, "%s %s", list.name, what)
			assert.Equal(t, []refs.TipRef{list.want}, got, "%s %s", list.name, what)
		}
		tips, err := db.Tips(t.Context())
		require.NoError(t, err)
		assert.Empty(t, tips, "they are no tips of runs here")
	}
	check("in files")
	repo.Git("pack-refs", "--all", "--prune")
	check("packed")
	none, err := db.RemoteTips(t.Context(), "nowhere")
	require.NoError(t, err)
	assert.Empty(t, none)

	for i := range updates {
		updates[i].Old, updates[i].New = updates[i].New, objstore.ID{}
	}
	require.NoError(t, db.Apply(t.Context(), updates...))
	left, err := db.Gone(t.Context())
	require.NoError(t, err)
	assert.Empty(t, left)
}
