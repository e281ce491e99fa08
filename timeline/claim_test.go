package timeline_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/owner"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// watch is a clock that stands still until it is set.
type watch struct {
	mu sync.Mutex
	at time.Time
}

func newWatch() *watch { return &watch{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (w *watch) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watch) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// openWith opens the history of a repository with a clock.
func openWith(t testing.TB, repo *repotest.Repo, now func() time.Time) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: now,
		Warn: func(err error) { t.Logf("warning: %v", err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		requireHealthy(t, repo)
	})
	return s
}

func running(t testing.TB, s *timeline.Store, id string) *timeline.Head {
	t.Helper()
	head, err := create(t.Context(), s, snapshot.Run{ID: id, Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	return head
}

func takeClaim(t testing.TB, head *timeline.Head, req claim.Request) *claim.Claim {
	t.Helper()
	c, err := claim.Take(t.Context(), head, req)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Release(context.Background())) })
	return c
}

// claimFiles are the names of the files of a run's claims; nil where there is no folder.
func claimFiles(t testing.TB, repo *repotest.Repo, component string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(repo.GitDir, "smithers", "claims", component))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
		return nil
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestAClaimMakesTheRunThisProcesss(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := openWith(t, repo, newWatch().now)
	head := running(t, s, "run")
	before := head.Entry()

	c := takeClaim(t, head, claim.Request{})
	row := head.Row()
	assert.EqualValues(t, 1, row.Epoch)
	assert.Regexp(t, "^[0-9a-f]{16}$", row.Owner)
	assert.Equal(t, []string{row.Owner}, claimFiles(t, repo, "run"))
	assert.Equal(t, owner.Owner{
		Token: row.Owner, Live: true, Here: true, PID: os.Getpid(), BeatAt: newWatch().now(),
	}, inUTC(s.Owner(row)))
	assert.Equal(t, snapshot.NoFrame, head.Entry().Frame)
	assert.Equal(t, before.ID, head.Entry().Parent)

	require.NoError(t, c.Release(t.Context()))
	require.NoError(t, c.Release(t.Context()), "again")
	released := head.Row()
	assert.EqualValues(t, 1, released.Epoch)
	assert.Empty(t, released.Owner)
	assert.Equal(t, snapshot.RunRunning, released.Status)
	assert.Equal(t, []string{}, claimFiles(t, repo, "run"), "the run was executed here and has not ended")
	assert.Equal(t, "released\nclaimed", repo.Git("log", "-2", "--format=%s", "refs/smithers/_tip/run"))
}

func inUTC(owner owner.Owner) owner.Owner {
	owner.BeatAt = owner.BeatAt.UTC()
	return owner
}

func TestARunThatALiveProcessOwnsIsNotClaimed(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	owner := takeClaim(t, running(t, openWith(t, repo, newWatch().now), "run"), claim.Request{})

	other := headOf(t, openWith(t, repo, newWatch().now), "run")
	tip := other.Entry().ID
	_, err := claim.Take(t.Context(), other, claim.Request{})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
	assert.Contains(t, err.Error(), strconv.Itoa(os.Getpid()))
	assert.Equal(t, tip.String(), repo.Git("rev-parse", "refs/smithers/_tip/run"))
	select {
	case <-owner.Lost():
		t.Error("the claim was lost")
	default:
	}
}

func TestALiveProcessIsTakenOverByForce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_STALE_AFTER=300ms")
	head := running(t, openWith(t, repo, newWatch().now), "run")
	before := takeClaim(t, head, claim.Request{})
	old := head.Row()

	other := headOf(t, openWith(t, repo, newWatch().now), "run")
	takeClaim(t, other, claim.Request{Force: true})
	assert.EqualValues(t, 2, other.Row().Epoch)
	assert.NotEqual(t, old.Owner, other.Row().Owner)
	assert.Equal(t, "taken over from a live process", repo.Git("log", "-1", "--format=%s", "refs/smithers/_tip/run"))
	assert.Equal(t, []string{other.Row().Owner}, claimFiles(t, repo, "run"))

	select {
	case <-before.Lost():
	case <-time.After(time.Minute):
		t.Fatal("it never learned that it had lost the run")
	}
	assert.Equal(t, fault.Conflict, fault.CodeOf(head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})))
	tip := other.Entry().ID
	require.NoError(t, before.Release(t.Context()))
	assert.Equal(t, tip.String(), repo.Git("rev-parse", "refs/smithers/_tip/run"), "there is nothing left to release")
	assert.Equal(t, []string{other.Row().Owner}, claimFiles(t, repo, "run"))
}

func TestAProcessWithoutSignsOfLifeIsTakenOver(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, openWith(t, repo, newWatch().now), "run")
	takeClaim(t, head, claim.Request{})

	later := newWatch()
	s := openWith(t, repo, later.now)
	other := headOf(t, s, "run")
	later.pass(30 * time.Second)
	assert.True(t, s.Owner(other.Row()).Live)
	later.pass(time.Millisecond)
	owner := s.Owner(other.Row())
	assert.False(t, owner.Live)
	assert.True(t, owner.Here)
	assert.Equal(t, os.Getpid(), owner.PID)

	takeClaim(t, other, claim.Request{})
	assert.Equal(t, "taken over from a process that is gone", repo.Git("log", "-1", "--format=%s", "refs/smithers/_tip/run"))
	assert.Equal(t, fault.Conflict, fault.CodeOf(head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})))
}

func TestHowLongAProcessMayBeSilentIsASetting(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "smithers.staleAfter", "2m")
	takeClaim(t, running(t, openWith(t, repo, newWatch().now), "run"), claim.Request{})
	later := newWatch()
	s := openWith(t, repo, later.now)
	row := headOf(t, s, "run").Row()
	later.pass(2 * time.Minute)
	assert.True(t, s.Owner(row).Live)
	later.pass(time.Millisecond)
	assert.False(t, s.Owner(row).Live)
}

func TestABeatIsASignOfLife(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_STALE_AFTER=300ms")
	w := newWatch()
	s := openWith(t, repo, w.now)
	head := running(t, s, "run")
	takeClaim(t, head, claim.Request{})
	w.pass(time.Hour)
	require.Eventually(t, func() bool { return s.Owner(head.Row()).Live }, time.Minute, time.Millisecond)
}

// claimUntilKilled claims the run, says so, and does nothing more.
func claimUntilKilled() {
	s := openHere(nil)
	head, err := s.Head(context.Background(), "run")
	must(err)
	_, err = claim.Take(context.Background(), head, claim.Request{})
	must(err)
	fmt.Println(head.Row().Owner)
	select {}
}

func TestAProcessThatWasKilledIsTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	running(t, s, "run")
	cmd := again(t.Context(), repo, "claim")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	token, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	head := headOf(t, s, "run")
	require.Equal(t, strings.TrimSpace(token), head.Row().Owner)
	assert.Equal(t, cmd.Process.Pid, s.Owner(head.Row()).PID)
	_, err = claim.Take(t.Context(), head, claim.Request{})
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.False(t, s.Owner(head.Row()).Live)
	takeClaim(t, head, claim.Request{})
	assert.Equal(t, []string{head.Row().Owner}, claimFiles(t, repo, "run"))
}

func TestAClaimOnATipThatMovedLeavesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := running(t, s, "moved")
	require.NoError(t, headOf(t, s, "moved").Append(t.Context(), snapshot.Draft{Subject: "of another"}))
	_, err := claim.Take(t.Context(), head, claim.Request{})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Nil(t, claimFiles(t, repo, "moved"), "nothing says that the run was executed here")
	assert.Equal(t, "of another", repo.Git("log", "-1", "--format=%s", "refs/smithers/_tip/moved"))
}

func TestOfManyWhoClaimARunOneHasIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	w := newWatch()
	running(t, openWith(t, repo, w.now), "run")
	const many = 16
	claims := make([]*claim.Claim, many)
	var heads []*timeline.Head
	for range many {
		heads = append(heads, headOf(t, openWith(t, repo, w.now), "run"))
	}
	var all sync.WaitGroup
	for i, head := range heads {
		all.Go(func() {
			c, err := claim.Take(context.Background(), head, claim.Request{})
			if err == nil {
				claims[i] = c
				return
			}
			assert.Contains(t, []fault.Code{fault.RunOwned, fault.Conflict}, fault.CodeOf(err), "%v", err)
		})
	}
	all.Wait()
	claims = slices.DeleteFunc(claims, func(c *claim.Claim) bool { return c == nil })
	require.Len(t, claims, 1)
	row := headOf(t, openWith(t, repo, w.now), "run").Row()
	assert.EqualValues(t, 1, row.Epoch)
	assert.Equal(t, []string{row.Owner}, claimFiles(t, repo, "run"))
	require.NoError(t, claims[0].Release(t.Context()))
}

func TestAnOwnerFromElsewhereIsNotLiveHere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	for _, token := range []string{"0123456789abcdef", "../../../HEAD", "x"} {
		row := snapshot.Run{ID: "run", Owner: token}
		assert.Equal(t, owner.Owner{Token: token, Elsewhere: true}, s.Owner(row))
	}
	assert.Equal(t, owner.Owner{}, s.Owner(snapshot.Run{ID: "run"}))
}

func TestARunThatHasEndedIsNoLongerExecutedHere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "ended")
	c := takeClaim(t, head, claim.Request{})
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Run: func(row *snapshot.Run) {
		row.Status, row.Owner = snapshot.RunFinished, ""
	}}))
	tip := head.Entry().ID
	require.NoError(t, c.Release(t.Context()))
	assert.Equal(t, tip, head.Entry().ID, "the last frame has given the run back already")
	assert.Nil(t, claimFiles(t, repo, "ended"))
}

func TestARunIsReleasedAlsoAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	head := running(t, open(t, repo), "run")
	c := takeClaim(t, head, claim.Request{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c.Release(ctx))
	assert.Empty(t, head.Row().Owner)
}

func headOf(t testing.TB, s *timeline.Store, run string) *timeline.Head {
	t.Helper()
	head, err := s.Head(context.Background(), run)
	require.NoError(t, err)
	return head
}
