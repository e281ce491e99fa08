package main

import (
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
)

// BenchmarkLand lands a run that changed 1,000 files of 10,000, by turns with git's own merge-tree --write-tree and read-tree -m
// -u of the same: the wall time and the CPU time of the processes. The branch has changed 100 of the files elsewhere.
func BenchmarkLand(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "git-smithers")
	build := exec.CommandContext(b.Context(), "go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	repo := repotest.New(b, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_WORKTREE=all")
	name := func(i int) string { return fmt.Sprintf("d%02d/e%02d/f%d", i%20, i/20%10, i) }
	content := func(first, last string) string { return first + "\n" + strings.Repeat("line\n", 40) + last + "\n" }
	for i := range 10_000 {
		repo.Write(name(i), content(fmt.Sprint("first ", i), "last"))
	}
	// The run moves its changes to their places.
	for i := range 1000 {
		repo.Write("changed/"+name(i*10), content(fmt.Sprint("first ", i*10), "landed"))
	}
	repo.Write(".gitignore", "/changed/\n")
	repo.Write("flow.yaml", "name: flow\ntasks:\n  - {id: one, run: \"cp -r changed/* .\"}\n")
	repo.Git("add", "--all")
	repo.Git("commit", "--quiet", "--message=many")
	run := func(args ...string) (out string, took, cpu time.Duration) {
		cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = repo.Dir, repo.Env
		began := time.Now()
		text, err := cmd.Output()
		took = time.Since(began)
		require.NoError(b, err, "%v: %s", args, text)
		return strings.TrimSpace(string(text)), took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	run(binary, "run", "flow.yaml", "--run-id", "r", "--quiet")
	repo.Git("commit", "--quiet", "--all", "--message=theirs")
	repo.Git("branch", "theirs")
	repo.Git("reset", "--quiet", "--hard", "HEAD~1")
	for i := range 100 {
		repo.Write(name(i*100), content("moved", "last"))
	}
	repo.Git("commit", "--quiet", "--all", "--message=moved")
	clean := func() {
		repo.Git("reset", "--quiet", "--hard")
		repo.Git("status", "--porcelain")
	}
	var ours, gits, ourCPU, gitCPU []time.Duration
	for b.Loop() {
		clean()
		tree, merged, mergeCPU := run("git", "merge-tree", "--write-tree", "HEAD", "theirs")
		_, switched, switchCPU := run("git", "read-tree", "-m", "-u", "HEAD", tree)
		gits, gitCPU = append(gits, merged+switched), append(gitCPU, mergeCPU+switchCPU)
		want := repo.Git("write-tree")
		clean()
		_, landed, cpu := run(binary, "land", "r", "--quiet")
		ours, ourCPU = append(ours, landed), append(ourCPU, cpu)
		require.Equal(b, want, repo.Git("write-tree"))
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(ours), "land-ms")
	b.ReportMetric(median(gits), "git-ms")
	b.ReportMetric(median(ours)/median(gits), "ratio")
	b.ReportMetric(median(ourCPU), "land-cpu-ms")
	b.ReportMetric(median(gitCPU), "git-cpu-ms")
	b.ReportMetric(median(ourCPU)/median(gitCPU), "cpu-ratio")
}
