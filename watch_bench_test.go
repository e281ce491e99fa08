package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// What an engine's commit takes, alone and while a watch captures what it commits. The engine rests
// between two commits, as one does whose tasks take longer than 20 ms.
func BenchmarkCommitBesideAWatch(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%v", watched), func(b *testing.B) {
			repo := repotest.New(b, repotest.Commit)
			repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0")
			database := filepath.Join(repo.Dir, "smithers.db")
			if watched {
				watch := process(repo.Dir, repo.Env, "git-smithers", "watch", "smithers.db", "--json")
				out := new(output)
				watch.Stdout, watch.Stderr = out, os.Stderr
				require.NoError(b, watch.Start())
				defer func() {
					require.NoError(b, watch.Process.Signal(os.Interrupt))
					_ = watch.Wait()
				}()
				require.Eventually(b, func() bool { return strings.Contains(out.String(), "watching") }, patience, time.Millisecond)
			}
			var took []time.Duration
			for b.Loop() {
				took = append(took, commits(b, database)...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/commit-p50")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs/commit-p95")
		})
	}
}

// commits writes the frames of a run to a database, and tells what each commit took.
func commits(b *testing.B, database string) (took []time.Duration) {
	b.Helper()
	for _, name := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(database + name)
	}
	engine, err := sourcetest.Begin(context.Background(), "testdata/smithers/jj-pristine-31frames.db", database)
	require.NoError(b, err)
	for frame := int64(1); frame <= 31; frame++ {
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		require.NoError(b, engine.Frame(context.Background(), "run-j", frame))
		took = append(took, time.Since(began))
	}
	require.NoError(b, engine.Close())
	return took
}
