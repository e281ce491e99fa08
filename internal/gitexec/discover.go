package gitexec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Repo is the layout of a repository. All paths are absolute.
type Repo struct {
	GitDir       string // the git directory of this worktree
	CommonDir    string // the folder that all worktrees share: objects, refs, smithers/
	WorkTree     string // the top of the working copy; "" in a bare repository and inside a git directory
	ObjectFormat string // "sha1" or "sha256"; "sha256 and sha1" with extensions.compatObjectFormat
	RefFormat    string // "files" or "reftable"; "files://<path>" and the like if the refs lie elsewhere
	Config       Config // the configuration at the time of Discover
}

// Discover returns the repository that git uses in the folder dir under env, which has the form of os.Environ.
// Variables like GIT_DIR therefore have their effect, and git checks the owner of the repository (safe.directory).
// Discover runs git twice at the same time, unless it remembers git's answers: see memory.
//
// If git fails, the error is an [*Error]. It wraps [ErrNoRepository] if there is no repository, and [ErrNoGit] if git
// is not on PATH. It wraps [ErrUnknownFormat] if git does not know the repository's format, and [ErrGitTooOld] if
// git's answer has an unknown form.
func Discover(ctx context.Context, dir string, env []string) (Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, err
	}
	// git prints paths relative to the resolved directory.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Repo{}, err
	}
	if repo, ok := recall(dir, env); ok {
		return repo, nil
	}
	git := Process{Dir: dir, Env: plainEnv(env)}
	repo, err := discover(ctx, git)
	if err == nil {
		remember(ctx, repo, git)
	}
	return repo, err
}

// DiscoverGitDir returns the repository with the git directory gitDir, or the one to which the file gitDir leads. Unlike
// [Discover], it ignores variables of env that name a repository. WorkTree is "".
//
// git finds the repository in its folder and is not told --git-dir, because git then would not check the owner
// (safe.directory). The error wraps [ErrNoRepository] if gitDir is no repository.
func DiscoverGitDir(ctx context.Context, gitDir string, env []string) (Repo, error) {
	gitDir, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return Repo{}, err
	}
	dir, isFile := gitDir, false
	if info, err := os.Stat(gitDir); err == nil && !info.IsDir() {
		dir, isFile = filepath.Dir(gitDir), true
	}
	git := Process{Dir: dir, Env: PlumbingEnv(env), Options: []string{"-c", "safe.bareRepository=all"}}
	repo, err := discover(ctx, git)
	if err == nil && !isFile && repo.GitDir != dir { // a repository around gitDir
		err = &Error{Args: []string{"rev-parse"}, Status: -1, Stderr: "fatal: not a git repository: '" + gitDir + "'", Err: ErrNoRepository}
	}
	if err != nil {
		return Repo{}, err
	}
	repo.WorkTree = ""
	return repo, nil
}

// discover asks git for the layout and the configuration of a repository, and returns both. Each call of git
// has the folder, the environment and the options of the Process git.
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
	repo.ObjectFormat, repo.RefFormat = formats(repo.Config, repo.CommonDir, git.Env)
	return repo, nil
}

// locate asks git for the directories of a repository, and returns a Repo with only these directories. In a repository
// without a working copy, WorkTree is "". If git's answer has an unknown form, the error is an *Error that wraps
// ErrGitTooOld.
func locate(ctx context.Context, git Process) (Repo, error) {
	args := []string{"rev-parse", "--absolute-git-dir", "--git-common-dir", "--is-inside-work-tree", "--show-toplevel"}
	out, err := git.run(ctx, args...)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	// Without a working copy, git answers the first three questions and refuses --show-toplevel. An old git prints
	// questions that it does not know as they are, so the form of each answer is checked.
	answered := len(lines) >= 3 && filepath.IsAbs(lines[0]) && !strings.HasPrefix(lines[1], "--") &&
		(lines[2] == "true" || lines[2] == "false")
	if !answered || (err != nil && (len(lines) != 3 || lines[2] != "false")) {
		if err == nil {
			err = &Error{Args: args, Err: fmt.Errorf("%w: unexpected output %q", ErrGitTooOld, out)}
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

// resolve returns a path that git printed in dir as an absolute path without symbolic links.
func resolve(dir, path string) (string, error) {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}

// formats returns the object format and the ref format of a repository. The defaults are "sha1" and "files". If config
// does not have extensions.refStorage, but commonDir has a folder reftable, the ref format is "reftable". From git 2.54 on,
// GIT_REFERENCE_BACKEND in env overrides both.
func formats(config Config, commonDir string, env []string) (objects, refs string) {
	objects, refs = "sha1", "files"
	if value, ok := config.Get("extensions.objectformat"); ok {
		objects = strings.ToLower(value)
	}
	if value, ok := config.Get("extensions.compatobjectformat"); ok {
		objects += " and " + strings.ToLower(value)
	}
	if value, _ := LookupEnv(env, "GIT_REFERENCE_BACKEND"); value != "" {
		return objects, value + " by GIT_REFERENCE_BACKEND"
	}
	if value, ok := config.Get("extensions.refstorage"); ok {
		format, path, _ := strings.Cut(value, "://")
		if refs = strings.ToLower(format); path != "" {
			refs += "://" + path
		}
	} else if info, err := os.Stat(filepath.Join(commonDir, "reftable")); err == nil && info.IsDir() {
		refs = "reftable"
	}
	return objects, refs
}

// run runs the process with the arguments args and returns its standard output. The error is an
// [*Error].
func (p Process) run(ctx context.Context, args ...string) ([]byte, error) {
	p.Args = args
	out, _, err := p.Run(ctx)
	return out, err
}
