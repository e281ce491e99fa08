// Package repotest makes scratch git repositories for tests: with the real git and real files, and
// without the configuration of the machine or the user. When a test ends, it checks the
// repository's health.
package repotest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Option changes what New makes.
type Option func(*options)

type options struct {
	bare, commit bool
}

// Bare makes a repository without a working copy.
func Bare(o *options) { o.bare = true }

// Commit gives the repository one commit with a few files, on branch main.
func Commit(o *options) { o.commit = true }

// Repo is a scratch repository. It goes away with its test. Its methods may be called from several
// goroutines. Methods that return no error end the test if they fail, so they belong to the
// goroutine that runs the test.
type Repo struct {
	Dir    string   // the top of the working copy; GitDir in a bare repository
	GitDir string   // the git directory, which linked worktrees share
	Home   string   // HOME in Env; empty at first
	Env    []string // the whole environment for programs; see the function Env

	t        testing.TB
	damaged  bool
	explicit bool   // git has to be told GitDir and Dir
	made     string // the object folders before the test, as objects returns them
	jj       bool   // Dir is a jj workspace
	hooks    []func(t testing.TB)
}

// New makes a repository under t.TempDir. When t ends, the hooks of OnCleanup run. Then git fsck
// --strict must find nothing, unless the test has declared that it damages the repository.
func New(t testing.TB, opts ...Option) *Repo {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	base := tempDir(t)
	r := &Repo{t: t, Dir: filepath.Join(base, "repo"), Home: filepath.Join(base, "home")}
	r.Env = Env(r.Home)
	for _, dir := range []string{r.Dir, r.Home} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	initArgs := []string{"init", "--quiet", "--template=", "--initial-branch=main"}
	if o.bare {
		r.GitDir = r.Dir
		r.Git(append(initArgs, "--bare")...)
	} else {
		r.GitDir = filepath.Join(r.Dir, ".git")
		r.Git(initArgs...)
	}
	if o.commit {
		r.commit()
	}
	r.made = r.objects()
	t.Cleanup(r.check)
	return r
}

// Env returns the environment of this process without any GIT_ or JJ_ variable, and with settings
// that make git behave the same everywhere: home as HOME, no system or user configuration, fixed
// author, committer and dates, UTC, the C locale. git looks for a repository no higher than in
// home's siblings.
func Env(home string) []string {
	set := []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		// The file does not exist yet. The null device would not do, because git config --global
		// renames its result over the file.
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(home),
		"GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A U Thor",
		"GIT_AUTHOR_EMAIL=author@example.invalid",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=C O Mitter",
		"GIT_COMMITTER_EMAIL=committer@example.invalid",
		"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		"TZ=UTC",
		"LC_ALL=C",
	}
	overridden := make(map[string]bool)
	for _, entry := range set {
		name, _, _ := strings.Cut(entry, "=")
		overridden[name] = true
	}
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !overridden[name] && !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "JJ_") {
			env = append(env, entry)
		}
	}
	return slices.Clip(append(env, set...)) // clipped, because tests append to it side by side
}

// Git runs git in Dir and returns its standard output without the last line feed.
// A failure ends the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	out, err := r.GitErr(args...)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// GitErr is Git for commands that may fail. The error carries git's standard error.
func (r *Repo) GitErr(args ...string) (string, error) { return r.GitIn(r.Dir, args...) }

// GitInput is Git with standard input.
func (r *Repo) GitInput(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.run(r.Dir, stdin, args)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// GitIn is GitErr in another directory.
func (r *Repo) GitIn(dir string, args ...string) (string, error) { return r.run(dir, "", args) }

func (r *Repo) run(dir, stdin string, args []string) (string, error) {
	if r.explicit {
		args = append([]string{"--git-dir=" + r.GitDir, "--work-tree=" + r.Dir}, args...)
	}
	return r.command(dir, stdin, "git", args)
}

func (r *Repo) command(dir, stdin, program string, args []string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, r.Env, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = &commandError{err: err, stderr: strings.TrimSpace(stderr.String())}
	}
	return strings.TrimSuffix(stdout.String(), "\n"), err
}

// Write writes a file to the working copy, and makes its folders.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

// Damaged declares that the test damages the repository on purpose, so that neither fsck nor the
// hooks of OnCleanup check it.
func (r *Repo) Damaged() { r.damaged = true }

// OnCleanup adds a check of the repository that runs when the test ends, before fsck. Checks run in
// the order in which they were added.
func (r *Repo) OnCleanup(check func(t testing.TB)) { r.hooks = append(r.hooks, check) }

func (r *Repo) commit() {
	r.t.Helper()
	if r.Dir == r.GitDir {
		tree := r.Git("write-tree")
		r.Git("update-ref", "refs/heads/main", r.Git("commit-tree", "-m", "first", tree))
		return
	}
	r.Write("README.md", "# A scratch repository\n")
	r.Write("src/main.go", "package main\n\nfunc main() {}\n")
	r.Write("notes/todo.txt", "write\ntest\nship\n")
	r.Git("add", ".")
	r.Git("commit", "--quiet", "--message=first")
}

func (r *Repo) check() {
	if r.damaged {
		return
	}
	for _, hook := range r.hooks {
		hook(r.t)
	}
	if r.jj {
		r.checkJJ()
	}
	if now := r.objects(); now != "" && now == r.made {
		return // the test has written no objects
	}
	out, err := r.GitErr("fsck", "--strict", "--no-dangling", "--no-progress")
	if err != nil || out != "" {
		r.t.Errorf("git fsck --strict found:\n%s\n%v", out, err)
	}
}

// objects lists the files with objects, with their sizes and times. It returns "" if they cannot be
// listed.
func (r *Repo) objects() string {
	var list strings.Builder
	err := filepath.WalkDir(filepath.Join(r.GitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&list, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		return ""
	}
	return list.String()
}

// tempDir returns t.TempDir without symbolic links, as git names it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// commandError is a failed command with its output.
type commandError struct {
	err    error
	stderr string
}

func (e *commandError) Error() string { return e.err.Error() + ": " + e.stderr }

func (e *commandError) Unwrap() error { return e.err }
