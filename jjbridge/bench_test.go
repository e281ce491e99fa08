package jjbridge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// manyFiles is how many files the working copies of benchmarks have.
const manyFiles = 10_000

// withManyFiles is a repository whose working copy has manyFiles files, committed some time ago.
func withManyFiles(b *testing.B, kind repotest.Kind) *repotest.Repo {
	b.Helper()
	repo := repotest.NewKind(b, kind)
	repo.Git("config", "gc.auto", "0") // none in the background
	old := time.Now().Add(-time.Hour)
	for i := range manyFiles {
		name := fmt.Sprintf("pkg%02d/part%d/file%03d.go", i%50, i/50%10, i/500)
		repo.Write(name, fmt.Sprintf("package part\n\n// File %d of many.\nvar V%d = %d\n%s", i, i, i, strings.Repeat("// text\n", 20)))
		require.NoError(b, os.Chtimes(filepath.Join(repo.Dir, name), old, old))
	}
	if kind.IsJJ() {
		repo.JJ("commit", "--quiet", "--message=many")
	} else {
		repo.Git("add", "--all")
		repo.Git("commit", "--quiet", "--message=many")
	}
	repo.Git("gc", "--quiet")
	return repo
}

// BenchmarkCapture captures a working copy in which one file has changed. status-ms is
// what git status takes there, floor how many times as long the capture takes.
func BenchmarkCapture(b *testing.B) {
	for _, kind := range []repotest.Kind{repotest.Git, repotest.JJColocated} {
		b.Run(strings.ReplaceAll(string(kind), " ", "-"), func(b *testing.B) {
			repo := withManyFiles(b, kind)
			counted := countJJ(b, repo, kind)
			w := workspace(b, repo)
			one := func(i int) {
				repo.Write("pkg01/part1/file001.go", fmt.Sprintf("package part\n\nvar V = %d\n", i))
				c, err := w.Capture(b.Context(), jjbridge.CaptureOptions{})
				require.NoError(b, err)
				b.StopTimer()
				store(b, repo, c)
				b.StartTimer()
			}
			one(-1)
			before := counted()
			b.ResetTimer()
			for i := range b.N {
				one(i)
			}
			b.StopTimer()
			perOp := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(perOp.Microseconds())/1000, "ms/op")
			if kind.IsJJ() {
				b.ReportMetric(float64(counted()-before)/float64(b.N), "jj/op")
			}
			floor := status(b, repo)
			b.ReportMetric(float64(floor.Microseconds())/1000, "status-ms")
			b.ReportMetric(float64(perOp)/float64(floor), "floor")
		})
	}
}

// status is how long git status takes, one file being changed each time.
func status(b *testing.B, repo *repotest.Repo) time.Duration {
	b.Helper()
	var took time.Duration
	const times = 20
	for i := range times {
		repo.Write("pkg01/part1/file001.go", fmt.Sprintf("package part\n\nvar W = %d\n", i))
		cmd := exec.Command("git", "--no-optional-locks", "status", "--porcelain")
		cmd.Dir, cmd.Env = repo.Dir, repo.Env
		start := time.Now()
		require.NoError(b, cmd.Run())
		took += time.Since(start)
	}
	return took / times
}

// countJJ makes repo.Env run jj through a script that counts, and returns the count.
func countJJ(b testing.TB, repo *repotest.Repo, kind repotest.Kind) func() int {
	b.Helper()
	if !kind.IsJJ() {
		return func() int { return 0 }
	}
	dir := b.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho >>'%s'\nexec '%s' \"$@\"\n", log, repotest.LookJJ(b))
	repotest.WriteProgram(b, filepath.Join(dir, "jj"), script)
	for i, entry := range repo.Env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			repo.Env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	return func() int {
		data, _ := os.ReadFile(log) // not there yet: none
		return len(data)
	}
}
