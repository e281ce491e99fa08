package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// originOf returns the origin of the newest entry of a run.
func originOf(t *testing.T, s *timeline.Store, run string) timeline.Origin {
	t.Helper()
	head, err := s.Head(context.Background(), run)
	require.NoError(t, err)
	origin, err := s.Origin(head.Entry())
	require.NoError(t, err)
	return origin
}

// takeRefs copies all runs of one repository to another by plain git, as a user may.
func takeRefs(t *testing.T, to, from *repotest.Repo) {
	t.Helper()
	to.Git("fetch", "--quiet", from.Dir, "+refs/smithers/*:refs/smithers/*")
}

func TestARunIsRecordedWhereItBeganUpToWhatCameFromElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mine, theirs := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	s, other := open(t, mine), open(t, theirs)
	head := startRun(t, s, "run")
	shoot(t, s, head, "second")
	own := head.Entry()
	assert.Equal(t, timeline.Recorded, originOf(t, s, "run"))

	// Elsewhere it is a stranger's, whatever is appended to it there.
	takeRefs(t, theirs, mine)
	assert.Equal(t, timeline.Stranger, originOf(t, other, "run"))
	there, err := other.Head(ctx, "run")
	require.NoError(t, err)
	shoot(t, other, there, "theirs")
	assert.Equal(t, timeline.Stranger, originOf(t, other, "run"))

	// What was appended there is a stranger's here, and so is what follows and every fork of it. What was before is not.
	takeRefs(t, mine, theirs)
	assert.Equal(t, timeline.Stranger, originOf(t, s, "run"))
	require.NoError(t, head.Refresh(ctx))
	require.NoError(t, head.Append(ctx, snapshot.Draft{Subject: "a note"}))
	assert.Equal(t, timeline.Stranger, originOf(t, s, "run"))
	_, err = s.Fork(ctx, timeline.ForkRequest{From: "run", RunID: "their-fork"})
	require.NoError(t, err)
	assert.Equal(t, timeline.Stranger, originOf(t, s, "their-fork"))
	_, err = s.Fork(ctx, timeline.ForkRequest{From: "run:1", RunID: "my-fork"})
	require.NoError(t, err)
	assert.Equal(t, timeline.Recorded, originOf(t, s, "my-fork"))
	origin, err := s.Origin(own)
	require.NoError(t, err)
	assert.Equal(t, timeline.Recorded, origin)

	// A user may agree: to the run as it is, and not to what comes from elsewhere later.
	require.NoError(t, s.Agree(head.Entry()))
	shoot(t, s, head, "mine again")
	assert.Equal(t, timeline.Agreed, originOf(t, s, "run"))
	_, err = s.Fork(ctx, timeline.ForkRequest{From: "run", RunID: "agreed-fork"})
	require.NoError(t, err)
	assert.Equal(t, timeline.Agreed, originOf(t, s, "agreed-fork"))
	takeRefs(t, theirs, mine)
	require.NoError(t, there.Refresh(ctx))
	shoot(t, other, there, "theirs again")
	takeRefs(t, mine, theirs)
	assert.Equal(t, timeline.Stranger, originOf(t, s, "run"))
}

// Nobody knows when a process is killed: at every reading of the clock and every failpoint of a claim, whatever is on disk says that the run is a
// stranger's.
func TestAStrangersRunStaysOneWhenItsClaimIsKilled(t *testing.T) {
	t.Parallel()
	mine, theirs := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	startRun(t, open(t, theirs), "run")
	takeRefs(t, mine, theirs)
	looker, looks, claimed := open(t, mine), 0, 0
	entry := headOf(t, looker, "run").Entry()
	look := func(string) error {
		if looks++; len(claimFiles(t, mine, "run")) > 0 {
			claimed++
		}
		origin, err := looker.Origin(entry)
		assert.Equal(t, timeline.Stranger, origin, "at look %d", looks)
		return err
	}
	now := clock()
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: mine.Dir, Env: mine.Env, Failpoint: look,
		Now: func() time.Time { assert.NoError(t, look("")); return now() },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	looks = 0
	takeClaim(t, headOf(t, s, "run"), claim.Request{})
	assert.Greater(t, claimed, 2, "%d looks", looks)
	assert.Equal(t, timeline.Stranger, originOf(t, s, "run"))
}

// Without the note of where a run comes from, a claim would be taken for that of an earlier version.
func TestARunIsNotClaimedIfItsOriginCannotBeNoted(t *testing.T) {
	t.Parallel()
	mine, theirs := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	startRun(t, open(t, theirs), "run")
	takeRefs(t, mine, theirs)
	s := open(t, mine)
	require.NoError(t, os.MkdirAll(s.Private(), 0o777))
	require.NoError(t, os.WriteFile(s.InPlace("recorded"), nil, 0o666))
	_, err := claim.Take(t.Context(), headOf(t, s, "run"), claim.Request{})
	require.Error(t, err)
	assert.Nil(t, claimFiles(t, mine, "run"))
}

func TestALineThatAPowerCutLeftHalfWrittenSpoilsNoOther(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	file, err := os.OpenFile(filepath.Join(s.InPlace("recorded"), "run"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("\n0123456789")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	shoot(t, s, head, "second")
	assert.Equal(t, timeline.Recorded, originOf(t, s, "run"))
}

func TestARunThatAnEarlierVersionExecutedHereIsRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	startRun(t, s, "other")
	require.NoError(t, os.RemoveAll(s.InPlace("recorded")))
	require.NoError(t, os.MkdirAll(filepath.Join(s.Private(), "claims", "run"), 0o777))
	require.NoError(t, head.Append(ctx, snapshot.Draft{Subject: "a decision"}))
	assert.Equal(t, timeline.Recorded, originOf(t, s, "run"))
	assert.Equal(t, timeline.Stranger, originOf(t, s, "other"))
}

func TestInACopyOfTheRepositoryEveryRunIsAStrangersUntilAUserAgrees(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startRun(t, s, "run")
	require.NoError(t, os.MkdirAll(filepath.Join(s.Private(), "claims", "run"), 0o777)) // the original has executed it

	copyOf := func(dir string) *timeline.Store {
		to := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
		out, err := timeline.Open(t.Context(), timeline.Options{Dir: to, Env: repo.Env, Now: clock()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, out.Close()) })
		return out
	}
	other := copyOf(repo.Dir)
	assert.Equal(t, timeline.Stranger, originOf(t, other, "run"))
	there, err := other.Head(t.Context(), "run")
	require.NoError(t, err)
	shoot(t, other, there, "appended in the copy")
	assert.Equal(t, timeline.Stranger, originOf(t, other, "run"))
	startRun(t, other, "begun in the copy")
	assert.Equal(t, timeline.Recorded, originOf(t, other, "begun in the copy"))
	require.NoError(t, other.Agree(there.Entry()))
	assert.Equal(t, timeline.Agreed, originOf(t, other, "run"), "one yes is enough")

	// The original asks nothing, and takes over no yes of a copy.
	shoot(t, s, head, "appended in the original")
	assert.Equal(t, timeline.Recorded, originOf(t, s, "run"))
	require.NoError(t, s.Agree(head.Entry()))
	assert.Equal(t, timeline.Stranger, originOf(t, copyOf(filepath.Dir(filepath.Dir(other.Private()))), "run"))
}

func TestEntriesThatBecomeVisibleTogetherAreRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	b, err := timeline.NewSeries(ctx, s, snapshot.Run{ID: "run", Status: snapshot.RunFinished}, nil)
	require.NoError(t, err)
	defer b.Close()
	var entries []*snapshot.Entry
	for _, subject := range []string{"one", "two", "three"} {
		entry, err := b.Append(ctx, snapshot.Draft{Subject: subject, Frame: new(snapshot.FrameDraft)})
		require.NoError(t, err)
		entries = append(entries, entry)
	}
	_, err = b.Commit(ctx)
	require.NoError(t, err)
	for _, entry := range entries {
		origin, err := s.Origin(entry)
		require.NoError(t, err)
		assert.Equal(t, timeline.Recorded, origin)
	}
}
