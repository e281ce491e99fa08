package share_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// give takes the tip of a run to the origin.
func (c *clone) give(run string) { c.Git("push", "--quiet", "origin", "refs/smithers/_tip/"+run) }

// fetchAll fetches all runs.
func (c *clone) fetchAll() map[string]share.FetchedRun {
	c.t.Helper()
	fetched, err := c.sharer.Fetch(context.Background(), share.FetchRequest{Remote: "origin"})
	require.NoError(c.t, err)
	runs := make(map[string]share.FetchedRun)
	for _, run := range fetched.Runs {
		runs[run.RunID] = run
	}
	return runs
}

// open is the head of a run.
func (c *clone) open(run string) *timeline.Head {
	c.t.Helper()
	head, err := c.store.Head(context.Background(), run)
	require.NoError(c.t, err)
	return head
}

// commits are those of a run's frames, by number, as its timeline has them.
func (c *clone) commits(run string) []string {
	c.t.Helper()
	tree, err := list.Timeline(context.Background(), c.store, run, list.TreeOptions{All: true})
	require.NoError(c.t, err)
	commits := make([]string, len(tree.Timeline.Frames))
	for i, f := range tree.Timeline.Frames {
		require.EqualValues(c.t, i, f.FrameNo)
		commits[i] = f.Commit
	}
	return commits
}

// divide has two clones go on with one run, and the second fetch what the first pushed. It
// is the fork that this makes of what the second had added.
func divide(t *testing.T, alice, bob *clone, run string, hers, his int) (fork string) {
	t.Helper()
	alice.goOn(alice.open(run), hers)
	alice.give(run)
	bob.goOn(bob.open(run), his)
	taken := bob.fetchAll()[run]
	require.Equal(t, share.StateSplit, taken.State)
	return taken.Fork
}

func TestWhatWasAddedInTwoPlacesIsKeptInBoth(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 3)
	alice.give("triage")
	bob.fetchAll()
	common := bob.commits("triage")
	bob.goOn(bob.open("triage"), 2)
	his := bob.commits("triage")
	tip := bob.open("triage").Entry().ID.String()

	fork := divide(t, alice, bob, "triage", 4, 0)
	assert.Equal(t, "triage-"+tip[:8], fork)
	assert.Equal(t, alice.commits("triage"), bob.commits("triage"), "the run is what the other made of it")
	assert.Equal(t, common, bob.commits("triage")[:4])
	assert.Equal(t, his[3:], bob.commits(fork), "and the fork begins with the last common frame")

	refs := refsOf(bob.Repo, "refs/smithers/"+fork+"/")
	for i, commit := range his[3:] {
		assert.Equal(t, commit, refs[fmt.Sprintf("refs/smithers/%s/%d", fork, i)])
	}
	for i, commit := range alice.commits("triage") {
		assert.Equal(t, commit, refsOf(bob.Repo, "refs/smithers/triage/")[fmt.Sprintf("refs/smithers/triage/%d", i)])
	}
	assert.Empty(t, bob.fetchAll(), "and there it ends")

	bob.give(fork)
	assert.Equal(t, share.StateCreated, alice.fetchAll()[fork].State)
	assert.Equal(t, his[3:], alice.commits(fork))
}

func TestAForkThatWasSplitOffIsARunLikeAnyOther(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.attempts(alice.play("triage", 1), "a") // frames 2 and 3
	alice.give("triage")
	bob.fetchAll()
	his := bob.open("triage")
	bob.arrive(his, "approved")
	bob.attempts(his, "b", "c") // 4 to 7
	bob.become(his, snapshot.RunFailed)
	fork := divide(t, alice, bob, "triage", 1, 0)

	ctx := t.Context()
	row := bob.open(fork).Row()
	assert.Equal(t, snapshot.RunFailed, row.Status)
	assert.EqualValues(t, 4, row.Frame)
	assert.Empty(t, row.Owner)
	assert.Equal(t, "triage", row.Parent.RunID)
	assert.EqualValues(t, 3, row.Parent.Frame)

	at, err := bob.store.Load(ctx, fork+":2")
	require.NoError(t, err)
	assert.Equal(t, fork, at.Entry.Run)
	assert.EqualValues(t, 2, at.Entry.Frame)
	bob.Git("update-ref", "-d", "refs/smithers/"+fork+"/2")
	again, err := bob.store.Load(ctx, fork+":2")
	require.NoError(t, err)
	assert.Equal(t, at.Entry.ID, again.Entry.ID)
	assert.Equal(t, at.Entry.Header, again.Entry.Header)

	assert.Equal(t, map[string]int64{"a::0::1": 3, "b::0::1": 2, "c::0::1": 4}, bob.framesOfAttempts(fork))
	assert.Equal(t, []string{"0 RunForked", "1 approved", "2 started b", "3 ended b", "4 started c", "5 ended c", "6 failed"}, bob.events(fork))
	ops, err := timeline.OpsOf(ctx, bob.store, fork)
	require.NoError(t, err)
	require.Len(t, ops, 1)
	assert.Equal(t, snapshot.OpFork, ops[0].Kind)
	_, err = travel.Undo(ctx, bob.store, travel.UndoRequest{Run: fork, NoFiles: true})
	assert.Equal(t, fault.UndoRefused, fault.CodeOf(err), "it has run")

	// Back to before an attempt of the extension, and then to one of before the fork.
	went, err := travel.Travel(ctx, bob.store, travel.Request{Run: fork, Node: "c", NoFiles: true})
	require.NoError(t, err)
	assert.Equal(t, timeline.Address{Run: fork, Frame: 2}, went.To)
	assert.Equal(t, []int64{3, 4}, went.Dropped)
	assert.EqualValues(t, 5, went.Frame)
	assert.Equal(t, map[string]int64{"a::0::1": 3, "b::0::1": 2, "c::0::1": 4}, bob.framesOfAttempts(fork))
	over, err := timeline.FindSteppedOver(ctx, bob.store, timeline.Address{Run: fork, Frame: 3})
	require.NoError(t, err)
	require.NotNil(t, over)
	assert.EqualValues(t, 5, over.Frame)
	went, err = travel.Travel(ctx, bob.store, travel.Request{Run: fork, Node: "a", NoFiles: true})
	require.NoError(t, err)
	assert.Equal(t, timeline.Address{Run: "triage", Frame: 1}, went.To)

	child := bob.fork(fork+":2", "child")
	assert.Equal(t, fork, child.Row().Parent.RunID)
	assert.EqualValues(t, 2, child.Row().Parent.Frame)
	assert.Equal(t, at.Entry.ID, child.Row().Parent.Commit)
	takeClaim, err := claim.Take(ctx, bob.open(fork), claim.Request{})
	require.NoError(t, err, "it can be executed")
	require.NoError(t, takeClaim.Release(ctx))
}

func TestForksOfWhatWasSplitOffStayWhereTheyWereMade(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 2)
	alice.give("triage")
	bob.fetchAll()
	bob.goOn(bob.open("triage"), 3)
	bob.fork("triage:1", "early")
	bob.fork("triage:4", "late")
	fork := divide(t, alice, bob, "triage", 5, 0)
	assert.Equal(t, map[string]int64{"early": 1, fork: 2}, bob.children("triage"))
	assert.Equal(t, map[string]int64{"late": 2}, bob.children(fork))

	bob.give(fork)
	bob.give("late")
	alice.fetchAll()
	assert.Equal(t, map[string]int64{fork: 2}, alice.children("triage"))
	assert.Equal(t, map[string]int64{"late": 2}, alice.children(fork))
	second := divide(t, alice, bob, fork, 1, 1)
	assert.Equal(t, map[string]int64{"late": 2, second: 3}, bob.children(fork))
}

func TestASplitIsSplitAgain(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 2)
	alice.give("triage")
	bob.fetchAll()
	his := bob.open("triage")
	bob.say(his, "one")
	bob.goOn(his, 2)
	bob.say(his, "two")
	first := divide(t, alice, bob, "triage", 1, 0)
	bob.give(first)
	alice.fetchAll()
	all := bob.commits(first)

	// The last frame that both have is one of the extension, and no entry of the fork's own.
	bob.say(bob.open(first), "three")
	second := divide(t, alice, bob, first, 2, 3)
	frames := bob.commits(second)
	assert.Equal(t, all[2], frames[0])
	assert.Len(t, frames, 4)
	assert.Equal(t, alice.commits(first), bob.commits(first))
	assert.Equal(t, []string{"0 RunForked", "1 two", "2 three"}, bob.events(second))

	// And now it is before the newest frame that was taken over.
	bob.give(second)
	alice.fetchAll()
	assert.Equal(t, frames, alice.commits(second))
	third := divide(t, alice, bob, second, 1, 1)
	assert.Equal(t, frames[3], bob.commits(third)[0])
	assert.Equal(t, map[string]int64{second: 2}, bob.children(first))
	assert.Equal(t, map[string]int64{third: 3}, bob.children(second))
}

func TestARunThatAProcessHereExecutesIsNotSplit(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 1)
	alice.give("triage")
	bob.fetchAll()
	alice.goOn(alice.open("triage"), 1)
	alice.give("triage")
	his := bob.open("triage")
	takeClaim, err := claim.Take(t.Context(), his, claim.Request{})
	require.NoError(t, err)
	bob.goOn(his, 1)
	before := refsOf(bob.Repo, "refs/smithers/")

	fetched, err := bob.sharer.Fetch(t.Context(), share.FetchRequest{Remote: "origin"})
	require.Error(t, err)
	require.Len(t, fetched.Runs, 1)
	assert.Equal(t, share.StateBusy, fetched.Runs[0].State)
	assert.Equal(t, before, refsOf(bob.Repo, "refs/smithers/"))
	require.NoError(t, takeClaim.Release(t.Context()))
	assert.Equal(t, share.StateSplit, bob.fetchAll()["triage"].State)
}

func TestAnUnrelatedHistoryIsTakenUnderAnotherID(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	bob.play("triage", 1)
	hers := alice.play("triage", 2)
	alice.say(hers, "hello")
	alice.give("triage")
	alice.play("single", 0)
	alice.give("single")
	taken := bob.fetchAll()
	assert.Equal(t, share.StateUnrelated, taken["triage"].State)

	as := func(run, id string) error {
		_, err := bob.sharer.Fetch(t.Context(), share.FetchRequest{Remote: "origin", Runs: []string{run}, As: id})
		return err
	}
	require.NoError(t, as("triage", "hers"))
	assert.Equal(t, alice.commits("triage"), bob.commits("hers"))
	assert.Equal(t, []string{"0 RunForked", "1 hello"}, bob.events("hers"))
	bob.goOn(bob.open("hers"), 1)
	assert.Len(t, bob.commits("hers"), 4)
	assert.Equal(t, fault.RunExists, fault.CodeOf(as("triage", "hers")))

	require.NoError(t, as("single", "alone"))
	assert.Equal(t, alice.commits("single"), bob.commits("alone"))
	assert.True(t, bob.open("alone").Row().Parent.Extension.IsZero(), "there is nothing to take over")
}

func TestASplitThatWasCutShortIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 2)
	alice.give("triage")
	bob.fetchAll()
	bob.goOn(bob.open("triage"), 2)
	fork := "triage-" + bob.open("triage").Entry().ID.String()[:8]
	his := bob.commits("triage")[2:]
	alice.goOn(alice.open("triage"), 3)
	alice.give("triage")
	before := refsOf(bob.Repo, "refs/")
	for stop := 1; ; stop++ {
		points := 0
		bob.reopenAt(func(point string) error { // from this point on nothing is written any more
			if strings.HasPrefix(point, "merge-") {
				return errCut // packs merge after the fetch, and a fetch does not fail with them
			}
			if points++; points >= stop {
				return errCut
			}
			return nil
		})
		_, err := bob.sharer.Fetch(t.Context(), share.FetchRequest{Remote: "origin"})
		bob.reopen()
		if points < stop {
			require.NoError(t, err)
			assert.Greater(t, stop, 4)
			break
		}
		require.ErrorIs(t, err, errCut)
		requireHealthy(t, bob.Repo)
		bob.fetchAll()
		assert.Equal(t, his, bob.commits(fork), stop)
		assert.Equal(t, alice.commits("triage"), bob.commits("triage"), stop)
		assert.Len(t, refsOf(bob.Repo, "refs/smithers/_tip/"), 2, stop)
		assert.Len(t, refsOf(bob.Repo, "refs/smithers/"+fork+"/"), 3, stop)
		bob.putRefs(before)
	}
}

func TestTheForkOfASplitHasAnotherIDWhereItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	alice, bob := newClone(t, origin), newClone(t, origin)
	alice.play("triage", 1)
	alice.give("triage")
	bob.fetchAll()
	bob.goOn(bob.open("triage"), 1)
	tip := bob.open("triage").Entry().ID.String()
	bob.play("triage-"+tip[:8], 1)
	assert.Equal(t, "triage-"+tip[:16], divide(t, alice, bob, "triage", 1, 0))
}

// errCut is what stops a write of a test.
var errCut = errors.New("the power is cut")

// reopenAt is reopen with a failpoint.
func (c *clone) reopenAt(failpoint func(string) error) {
	c.t.Helper()
	require.NoError(c.t, c.store.Close())
	store, err := timeline.Open(context.Background(), timeline.Options{Dir: c.Dir, Env: c.Env, Now: steppingClock(), Failpoint: failpoint})
	require.NoError(c.t, err)
	c.store, c.sharer = store, share.New(store, share.Options{})
}

// putRefs makes the refs of the repository what they were.
func (c *clone) putRefs(want map[string]string) {
	c.t.Helper()
	for name := range refsOf(c.Repo, "refs/") {
		if _, ok := want[name]; !ok {
			c.Git("update-ref", "-d", name)
		}
	}
	for name, id := range want {
		c.Git("update-ref", name, id)
	}
}

// say appends an entry that is no frame, with an event.
func (c *clone) say(head *timeline.Head, kind string) {
	c.t.Helper()
	require.NoError(c.t, head.Append(context.Background(), snapshot.Draft{Subject: kind, Events: []snapshot.Event{{Type: kind, AtMs: 1}}}))
}

// arrive appends an entry that changes the mailbox.
func (c *clone) arrive(head *timeline.Head, kind string) {
	c.t.Helper()
	row := snapshot.EncodeSignal(snapshot.Signal{Name: kind, ReceivedAtMs: 1, Payload: []byte("{}")})
	require.NoError(c.t, head.Append(context.Background(), snapshot.Draft{
		Subject: kind, Events: []snapshot.Event{{Type: kind, AtMs: 1}},
		Mailbox: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionSignals, Key: row.Key, Value: row.Value}},
	}))
}

// become gives a run a status.
func (c *clone) become(head *timeline.Head, status snapshot.RunStatus) {
	c.t.Helper()
	require.NoError(c.t, head.Append(context.Background(), snapshot.Draft{
		Subject: string(status), Events: []snapshot.Event{{Type: string(status), AtMs: 1}},
		Run: func(row *snapshot.Run) { row.Status, row.StartedAtMs = status, new(int64(1)) },
	}))
}

// attempts executes nodes one after the other, each with a frame where it starts and one
// where it ends.
func (c *clone) attempts(head *timeline.Head, nodes ...string) {
	c.t.Helper()
	for _, id := range nodes {
		for _, end := range []bool{false, true} {
			node := snapshot.Node{NodeID: id, State: snapshot.NodeInProgress, OutputTable: "results", LastAttempt: new(1)}
			attempt := snapshot.Attempt{NodeID: id, Attempt: 1, State: snapshot.AttemptInProgress, StartedAtMs: 1}
			what := "started " + id
			if end {
				what = "ended " + id
				node.State, attempt.State = snapshot.NodeFinished, snapshot.AttemptFinished
				attempt.Frame, attempt.FinishedAtMs = new(head.Row().Frame+1), new(int64(2))
			}
			row, journal := snapshot.EncodeNode(node), snapshot.EncodeAttempt(attempt)
			require.NoError(c.t, head.Append(context.Background(), snapshot.Draft{
				Frame:   &snapshot.FrameDraft{State: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value}}},
				Subject: what, Events: []snapshot.Event{{Type: what, AtMs: 1}},
				Journal: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: journal.Key, Value: journal.Value}},
			}))
		}
	}
}

// framesOfAttempts are the frames that the attempts of a run name.
func (c *clone) framesOfAttempts(run string) map[string]int64 {
	c.t.Helper()
	attempts, err := c.open(run).Entry().Attempts()
	require.NoError(c.t, err)
	out := make(map[string]int64)
	for row, err := range attempts.Rows() {
		require.NoError(c.t, err)
		a, err := snapshot.DecodeAttempt(row)
		require.NoError(c.t, err)
		require.NotNil(c.t, a.Frame)
		out[row.Key] = *a.Frame
	}
	return out
}

// events are the numbers and types of a run's events, but for those by which frames tell
// of themselves.
func (c *clone) events(run string) []string {
	c.t.Helper()
	index, err := c.store.Details(context.Background(), run)
	require.NoError(c.t, err)
	rows, err := index.Events(context.Background(), sqliteindex.EventQuery{RunID: run})
	require.NoError(c.t, err)
	var out []string
	for i, row := range rows {
		require.EqualValues(c.t, i, row.Seq, "none is missing, and none is twice")
		if row.Type != "SnapshotCaptured" {
			out = append(out, fmt.Sprintf("%d %s", len(out), row.Type))
		}
	}
	return out
}

// children are the forks in a run's timeline, and the frames at which they are.
func (c *clone) children(run string) map[string]int64 {
	c.t.Helper()
	tree, err := list.Timeline(context.Background(), c.store, run, list.TreeOptions{Tree: true})
	require.NoError(c.t, err)
	out := make(map[string]int64)
	for _, f := range tree.Timeline.Frames {
		for _, fork := range f.Forks {
			require.Equal(c.t, f.FrameNo, fork.ParentFrameNo)
			out[fork.RunID] = f.FrameNo
		}
	}
	require.Len(c.t, tree.Children, len(out))
	return out
}
