package timeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// benchRepo makes a repository that stays when the benchmark ends: deleting one
// makes ext4 slow for the next. `make bench` puts them all in one folder.
func benchRepo(b *testing.B) (dir string, env []string) {
	b.Helper()
	base, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "bench-")
	require.NoError(b, err)
	env = repotest.Env(base)
	cmd := exec.CommandContext(b.Context(), "git", "init", "--quiet", base)
	cmd.Env = env
	require.NoError(b, cmd.Run())
	return base, env
}

// policies runs a benchmark with and without fsync.
func policies(b *testing.B, run func(b *testing.B, fsync string)) {
	b.Helper()
	b.Run("relaxed", func(b *testing.B) { run(b, "GIT_SMITHERS_FSYNC=0") })
	b.Run("durable", func(b *testing.B) { run(b, "GIT_SMITHERS_FSYNC=1") })
}

func benchStore(b *testing.B, dir string, env []string) *timeline.Store {
	b.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: dir, Env: env, Now: time.Now, Warn: func(err error) { b.Log(err) },
	})
	require.NoError(b, err)
	return s
}

// text is n bytes of prose-like text: words drawn from a list of a thousand.
func text(r *rand.Rand, n int) string {
	var out strings.Builder
	for out.Len() < n {
		word := r.IntN(1000)
		fmt.Fprintf(&out, "%c%c%c%d ", 'a'+word%26, 'a'+word/26%26, 'e', word)
	}
	return out.String()[:n]
}

// result is an output of about 500 bytes.
func result(r *rand.Rand, i int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"summary":%q,"score":%d}`, text(r, 470), i))
}

func nodeID(i int) string { return fmt.Sprintf("task-%05d", i) }

// wide makes a run of n nodes that have an output each.
func wide(b *testing.B, s *timeline.Store, n int) *timeline.Head {
	b.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var changes []snapshot.Change
	for i := range n {
		changes = append(changes, touch(b, r, i, 0)...)
	}
	head, err := s.Create(context.Background(), snapshot.Run{ID: "wide", Status: snapshot.RunRunning}, snapshot.Draft{Frame: &snapshot.FrameDraft{State: changes}})
	require.NoError(b, err)
	return head
}

// touch is the changes of one node and its output.
func touch(b *testing.B, r *rand.Rand, i, attempt int) []snapshot.Change {
	b.Helper()
	row := snapshot.EncodeNode(snapshot.Node{NodeID: nodeID(i), State: snapshot.NodeFinished, OutputTable: "results", LastAttempt: &attempt})
	return []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value},
		{Op: snapshot.OpSet, Collection: snapshot.OutputCollection("results"), Key: row.Key, Value: result(r, attempt)},
	}
}

// percentiles reports the median and the 99th percentile of samples.
func percentiles(b *testing.B, samples []time.Duration) {
	b.Helper()
	slices.Sort(samples)
	b.ReportMetric(float64(samples[len(samples)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(samples[len(samples)*99/100].Microseconds())/1000, "p99-ms")
}

// A capture of a change to one node and its output of 500 bytes.
func BenchmarkCapture(b *testing.B) {
	for _, nodes := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			policies(b, func(b *testing.B, fsync string) {
				dir, env := benchRepo(b)
				s := benchStore(b, dir, append(env, fsync))
				head := wide(b, s, nodes)
				r := rand.New(rand.NewPCG(2, 3))
				var samples []time.Duration
				for i := 1; b.Loop(); i++ {
					changes := touch(b, r, r.IntN(nodes), i)
					start := time.Now()
					if err := head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: changes}}); err != nil {
						b.Fatal(err)
					}
					samples = append(samples, time.Since(start))
				}
				percentiles(b, samples)
				require.NoError(b, s.Close())
			})
		})
	}
}

// What one fsync of 4 KB costs on this disk, to read the durable figures by.
func BenchmarkFsync(b *testing.B) {
	dir, _ := benchRepo(b)
	f, err := os.Create(filepath.Join(dir, "probe"))
	require.NoError(b, err)
	block := make([]byte, 4096)
	var samples []time.Duration
	for i := int64(0); b.Loop(); i++ {
		start := time.Now()
		if _, err := f.WriteAt(block, i*4096); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		samples = append(samples, time.Since(start))
	}
	percentiles(b, samples)
	require.NoError(b, f.Close())
}

// stored is the apparent size of what the history of a repository takes: packs,
// refs, everything but the index.
func stored(b *testing.B, dir string) int64 {
	b.Helper()
	var sum int64
	for _, part := range []string{"objects", "refs/smithers", "packed-refs"} {
		err := filepath.WalkDir(filepath.Join(dir, ".git", part), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil //nolint:nilerr // a part that is not there takes no space
			}
			info, err := d.Info()
			if err == nil {
				sum += info.Size()
			}
			return err
		})
		require.NoError(b, err)
	}
	return sum
}

// What 1,000 frames take on disk, after our own merging and before any git gc.
func BenchmarkDisk(b *testing.B) {
	const frames = 1000
	for _, nodes := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				dir, env := benchRepo(b)
				s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
				head := wide(b, s, nodes)
				require.NoError(b, s.Close())
				before := stored(b, dir)
				s = benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
				head, err := s.Head(context.Background(), head.Row().ID)
				require.NoError(b, err)
				r := rand.New(rand.NewPCG(4, 5))
				for i := range frames {
					require.NoError(b, head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: touch(b, r, r.IntN(nodes), i)}}))
				}
				require.NoError(b, s.Close())
				b.ReportMetric(float64(stored(b, dir)-before)/frames, "B/frame")
			}
		})
	}
}

// A loop that adds one output of 500 bytes in each of 1,000 iterations: what it takes on disk,
// what it takes when it is sealed, and the pack that another machine's fetch of that brings.
func BenchmarkLoop(b *testing.B) {
	for b.Loop() {
		dir, env := benchRepo(b)
		s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
		head, err := s.Create(context.Background(), snapshot.Run{ID: "loop", Status: snapshot.RunRunning}, snapshot.Draft{})
		require.NoError(b, err)
		r := rand.New(rand.NewPCG(6, 7))
		for i := range 1000 {
			row := snapshot.EncodeNode(snapshot.Node{NodeID: "draft", Iteration: i, State: snapshot.NodeFinished, OutputTable: "results"})
			loop := snapshot.EncodeLoop(snapshot.Loop{RalphID: "review", Iteration: i})
			require.NoError(b, head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
				{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: row.Key, Value: row.Value},
				{Op: snapshot.OpSet, Collection: snapshot.CollectionLoops, Key: loop.Key, Value: loop.Value},
				{Op: snapshot.OpSet, Collection: snapshot.OutputCollection("results"), Key: row.Key, Value: result(r, i)},
			}}}))
		}
		require.NoError(b, s.Close())
		b.ReportMetric(float64(stored(b, dir))/1e6, "MB")
		s = benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
		_, err = timeline.Seal(context.Background(), s, "loop")
		require.NoError(b, err)
		require.NoError(b, s.Close())
		b.ReportMetric(float64(stored(b, dir))/1e6, "sealed-MB")
		b.ReportMetric(float64(fetched(b, dir, env, "refs/smithers/_tip/loop"))/1e6, "fetched-MB")
	}
}

// fetched is the size of the pack by which a new repository fetches a ref.
func fetched(b *testing.B, from string, env []string, ref string) (size int64) {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "fetched-")
	require.NoError(b, err)
	for _, args := range [][]string{{"init", "--quiet", dir}, {"-C", dir, "fetch", "--quiet", "file://" + from, ref}} {
		cmd := exec.CommandContext(b.Context(), "git", args...)
		cmd.Env = env
		require.NoError(b, cmd.Run())
	}
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	require.NoError(b, err)
	for _, pack := range packs {
		info, err := os.Stat(pack)
		require.NoError(b, err)
		size += info.Size()
	}
	return size
}

// A transcript of 1 MB that grows by 1 KB a frame.
func BenchmarkGrowingValue(b *testing.B) {
	const frames = 200
	for b.Loop() {
		dir, env := benchRepo(b)
		s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
		r := rand.New(rand.NewPCG(8, 9))
		transcript := text(r, 1<<20)
		head, err := s.Create(context.Background(), snapshot.Run{ID: "grow", Status: snapshot.RunRunning},
			snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("chat", `"`+transcript+`"`)}}})
		require.NoError(b, err)
		require.NoError(b, s.Close())
		before := stored(b, dir)
		s = benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
		head, err = s.Head(context.Background(), head.Row().ID)
		require.NoError(b, err)
		for range frames {
			transcript += text(r, 1<<10)
			require.NoError(b, head.Append(context.Background(),
				snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("chat", `"`+transcript+`"`)}}}))
		}
		require.NoError(b, s.Close())
		b.ReportMetric(float64(stored(b, dir)-before)/frames, "B/frame")
	}
}

// Loading a snapshot of 1,000 nodes with a store that was just opened.
func BenchmarkLoad(b *testing.B) {
	dir, env := benchRepo(b)
	s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
	head := wide(b, s, 1000)
	r := rand.New(rand.NewPCG(10, 11))
	for i := range 200 {
		require.NoError(b, head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: touch(b, r, r.IntN(1000), i)}}))
	}
	require.NoError(b, s.Close())
	for _, c := range []struct {
		name    string
		outputs bool
	}{{"nodes", false}, {"everything", true}} {
		b.Run(c.name, func(b *testing.B) {
			var samples []time.Duration
			for b.Loop() {
				b.StopTimer()
				s := benchStore(b, dir, env)
				b.StartTimer()
				start := time.Now()
				readFrame(b, s, "wide:200", c.outputs)
				samples = append(samples, time.Since(start))
				b.StopTimer()
				require.NoError(b, s.Close())
				b.StartTimer()
			}
			percentiles(b, samples)
		})
	}
	b.Run("next", func(b *testing.B) {
		s := benchStore(b, dir, env)
		state := readFrame(b, s, "wide:100", true)
		for i := 1; b.Loop(); i++ {
			state = advance(b, s, state, fmt.Sprintf("wide:%d", 100+i%100))
		}
		require.NoError(b, s.Close())
	})
}

// advance loads another frame by what differs from one that was read.
func advance(b *testing.B, s *timeline.Store, state *snapshot.State, address string) *snapshot.State {
	b.Helper()
	loaded, err := s.Load(context.Background(), address)
	require.NoError(b, err)
	next, err := loaded.Entry.State()
	require.NoError(b, err)
	changed := 0
	for _, pair := range [][2]*page.Collection{
		{state.Nodes(), next.Nodes()}, {state.Outputs("results"), next.Outputs("results")},
	} {
		for _, err := range page.Diff(pair[0], pair[1]) {
			require.NoError(b, err)
			changed++
		}
	}
	require.Positive(b, changed)
	return next
}

func readFrame(b *testing.B, s *timeline.Store, address string, outputs bool) *snapshot.State {
	b.Helper()
	loaded, err := s.Load(context.Background(), address)
	require.NoError(b, err)
	state, err := loaded.Entry.State()
	require.NoError(b, err)
	rows := 0
	for row, err := range state.Nodes().Rows() {
		if err == nil {
			_, err = snapshot.DecodeNode(row)
		}
		if err != nil {
			b.Fatal(err)
		}
		rows++
	}
	if outputs {
		for _, err := range state.Outputs("results").Rows() {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	require.GreaterOrEqual(b, rows, 1000)
	return state
}

// The difference of two adjacent frames.
func BenchmarkDiff(b *testing.B) {
	for _, nodes := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			dir, env := benchRepo(b)
			s := benchStore(b, dir, append(env, "GIT_SMITHERS_FSYNC=0"))
			head := wide(b, s, nodes)
			r := rand.New(rand.NewPCG(12, 13))
			before := head.State()
			require.NoError(b, head.Append(context.Background(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: touch(b, r, nodes/2, 1)}}))
			for b.Loop() {
				if _, err := diff.States(before, head.State()); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, s.Close())
		})
	}
}

// Forking a run of 1,000 nodes.
func BenchmarkFork(b *testing.B) {
	for _, nodes := range []int{10, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			policies(b, func(b *testing.B, fsync string) {
				dir, env := benchRepo(b)
				s := benchStore(b, dir, append(env, fsync))
				wide(b, s, nodes)
				var samples []time.Duration
				for i := 0; b.Loop(); i++ {
					start := time.Now()
					if _, err := s.Fork(context.Background(), timeline.ForkRequest{From: "wide:0", RunID: fmt.Sprintf("f%d", i)}); err != nil {
						b.Fatal(err)
					}
					samples = append(samples, time.Since(start))
				}
				percentiles(b, samples)
				require.NoError(b, s.Close())
			})
		})
	}
}
