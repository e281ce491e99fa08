package gitexec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Repo is where a repository keeps its things. All paths are absolute.
type Repo struct {
	GitDir       string // of this worktree
	CommonDir    string // shared by all worktrees: objects, refs, smithers/
	WorkTree     string // "" where git has none: in a bare repository, inside a git directory
	ObjectFormat string // "sha1" or "sha256"
	RefFormat    string // "files" or "reftable"
	Config       Config // as of Discover
}

// Discover finds the repository that git would use in dir under env, which is as
// os.Environ gives it: GIT_DIR and its like count, and so do the owner checks of
// safe.directory. It runs git twice, side by side. The error is an *Error when it
// comes from git; it wraps ErrNoRepository when there is no repository and ErrNoGit
// when there is no git.
func Discover(ctx context.Context, dir string, env []string) (Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, err
	}
	// git answers relative to where it really is.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Repo{}, err
	}
	return discover(ctx, Process{Dir: dir, Env: plainEnv(env)})
}

// DiscoverGitDir is Discover for a git directory that is known, whatever env points at
// and whoever owns it. WorkTree is "".
func DiscoverGitDir(ctx context.Context, gitDir string, env []string) (Repo, error) {
	git := Process{Dir: filepath.Dir(gitDir), Env: PlumbingEnv(env), Options: []string{"--git-dir=" + gitDir}}
	repo, err := discover(ctx, git)
	repo.WorkTree = "" // git takes the folder that it runs in
	return repo, err
}

// discover has git tell about a repository and its configuration.
func discover(ctx context.Context, git Process) (Repo, error) {
	type answer struct {
		out []byte
		err error
	}
	config := make(chan answer, 1)
	go func() {
		out, err := git.run(ctx, "config", "--list", "-z")
		config <- answer{out, err}
	}()
	repo, err := locate(ctx, git)
	list := <-config
	if err == nil {
		err = list.err
	}
	if err != nil {
		return Repo{}, err
	}
	repo.Config = parseConfig(list.out)
	repo.ObjectFormat, repo.RefFormat = formats(repo.Config, repo.CommonDir)
	return repo, nil
}

// locate asks git for the repository's directories.
func locate(ctx context.Context, git Process) (Repo, error) {
	args := []string{"rev-parse", "--absolute-git-dir", "--git-common-dir", "--is-inside-work-tree", "--show-toplevel"}
	out, err := git.run(ctx, args...)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	// Without a working copy git refuses the last question, after it has answered
	// the others. An old git echoes questions that it does not know, hence the look
	// at each answer's shape.
	answered := len(lines) >= 3 && filepath.IsAbs(lines[0]) && !strings.HasPrefix(lines[1], "--") &&
		(lines[2] == "true" || lines[2] == "false")
	if !answered || (err != nil && (len(lines) != 3 || lines[2] != "false")) {
		if err == nil {
			err = &Error{Args: args, Err: fmt.Errorf("%w: unexpected answer %q", ErrGitTooOld, out)}
		}
		return Repo{}, err
	}
	repo := Repo{GitDir: filepath.FromSlash(lines[0])}
	if repo.CommonDir, err = resolve(git.Dir, lines[1]); err != nil {
		return Repo{}, err
	}
	if len(lines) > 3 {
		repo.WorkTree, err = resolve(git.Dir, lines[3])
	}
	return repo, err
}

// resolve makes a path that git printed in dir absolute and free of symbolic links.
func resolve(dir, path string) (string, error) {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// formats tells how a repository names objects and keeps refs.
func formats(config Config, commonDir string) (objects, refs string) {
	objects, refs = "sha1", "files"
	if value, ok := config.Get("extensions.objectformat"); ok {
		objects = strings.ToLower(value)
	}
	if value, ok := config.Get("extensions.refstorage"); ok {
		refs, _, _ = strings.Cut(strings.ToLower(value), "://")
	} else if info, err := os.Stat(filepath.Join(commonDir, "reftable")); err == nil && info.IsDir() {
		refs = "reftable"
	}
	return objects, refs
}

// run is Run of other arguments, without standard error.
func (p Process) run(ctx context.Context, args ...string) ([]byte, error) {
	p.Args = args
	out, _, err := p.Run(ctx)
	return out, err
}
