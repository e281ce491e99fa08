package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/desk"
	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/scripttest"
)

var update = flag.Bool("update", false, "rewrite golden sections in testdata/script")

// TestMain puts programs on PATH, among them git-smithers, so that "git smithers" finds it as git finds any command of that name.
func TestMain(m *testing.M) {
	testscript.Main(builder{m}, map[string]func(){
		"git-smithers": scripttest.Main,
		"git-smithers-desk": func() {
			dir, err := os.Getwd()
			if err != nil {
				dir = "."
			}
			os.Exit(desk.Main(context.Background(), desk.Streams{Streams: telemetry.Streams{In: os.Stdin, Out: os.Stdout, Env: os.Environ()}, Err: os.Stderr, Dir: dir, Now: time.Now}, os.Args[1:]))
		},
		"smithers-stand-in": standIn,
		"agent-jail":        agentJail,
	})
}

// builder runs the tests with a git-smithers that has no tests in it, and so starts faster.
type builder struct{ *testing.M }

// Run builds that git-smithers, and runs the tests. With the race detector, or where coverage is counted, git-smithers is the test binary, which is built so.
func (b builder) Run() int {
	if !raced && testing.CoverMode() == "" {
		program, err := exec.LookPath("git-smithers")
		if err == nil {
			err = os.Remove(program)
		}
		if err == nil {
			build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./internal/scripttest/git-smithers")
			build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
			err = build.Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "git-smithers is not built:", err)
			return 1
		}
	}
	return b.M.Run()
}

// linkSmithers makes path a link to the git-smithers that TestMain has put on PATH.
func linkSmithers(t testing.TB, path string) {
	t.Helper()
	program, err := exec.LookPath("git-smithers")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, path))
}

// TestScript runs the scripts of testdata/script through real git.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpScript,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"truncate": truncate,
			"contains": contains,
			"sqlite":   sqlite,
			"fsck":     fsck,
		},
	})
}

// condition reports whether the race detector is at work, which makes everything five times slower: [race];
// whether this is a long test run: [soak]; whether git's completion for bash is installed: [git-completion]; and
// whether bubblewrap makes a sandbox here: [bwrap]; whether a file system whose names fold can be mounted: [folding]; and
// whether there is a jj that reads the repositories of this test run: [jj], or a newer git: [newer-git], without any of which CI=true is an error;
// whether these repositories have sha1 objects: [sha1], or refs in files: [files]; and whether git knows reftables: [reftable].
func condition(name string) (found bool, err error) {
	switch name {
	case "race":
		return raced, nil
	case "sha1":
		return repotest.ObjectFormat() == "sha1", nil
	case "files":
		return repotest.RefFormat() == "files", nil
	case "reftable":
		out, err := exec.Command("git", "--list-cmds=main").Output()
		return slices.Contains(strings.Fields(string(out)), "refs"), err // git refs is one version younger than reftables
	case "soak":
		return repotest.Soaks(), nil
	case "git-completion":
		_, err := os.Stat("/usr/share/bash-completion/completions/git")
		return err == nil, nil
	case "bwrap":
		if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("CI") == "true" {
			return false, errors.New("there is no bwrap: install bubblewrap")
		}
		return exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--cap-drop", "ALL", "true").Run() == nil, nil
	case "folding":
		// not an error without it, even if CI=true: a container may have no FUSE
		return exec.Command("unshare", "-m", "sh", "-c", folding).Run() == nil, nil
	case "jj":
		jj := repotest.FindJJ()
		if found = jj != ""; found && !repotest.JJReads(jj) {
			return false, nil
		}
	case "newer-git":
		found = repotest.FindNewerGit() != ""
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
	if !found && os.Getenv("CI") == "true" {
		return false, fmt.Errorf("there is no %s: run `make tools`", name)
	}
	return found, nil
}

// folding succeeds if ntfs-3g mounts a file system whose names fold, in a mount namespace.
const folding = `set -e; d=$(mktemp -d); trap 'umount "$d/m"; rm -rf "$d"' EXIT; cd "$d"; mkdir m; truncate -s 8M image
/usr/sbin/mkfs.ntfs -F -Q -q image; lowntfs-3g -o ignore_case image m; echo >m/A; test -e m/a`

// setUpScript gives a script an environment without anything of the machine's, in
// particular without the GIT_DIR of a hook that runs the tests. Files are captured only
// where the script asks for it. When the script is over, every repository in its folder
// must be sound, unless it says by a file called damaged that it has damaged them.
func setUpScript(env *testscript.Env) error {
	env.Vars = slices.DeleteFunc(env.Vars, func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	for _, entry := range repotest.Env(env.WorkDir) {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT_") || slices.Contains([]string{"HOME", "TZ", "LC_ALL"}, name) {
			env.Setenv(name, value)
		}
	}
	env.Vars = repotest.WithJJ(env.Vars, env.WorkDir)
	env.Setenv("NEWER_GIT", repotest.FindNewerGit())
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else a process with the race detector takes a second to end
	env.Setenv("GIT_SMITHERS_FSYNC", "0")
	env.Setenv("GIT_SMITHERS_WORKTREE", "off")
	env.Setenv("SCRIPT_NOW", "2026-01-02T03:04:05Z")
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		return err
	}
	env.Setenv("TESTDATA", testdata)
	outside, err := os.MkdirTemp("", "script") // the script's folder may be a working copy
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(outside) })
	env.Setenv("SCRIPT_RANDOM", filepath.Join(outside, "random"))
	// git's own maintenance ends with the command that starts it: in the background it replaces packs and the
	// file of shallow commits while the next line of the script reads them.
	settings := filepath.Join(outside, "gitconfig")
	if err := os.WriteFile(settings, []byte("[maintenance]\nautoDetach = false\n[gc]\nautoDetach = false\n"), 0o666); err != nil {
		return err
	}
	env.Setenv("GIT_CONFIG_GLOBAL", settings)
	env.Defer(func() {
		if _, err := os.Stat(filepath.Join(env.WorkDir, "damaged")); err == nil {
			return
		}
		if left := repotest.Settle(env.WorkDir); len(left) > 0 {
			env.T().Fatal("the script ended, but these go on in its folder:", left)
		}
		for _, dir := range repositories(env) {
			checkSoundness(env, dir)
		}
	})
	return nil
}

// repositories finds the git directories in a script's folder, jj's own among them. Those
// of linked worktrees are parts of others.
func repositories(env *testscript.Env) []string {
	var found []string
	err := filepath.WalkDir(env.WorkDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if isGitDir(path) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		env.T().Fatal(err)
	}
	return found
}

func isGitDir(path string) bool {
	return !slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(part string) bool {
		_, err := os.Stat(filepath.Join(path, part))
		return err != nil
	})
}

// checkSoundness asks git and git-smithers about a repository.
func checkSoundness(env *testscript.Env, gitDir string) {
	for _, args := range [][]string{repotest.Fsck(gitDir), {"smithers", "verify"}} {
		cmd := exec.CommandContext(context.Background(), "git", append([]string{"--git-dir=" + gitDir}, args...)...)
		cmd.Dir, cmd.Env = env.WorkDir, env.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			env.T().Fatal("git", args, "in", gitDir, err, string(out))
		}
	}
}

// exits runs a command that must end with a status.
//
//	exits status command [arg...]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var failed *exec.ExitError
	switch {
	case err == nil && want == 0:
	case !errors.As(err, &failed):
		ts.Fatalf("%s ended with %v, not with status %d", strings.Join(args[1:], " "), err, want)
	case failed.ExitCode() != want:
		ts.Fatalf("%s ended with status %d, not %d", strings.Join(args[1:], " "), failed.ExitCode(), want)
	}
}

// truncate replaces files by files with their first bytes, as a crash or a bad disk does. Another name
// of a file, such as a frame's ref that is a link to the tip, keeps the whole file.
//
//	truncate size file...
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: truncate size file...")
	}
	size, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	for _, pattern := range args[1:] {
		files, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		if len(files) == 0 {
			ts.Fatalf("no file is called %s", pattern)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			ts.Check(err)
			ts.Check(os.WriteFile(file+".cut", data[:min(size, int64(len(data)))], 0o644))
			ts.Check(os.Rename(file+".cut", file))
		}
	}
}

// sqlite runs the statements of a file on a database.
//
//	sqlite database file
func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite database file")
	}
	ts.Check(sourcetest.Exec(context.Background(), ts.MkAbs(args[0]), ts.ReadFile(args[1])))
}

// fsck runs git fsck --strict once the script's own processes in the background have ended: git fsck cannot stand a pack that git's
// maintenance replaces meanwhile.
//
//	fsck [arg...]
func fsck(ts *testscript.TestScript, neg bool, args []string) {
	if left := repotest.Settle(ts.Getenv("WORK")); len(left) > 0 {
		ts.Fatalf("these go on in the script's folder: %q", left)
	}
	err := ts.Exec("git", append([]string{"fsck", "--strict"}, args...)...)
	if (err == nil) == neg {
		ts.Fatalf("git fsck %v: %v", args, err)
	}
}

// contains checks that a file, or the last command's output, has a text in it, byte for byte.
//
//	contains {stdout | stderr | file} text
func contains(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: contains file text")
	}
	if bytes.Contains([]byte(ts.ReadFile(args[0])), []byte(args[1])) == neg {
		ts.Fatalf("in %s: %s", args[0], args[1])
	}
}
