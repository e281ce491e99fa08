package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The whole process, from exec to exit, in a repository of 1,000 runs of 100 frames.
func BenchmarkProcess(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "git-smithers")
	build := exec.CommandContext(b.Context(), "go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	dir, env := crowdedRepo(b, 1000, 100)
	require.NoError(b, process(dir, env, binary, "index", "rebuild").Run())
	for _, c := range []struct {
		name string
		args []string
	}{
		{"version", []string{"version"}},
		{"timeline", []string{"timeline", "run-0500", "--json"}},
		{"show", []string{"show", "run-0500:50", "--json"}},
		{"runs", []string{"runs", "--json"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var samples []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := process(dir, env, binary, c.args...).Run(); err != nil {
					b.Fatal(err)
				}
				samples = append(samples, time.Since(start))
			}
			slices.Sort(samples)
			b.ReportMetric(float64(samples[len(samples)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(samples[len(samples)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func process(dir string, env []string, binary string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), binary, args...)
	cmd.Dir, cmd.Env = dir, env
	return cmd
}

// crowdedRepo makes a repository of many runs.
func crowdedRepo(b *testing.B, runs, frames int) (dir string, env []string) {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "crowded-")
	require.NoError(b, err)
	env = repotest.Env(dir)
	require.NoError(b, process(dir, env, "git", "init", "--quiet", dir).Run())
	crowd(b, dir, runs, frames, false)
	return dir, env
}

// crowd gives a repository runs. It writes a hundred runs a pack and all refs at once, as
// they are after sealing and packing; appending each frame by itself would take minutes.
// Sealed runs have a tip and no frame refs. It is for a repository without packed refs.
func crowd(b *testing.B, dir string, runs, frames int, sealed bool) {
	b.Helper()
	store, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repotest.ObjectFormat()),
		ObjectsDir: filepath.Join(dir, ".git/objects"), TempDir: filepath.Join(dir, ".git/smithers/tmp"), Fsync: objstore.Relaxed,
	})
	require.NoError(b, err)
	var lines []string
	batch := store.Begin()
	for i := range runs {
		refs := appendRun(b, batch, fmt.Sprintf("run-%04d", i), frames)
		if sealed {
			refs = refs[len(refs)-1:]
		}
		lines = append(lines, refs...)
		if i%100 == 99 || i == runs-1 {
			require.NoError(b, batch.Commit(context.Background(), func() error { return nil }))
			batch = store.Begin()
		}
	}
	require.NoError(b, store.Close())
	slices.SortFunc(lines, func(x, y string) int { return strings.Compare(x[41:], y[41:]) })
	var packed bytes.Buffer
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, line := range lines {
		packed.WriteString(line + "\n")
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, ".git/packed-refs"), packed.Bytes(), 0o600))
}

// appendRun adds the entries of one run to a batch and returns its refs as packed-refs has them.
func appendRun(b *testing.B, batch *objstore.Batch, id string, frames int) []string {
	b.Helper()
	cache := snapshot.NewFrameCache(1)
	var lines []string
	var entry *snapshot.Entry
	for frame := range frames {
		node := snapshot.EncodeNode(snapshot.Node{NodeID: fmt.Sprintf("task-%d", frame%10), State: snapshot.NodeFinished})
		next, err := snapshot.Append(batch, cache, entry, snapshot.Draft{
			Frame: &snapshot.FrameDraft{State: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: node.Key, Value: node.Value}}, Silent: true},
			AtMs:  1_767_000_000_000 + int64(frame)*1000, Subject: "task finished",
			Run: func(row *snapshot.Run) {
				row.ID, row.Workflow, row.Status = id, "bench", snapshot.RunRunning
			},
		})
		require.NoError(b, err)
		entry = next
		name, err := refs.Frame(id, int64(frame))
		require.NoError(b, err)
		lines = append(lines, entry.ID.String()+" "+string(name))
	}
	tip, err := refs.Tip(id)
	require.NoError(b, err)
	return append(lines, entry.ID.String()+" "+string(tip))
}
