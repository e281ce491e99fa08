package share_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
)

// somebody works in a clone, and remembers every frame that was ever there.
type somebody struct {
	*clone

	random *rand.Rand
	frames map[string]bool // by commit
	splits int
}

// runs are the ids of the runs that are there.
func (s *somebody) runs() []string {
	s.t.Helper()
	list, err := list.Runs(s.t.Context(), s.store)
	require.NoError(s.t, err)
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.RunID
	}
	return ids
}

// step does something at random to a run, or shares all of them.
func (s *somebody) step(number int) {
	s.t.Helper()
	runs := s.runs()
	run := runs[s.random.IntN(len(runs))]
	if s.random.IntN(3) > 0 {
		run = runs[len(runs)-1-s.random.IntN(min(2, len(runs)))] // one of the oldest, at which they meet
	}
	switch s.random.IntN(8) {
	case 0, 1:
		s.goOn(s.open(run), 1+s.random.IntN(2))
	case 2:
		s.say(s.open(run), "something")
	case 3:
		head := s.open(run)
		require.NoError(s.t, head.Append(s.t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(s.random.Int64N(head.Row().Frame + 1))}}))
	case 4:
		s.fork(fmt.Sprintf("%s:%d", run, s.random.Int64N(s.open(run).Row().Frame+1)), fmt.Sprintf("fork-%d-%s", number, s.name()))
	case 5, 6:
		// What cannot be pushed is for a fetch to split.
		_, _ = s.sharer.Push(s.t.Context(), share.PushRequest{Remote: "origin"})
	case 7:
		for _, taken := range s.fetchAll() {
			if taken.State == share.StateSplit {
				s.splits++
			}
		}
	}
}

// remember checks that no frame is gone that was ever there.
func (s *somebody) remember() {
	s.t.Helper()
	now := make(map[string]bool)
	for _, run := range s.runs() {
		for _, commit := range s.commits(run) {
			now[commit] = true
		}
	}
	for commit := range s.frames {
		require.Contains(s.t, now, commit)
	}
	s.frames = now
}

func TestNoFrameIsLostWhateverTwoPeopleDo(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	random := rand.New(rand.NewPCG(5, 0)) //nolint:gosec // the same steps every time
	var both []*somebody
	for range 2 {
		both = append(both, &somebody{clone: newClone(t, origin), random: random})
	}
	both[0].play("triage", 2)
	both[0].give("triage")
	both[1].fetchAll()
	steps := 60
	if repotest.Soaks() {
		steps = 100
	}
	for number := range steps {
		s := both[random.IntN(2)]
		s.step(number)
		s.remember()
	}
	require.Positive(t, both[0].splits+both[1].splits, "and they did meet")
}
