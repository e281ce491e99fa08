// Package repotest makes scratch git repositories for tests. It uses the real git and real files, but
// not the configuration of the machine or the user. When a test ends, it checks the health of the
// repository.
package repotest

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Option changes the repository that New makes.
type Option func(*options)

// options are set by the Option functions Bare and Commit.
type options struct {
	bare, commit bool
}

// Bare makes New create a repository without a working copy.
func Bare(o *options) { o.bare = true }

// Commit makes New add one commit to branch main: with a few files, or without files in a bare
// repository.
func Commit(o *options) { o.commit = true }

// Repo is a scratch repository, which is removed when its test ends. Several goroutines may call its
// methods. Methods that return no error end the test if they fail, so only the test's own goroutine may
// call them.
type Repo struct {
	Dir    string   // the top of the working copy; GitDir in a bare repository
	GitDir string   // the git directory, which linked worktrees share
	Home   string   // the folder HOME in Env; the folder is empty at first
	Env    []string // the whole environment for programs; see the function Env

	t        testing.TB
	damaged  bool                 // see Damaged
	explicit bool                 // git needs options with GitDir and Dir
	newer    string               // the path of git after UseNewerGit
	made     string               // the object files before the test, as objects returns them
	jj       bool                 // Dir is a jj workspace
	hooks    []func(t testing.TB) // see OnCleanup
}

// New returns a new repository below t.TempDir. When the test ends, New's cleanup waits for the git, jj and
// git-smithers that the test has left there, and runs the checks of OnCleanup, and then git fsck --strict,
// which must find no problem. It skips all checks after Damaged, and fsck if the test has not changed the
// object files.
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
	r.GitDir = filepath.Join(r.Dir, ".git")
	if o.bare {
		r.GitDir = r.Dir
	}
	r.make(o)
	r.made = r.objects()
	t.Cleanup(func() {
		settle(t, base)
		r.check()
	})
	return r
}

// Env returns the environment of this process without GIT_ and JJ_ variables, and with settings that
// make git behave the same on every machine: HOME is home, no system or user configuration, fixed
// author, committer and dates, UTC, and the C locale. git does not look for a repository in the folder
// above home. GIT_DEFAULT_HASH and GIT_DEFAULT_REF_FORMAT stay, so that the same tests run in each kind of
// repository.
func Env(home string) []string {
	set := []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		// The file does not exist yet. It must not be the null device, because git config --global
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
		kind := name == "GIT_DEFAULT_HASH" || name == "GIT_DEFAULT_REF_FORMAT"
		if kind || !overridden[name] && !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "JJ_") {
			env = append(env, entry)
		}
	}
	return slices.Clip(append(env, set...)) // clipped, because tests append to it side by side
}

// ObjectFormat returns the hash of the repositories that New makes: "sha1" or "sha256".
func ObjectFormat() string { return cmp.Or(os.Getenv("GIT_DEFAULT_HASH"), "sha1") }

// NeedsSHA1 skips a test that has ids of sha1 objects in what it reads or expects, if New makes other repositories.
func NeedsSHA1(t testing.TB) {
	t.Helper()
	if ObjectFormat() != "sha1" {
		t.Skip("the test has ids of sha1 objects")
	}
}

// RefFormat returns the ref format of the repositories that New makes: "files" or "reftable".
func RefFormat() string { return cmp.Or(os.Getenv("GIT_DEFAULT_REF_FORMAT"), "files") }

// NeedsFiles skips a test that reads or writes the files of refs, if New makes repositories without such files.
func NeedsFiles(t testing.TB) {
	t.Helper()
	if RefFormat() != "files" {
		t.Skip("the test has files of refs")
	}
}

// Git runs git in Dir and returns its standard output without the last line feed. A failure of git ends
// the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	out, err := r.GitErr(args...)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// GitErr runs git in Dir and returns its standard output without the last line feed. The error contains
// git's standard error.
func (r *Repo) GitErr(args ...string) (string, error) { return r.GitIn(r.Dir, args...) }

// GitInput runs git in Dir as Git does, with stdin as its standard input.
func (r *Repo) GitInput(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.run(r.Dir, stdin, args)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// GitIn runs git in the folder dir and returns its standard output and its error as GitErr does.
func (r *Repo) GitIn(dir string, args ...string) (string, error) { return r.run(dir, "", args) }

// run runs git in the folder dir. If explicit is set, it adds options with the git directory and the
// working copy.
func (r *Repo) run(dir, stdin string, args []string) (string, error) {
	if r.explicit {
		args = append([]string{"--git-dir=" + r.GitDir, "--work-tree=" + r.Dir}, args...)
	}
	return r.command(dir, stdin, cmp.Or(r.newer, "git"), args)
}

// command runs a program in the folder dir with the environment Env. It returns the standard output
// without the last line feed. The error contains the standard error.
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

// Write writes a file to the working copy and creates its folders. name is relative to Dir, with
// slashes.
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

// WriteRef puts content, valid or not, into a new file of a ref, and skips the test where refs are not files. It does not write into the old
// file, because that may be the file of another ref, too. It makes the ref's folder.
func (r *Repo) WriteRef(name, content string) {
	r.t.Helper()
	NeedsFiles(r.t)
	path := filepath.Join(r.GitDir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path+".new", []byte(content), 0o666)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// Damaged declares that the test damages the repository on purpose, so that neither fsck nor the
// hooks of OnCleanup check it.
func (r *Repo) Damaged() { r.damaged = true }

// OnCleanup adds a check of the repository that runs when the test ends, before git fsck. Checks run in
// the order in which they were added.
func (r *Repo) OnCleanup(check func(t testing.TB)) { r.hooks = append(r.hooks, check) }

// makeByGit makes the repository by git.
func (r *Repo) makeByGit(o options) {
	r.t.Helper()
	args := []string{"init", "--quiet", "--template=", "--initial-branch=main"}
	if o.bare {
		args = append(args, "--bare")
	}
	r.Git(args...)
	if o.commit {
		r.commit()
	}
}

// commit makes the first commit on main.
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
	r.Git("-c", "maintenance.auto=false", "commit", "--quiet", "--message=first")
}

// check runs the checks at the end of a test, as New describes.
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
		return // the object files are as before the test, so fsck would find no problem
	}
	out, err := r.GitErr(Fsck(r.GitDir, "--no-dangling", "--no-progress")...)
	if err != nil || out != "" {
		r.t.Errorf("git fsck --strict found:\n%s\n%v", out, err)
	}
}

// Fsck returns the arguments of a git fsck --strict in the repository of a git directory. git starts a process each for the commit-graph
// and the multi-pack-index, also where there is none, unless it is told so.
func Fsck(gitDir string, more ...string) []string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Lstat(filepath.Join(gitDir, "objects", filepath.FromSlash(name)))
			return err == nil
		})
	}
	var args []string
	if !has("info/alternates", "info/commit-graph", "info/commit-graphs") {
		args = append(args, "-c", "core.commitGraph=false")
	}
	if !has("info/alternates", "pack/multi-pack-index", "pack/multi-pack-index.d") {
		args = append(args, "-c", "core.multiPackIndex=false")
	}
	return slices.Concat(args, []string{"fsck", "--strict"}, more)
}

// objects returns a list of the object files with their sizes and times, or "" if they cannot be
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

// tempDir returns t.TempDir without symbolic links. git prints paths in this form.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// commandError is the error of a failed command, with its standard error.
type commandError struct {
	err    error
	stderr string
}

// Error returns the cause and the standard error.
func (e *commandError) Error() string { return e.err.Error() + ": " + e.stderr }

// Unwrap returns the cause.
func (e *commandError) Unwrap() error { return e.err }
