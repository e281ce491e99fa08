package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Verifying a run of 1,000 frames, each with an attempt, its log and two events.
func BenchmarkVerify(b *testing.B) {
	dir, env := benchRepo(b)
	s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
	head := wide(b, s, 100)
	r := rand.New(rand.NewPCG(14, 15))
	for i := range 1000 {
		row := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: nodeID(i), Attempt: 1, State: snapshot.AttemptFinished, StartedAtMs: 1})
		log := snapshot.EncodeLog(nodeID(i), 0, 1, text(r, 200))
		require.NoError(b, head.Append(context.Background(), snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: touch(b, r, r.IntN(100), i)},
			Journal: []snapshot.Change{
				{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value},
				{Op: snapshot.OpSet, Collection: snapshot.CollectionLogs, Key: log.Key, Value: log.Value},
			},
			Events: []snapshot.Event{{Type: "NodeStarted", AtMs: 1}, {Type: "NodeFinished", AtMs: 2}},
		}))
	}
	require.NoError(b, s.Close())
	for b.Loop() {
		s := benchStore(b, dir, env)
		report, err := verify.Runs(context.Background(), s)
		require.NoError(b, err)
		require.Empty(b, report.Problems)
		require.NoError(b, s.Close())
	}
}

// Verifying a run by the number of signals that it has received, each in an entry of its own: as `verify` does
// it, and as `fetch` does it.
func BenchmarkVerifySignals(b *testing.B) {
	for _, signals := range []int{1250, 2500, 5000} {
		dir, env := benchRepo(b)
		env = append(env, "GIT_SMITHERS_FSYNC=0")
		s := benchStore(b, dir, env)
		signalled(b, s, 0, signals)
		require.NoError(b, s.Close())
		b.Run(fmt.Sprintf("verify/signals=%d", signals), func(b *testing.B) {
			for b.Loop() {
				s := benchStore(b, dir, env)
				report, err := verify.Runs(context.Background(), s)
				require.NoError(b, err)
				require.Empty(b, report.Problems)
				require.Equal(b, 1+signals, report.Entries)
				require.NoError(b, s.Close())
			}
		})
		b.Run(fmt.Sprintf("fetch/signals=%d", signals), func(b *testing.B) {
			for b.Loop() {
				s := benchStore(b, dir, env)
				head, err := s.Head(context.Background(), "run")
				require.NoError(b, err)
				problems, err := verify.Entries(context.Background(), s, "run", head.Entry().ID, objstore.ID{}, nil)
				require.NoError(b, err)
				require.Empty(b, problems)
				require.NoError(b, s.Close())
			}
		})
	}
}
