package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// bystanders are a remote, a clone that has all runs ("in") and one that never heard of
// any ("beside").
type bystanders struct {
	b          *testing.B
	env, jjEnv []string
	remote     string
	clones     map[string]string
	commits    int
}

// newBystanders makes them, with or without sealed runs of 100 frames in the first clone
// and the tips of these in the remote. Both are packed. With graph both have a commit-graph,
// of all commits, as git gc leaves it on either side. Without it, neither has one, not even the one of runs that a
// clone writes when it seals in the background.
func newBystanders(b *testing.B, runs int, graph bool) *bystanders {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "bystanders-")
	require.NoError(b, err)
	home := filepath.Join(dir, "home")
	require.NoError(b, os.Mkdir(home, 0o777))
	y := &bystanders{
		b: b, env: repotest.Env(home), remote: filepath.Join(dir, "remote.git"),
		clones: map[string]string{"in": filepath.Join(dir, "in"), "beside": filepath.Join(dir, "beside")},
	}
	y.jjEnv = repotest.WithJJ(y.env, home)
	if newer, err := filepath.Abs(".tools/newer-git/bin"); err == nil {
		y.jjEnv = append(y.jjEnv, "PATH="+newer+string(filepath.ListSeparator)+pathIn(y.jjEnv))
	}
	owner := y.clones["in"]
	y.git(dir, "init", "--quiet", "--initial-branch=main", owner)
	for i := range 300 {
		name := filepath.Join(owner, fmt.Sprintf("dir%02d/file%03d.txt", i%20, i))
		require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(b, os.WriteFile(name, []byte(strings.Repeat(name+"\n", 50)), 0o666))
	}
	if runs > 0 {
		crowd(b, owner, runs, 100, true)
	}
	y.git(owner, "add", ".")
	y.git(owner, "commit", "--quiet", "--message=first")
	y.git(owner, "repack", "-adq", "--window=0")
	y.git(dir, "clone", "--quiet", "--mirror", owner, y.remote)
	for _, repository := range []string{owner, y.remote} {
		if !graph {
			break
		}
		y.git(repository, "commit-graph", "write", "--reachable", "--no-progress")
	}
	y.git(owner, "remote", "add", "origin", "file://"+y.remote)
	y.git(owner, "fetch", "--quiet", "origin")
	y.git(owner, "branch", "--quiet", "--set-upstream-to=origin/main")
	y.git(dir, "clone", "--quiet", "file://"+y.remote, y.clones["beside"])
	return y
}

func pathIn(env []string) string {
	for _, entry := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			return path
		}
	}
	return ""
}

// git runs git and returns what it prints.
func (y *bystanders) git(dir string, args ...string) string {
	y.b.Helper()
	out, err := process(dir, y.env, "git", args...).Output()
	require.NoError(y.b, err, args)
	return strings.TrimSpace(string(out))
}

// advance gives the remote's branch a commit that nobody else has.
func (y *bystanders) advance() {
	y.commits++
	next := y.git(y.remote, "commit-tree", "-p", "main", "-m", fmt.Sprint("theirs ", y.commits), "main^{tree}")
	y.git(y.remote, "update-ref", "refs/heads/main", next)
}

// commit gives a clone a commit on top of what the remote has.
func (y *bystanders) commit(dir string) {
	y.commits++
	y.git(dir, "fetch", "--quiet", "origin")
	y.git(dir, "reset", "--quiet", "--soft", "origin/main")
	y.git(dir, "commit", "--quiet", "--allow-empty", "--message="+fmt.Sprint("ours ", y.commits))
}

// timed is how long a command takes, the whole process.
func (y *bystanders) timed(dir string, env []string, args []string) time.Duration {
	y.b.Helper()
	cmd := process(dir, env, args[0], args[1:]...)
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	require.NoError(y.b, err, args)
	return took
}

// What 1,000 sealed runs of 100 frames cost those who use git and jj in the repository that
// has them, and those who share a remote with it. Samples with and without runs take turns.
func BenchmarkBystander(b *testing.B) {
	b.Run("commit-graph", func(b *testing.B) { benchBystanders(b, true) })
	b.Run("no-commit-graph", func(b *testing.B) { benchBystanders(b, false) })
}

func benchBystanders(b *testing.B, graph bool) {
	b.Helper()
	without, with := newBystanders(b, 0, graph), newBystanders(b, 1000, graph)
	nothing := func(*bystanders, string) {}
	commands := []struct {
		name    string
		args    []string
		prepare func(*bystanders, string)
	}{
		{"push", []string{"git", "push", "--quiet", "origin", "HEAD:main"}, (*bystanders).commit},
		{"fetch", []string{"git", "fetch", "--quiet", "origin"}, func(y *bystanders, _ string) { y.advance() }},
		{"fetch-nothing", []string{"git", "fetch", "--quiet", "origin"}, nothing},
		{"log", []string{"git", "log", "--oneline", "--decorate", "-20"}, nothing},
		{"status", []string{"git", "status", "--short", "--branch"}, nothing},
	}
	for _, where := range []string{"in", "beside"} {
		for _, c := range commands {
			b.Run(where+"/git-"+c.name, func(b *testing.B) {
				compare(b, without, with, func(y *bystanders) time.Duration {
					c.prepare(y, y.clones[where])
					return y.timed(y.clones[where], y.env, c.args)
				})
			})
		}
	}
	jj := repotest.FindJJ()
	if jj == "" {
		b.Log("there is no jj: run `make tools`")
		return
	}
	for _, where := range []string{"in", "beside"} {
		for _, y := range []*bystanders{without, with} {
			require.NoError(b, process(y.clones[where], y.jjEnv, jj, "git", "init", "--colocate", "--quiet").Run())
		}
		for _, c := range commands[1:4] {
			args := []string{jj, "git", "fetch", "--quiet"}
			if c.name == "log" {
				args = []string{jj, "log"}
			}
			b.Run(where+"/jj-"+c.name, func(b *testing.B) {
				compare(b, without, with, func(y *bystanders) time.Duration {
					c.prepare(y, y.clones[where])
					return y.timed(y.clones[where], y.jjEnv, args)
				})
			})
		}
	}
}

// compare samples both by turns, and reports the medians and how much more one is.
func compare(b *testing.B, without, with *bystanders, sample func(*bystanders) time.Duration) {
	b.Helper()
	var before, after []time.Duration
	for b.Loop() {
		before = append(before, sample(without))
		after = append(after, sample(with))
	}
	median := func(samples []time.Duration) float64 {
		slices.Sort(samples)
		return float64(samples[len(samples)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(before), "without-ms")
	b.ReportMetric(median(after), "with-ms")
	b.ReportMetric(median(after)-median(before), "more-ms")
}
