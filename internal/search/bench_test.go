package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// library makes texts of words as people and programs write them: a few are in most texts, and most are rare.
type library struct {
	r    *rand.Rand
	zipf *rand.Zipf
	made int64 // bytes
}

// text returns a text of about n bytes.
func (l *library) text(n int) string {
	var out strings.Builder
	for out.Len() < n {
		word := l.zipf.Uint64()
		for w := word + 7; w > 0; w /= 19 {
			out.WriteByte("etaoinsrhldcumfpgwy"[w%19])
			out.WriteByte("aeiou"[w%5])
		}
		if out.WriteByte(" \n"[min(l.r.IntN(12)/11, 1)]); word%61 == 0 {
			fmt.Fprintf(&out, "%s%d ", []string{"0x", "id-", "v", "line "}[word%4], l.r.IntN(1_000_000))
		}
	}
	l.made += int64(out.Len())
	return out.String()
}

// benchFrames appends frames to runs of 500 frames each: every frame has an output, every third one a log, and every tenth one a new version of a file.
func benchFrames(b *testing.B, store *timeline.Store, frames int) *library {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	l := &library{r: r, zipf: rand.NewZipf(r, 1.15, 4, 200_000)}
	ctx := context.Background()
	for run := 0; run*500 < frames; run++ {
		head, err := store.Create(ctx, snapshot.Run{ID: fmt.Sprintf("run-%05d", run), Workflow: "bench", Status: snapshot.RunRunning}, snapshot.Draft{Frame: &snapshot.FrameDraft{}})
		require.NoError(b, err)
		files := make(map[int]string)
		for i := range min(500, frames-run*500) {
			text := l.text(500)
			if i == 250 {
				text += fmt.Sprintf(" needle%d connection refused", run)
			}
			value, err := json.Marshal(map[string]string{"summary": text})
			require.NoError(b, err)
			node := snapshot.NewNode(fmt.Sprintf("task-%d", i%20), snapshot.NodeFinished)
			node.OutputTable = "results"
			d := snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(node), snapshot.SetOutput("results", node.NodeID, 0, value)}}, Subject: "a frame"}
			d.Events = []snapshot.Event{{Type: "NodeFinished", AtMs: store.Now().UnixMilli(), Payload: json.RawMessage(`{"nodeId":"` + node.NodeID + `"}`)}}
			if i%3 == 0 {
				d.Journal = []snapshot.Change{snapshot.SetRow(snapshot.CollectionLogs, snapshot.EncodeLog(node.NodeID, 0, i+1, l.text(3000)))}
			}
			if i%10 == 0 {
				files[i%50] = l.text(6000)
				write := func(o objstore.Writer) objstore.ID {
					var entries []objstore.TreeEntry
					for n := range 50 {
						if text, ok := files[n]; ok {
							entries = append(entries, objstore.TreeEntry{Name: fmt.Sprintf("f%02d", n), Mode: objstore.ModeFile, ID: o.Add(objstore.Blob, []byte(text))})
						}
					}
					return o.Add(objstore.Tree, objstore.EncodeTree(entries))
				}
				d.VCS = &snapshot.VCS{Type: snapshot.VCSGit, CommitID: "0123abcd", Scope: snapshot.ScopeAll, Tree: write(store.Objects().Begin())}
				d.Objects = func(o objstore.Writer) error { write(o); return nil }
			}
			require.NoError(b, head.Append(ctx, d))
		}
	}
	return l
}

// BenchmarkSearch makes SEARCH_FRAMES frames, 10,000 without the variable, and measures the first index, its size, and searches.
func BenchmarkSearch(b *testing.B) {
	frames, err := strconv.Atoi(os.Getenv("SEARCH_FRAMES"))
	if err != nil {
		frames = 10_000
	}
	base, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "bench-")
	require.NoError(b, err)
	env := append(repotest.Env(base), "GIT_SMITHERS_FSYNC=0")
	cmd := exec.CommandContext(b.Context(), "git", "init", "--quiet", base)
	cmd.Env = env
	require.NoError(b, cmd.Run())
	store, err := timeline.Open(b.Context(), timeline.Options{Dir: base, Env: env, Now: time.Now})
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	l := benchFrames(b, store, frames)
	x, err := search.Open(b.Context(), store)
	require.NoError(b, err)
	began := time.Now()
	_, err = x.Sync(b.Context(), nil)
	require.NoError(b, err)
	took := time.Since(began)
	require.NoError(b, x.Close()) // the log becomes part of the file
	x, err = search.Open(b.Context(), store)
	require.NoError(b, err)
	size := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(filepath.Join(store.Private(), search.FileName+suffix)); err == nil {
			size += info.Size()
		}
	}
	b.Logf("%d frames: %d kB of text, an index of %d kB in %v", frames, l.made>>10, size>>10, took)
	defer func() { require.NoError(b, x.Close()) }()
	for name, q := range map[string]search.Query{
		"a rare word":           {Texts: []string{fmt.Sprintf("needle%d", frames/1000)}, Limit: 20},
		"two words":             {Texts: []string{"connection", "refused"}, Limit: 20},
		"a phrase":              {Texts: []string{"connection refused"}, Limit: 20},
		"the commonest word":    {Texts: []string{"ca"}, Limit: 20},
		"a part of code":        {Texts: []string{"dataro"}, Kinds: []search.Kind{search.Code}, Limit: 20},
		"nothing":               {Texts: []string{"xyzzy"}, Limit: 20},
		"an expression":         {Regex: "needle[0-9]+ connection", Limit: 20},
		"an expression in code": {Regex: "0x[0-9]{3} data", Kinds: []search.Kind{search.Code}, Limit: 20},
	} {
		b.Run(name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				_, err := x.Sync(b.Context(), nil)
				require.NoError(b, err)
				found = len(hits(b, x, q))
			}
			b.ReportMetric(float64(found), "hits")
		})
	}
}
