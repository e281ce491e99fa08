package blame_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/blame"
)

// long makes a file of 10,000 lines that 1,000 frames of a run have changed, ten lines each. The branch main has landed the run in one commit,
// and the branch commits has a commit in place of each frame.
func long(b testing.TB) (w *world, asCommits *version) {
	b.Helper()
	w = newWorld(b, 1)
	w.commit("grown", w.lines(10_000))
	w.begin()
	c := w.runs[0]
	lines := w.main.lines
	asCommits = w.main
	for range 1000 {
		lines = slices.Clone(lines)
		for range 5 {
			at := w.rnd.IntN(len(lines) - 2)
			lines = slices.Replace(lines, at, at+2, w.lines(2)...)
		}
		w.append(c, lines, c.bases[0], nil)
		asCommits = w.commitOn("as a commit", lines, asCommits)
	}
	w.commit("Smithers-Frame: run-0:1000", lines)
	w.repo.Git("update-ref", "refs/heads/main", w.main.commit)
	w.repo.Git("update-ref", "refs/heads/commits", asCommits.commit)
	return w, asCommits
}

// BenchmarkBlame blames a landed run, and with git alone the same history as commits, by turns.
func BenchmarkBlame(b *testing.B) {
	w, asCommits := long(b)
	var took [2]time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := blame.NewReader(w.s).File(b.Context(), blame.Query{Path: path, Revision: w.main.commit})
		require.NoError(b, err)
		took[0] += time.Since(start)
		start = time.Now()
		cmd := exec.CommandContext(b.Context(), "git", "blame", "-M", "--porcelain", asCommits.commit, "--", path) //nolint:gosec // our own commit
		cmd.Dir, cmd.Env = w.repo.Dir, w.repo.Env
		_, err = cmd.Output()
		require.NoError(b, err)
		took[1] += time.Since(start)
	}
	b.ReportMetric(took[0].Seconds()*1000/float64(b.N), "blame-ms")
	b.ReportMetric(took[1].Seconds()*1000/float64(b.N), "git-ms")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "times-git")
}
