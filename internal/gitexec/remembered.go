package gitexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// In the plain case, Discover remembers what git has said: a .git folder of the user's own, found by looking upwards, without variables that
// lead elsewhere, includes, a worktree configuration or another top folder. The memory counts for as long as each file that can hold
// configuration is the same, or still missing, and git itself is the same program. In any other case, git is asked.

// memoryFile is the file of the memory, in the private folder of a repository. Without the folder, nothing is remembered.
const memoryFile = "smithers/git"

// maxMemory is the size of the largest memory that is read, in bytes.
const maxMemory = 1 << 20

// settled returns how long a file must have been unchanged before it is remembered: a later change then has other times, whatever the
// granularity of the file system's clock. A time that is no multiple of 10 ms is of a clock that does not stand still for longer.
func settled(changed time.Time) time.Duration {
	if changed.Nanosecond()%int(10*time.Millisecond) != 0 {
		return 100 * time.Millisecond
	}
	return 2 * time.Second
}

// A memory is what git has said of a repository, and of what it depends.
type memory struct {
	Key    []string `json:"key"`   // git's program, and what of the environment names files with configuration
	Files  []stamp  `json:"files"` // that can hold configuration
	Config []byte   `json:"config"`
}

// A stamp is a file, and how it stood. Mark is "" if the file is missing.
type stamp struct {
	Path string `json:"path"`
	Mark string `json:"mark"`
}

// recall returns the repository that is remembered for a folder.
func recall(dir string, env []string) (Repo, bool) {
	gitDir := plainGitDir(dir, env)
	key := memoryKey(env)
	if gitDir == "" || key == nil {
		return Repo{}, false
	}
	path := filepath.Join(gitDir, memoryFile)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxMemory || !isOwn(path, env) {
		return Repo{}, false
	}
	data, err := os.ReadFile(path)
	var m memory
	if err != nil || json.Unmarshal(data, &m) != nil || !slices.Equal(m.Key, key) || len(m.Files) == 0 || m.Files[0].Path != filepath.Join(gitDir, "config") {
		return Repo{}, false
	}
	for _, file := range m.Files {
		if mark, _, known := markOf(file.Path); !known || mark != file.Mark {
			return Repo{}, false
		}
	}
	return plainRepo(gitDir, m.Config, env), true
}

// plainRepo returns the repository with a .git folder and the output of git config.
func plainRepo(gitDir string, config []byte, env []string) Repo {
	repo := Repo{GitDir: gitDir, CommonDir: gitDir, WorkTree: filepath.Dir(gitDir), Config: parseConfig(config)}
	repo.ObjectFormat, repo.RefFormat = formats(repo.Config, gitDir, env)
	return repo
}

// remember keeps what git has said of the repository of a folder, if that is the plain case and its files are settled. It returns no
// error: at worst, git is asked again.
func remember(ctx context.Context, repo Repo, git Process) {
	gitDir, key := plainGitDir(git.Dir, git.Env), memoryKey(git.Env)
	if gitDir == "" || key == nil || gitDir != repo.GitDir || gitDir != repo.CommonDir || repo.WorkTree != filepath.Dir(gitDir) || !isPlain(repo.Config) {
		return
	}
	folder := filepath.Dir(filepath.Join(gitDir, memoryFile))
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return
	}
	fresh, err := os.CreateTemp(folder, ".git-*")
	if err != nil {
		return
	}
	data := newMemory(ctx, gitDir, key, fresh.Name(), git)
	if data != nil {
		_, err = fresh.Write(data)
	}
	if err = errors.Join(err, fresh.Close()); err == nil && data != nil && os.Rename(fresh.Name(), filepath.Join(gitDir, memoryFile)) == nil {
		return
	}
	_ = os.Remove(fresh.Name())
}

// newMemory returns a memory to store; nil if nothing can be remembered. fresh is a file that was just made: its time is the file system's now.
func newMemory(ctx context.Context, gitDir string, key []string, fresh string, git Process) []byte {
	_, now, known := markOf(fresh)
	isSettled := func(path string) (mark string, ok bool) {
		mark, changed, found := markOf(path)
		return mark, known && found && now.Sub(changed) >= settled(changed)
	}
	if _, ok := isSettled(filepath.Join(gitDir, "config")); !ok {
		return nil
	}
	m := memory{Key: key}
	for _, path := range configFiles(ctx, gitDir, git) {
		mark, ok := isSettled(path)
		if !ok {
			return nil
		}
		m.Files = append(m.Files, stamp{path, mark})
	}
	var err error
	if m.Config, err = git.run(ctx, "config", "--list", "-z"); err != nil || len(m.Files) == 0 || !isPlain(parseConfig(m.Config)) {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil || len(data) > maxMemory {
		return nil
	}
	return data
}

// isPlain reports whether configuration names no further files, no other top folder, and nothing that looks like a credential.
func isPlain(config Config) bool {
	for key, values := range config {
		if looksSecret(key, values) || strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") || key == "core.worktree" || key == "extensions.worktreeconfig" {
			return false
		}
	}
	bare, err := config.Bool("core.bare", false)
	return err == nil && !bare
}

// looksSecret reports whether a setting may hold a credential. The user's own configuration is not to be copied into a repository with one: a
// copy of the folder would have it.
func looksSecret(key string, values []string) bool {
	if strings.HasPrefix(key, "credential.") && strings.HasSuffix(key, ".helper") && slices.ContainsFunc(values, func(helper string) bool { return strings.HasPrefix(helper, "!") }) {
		return true // a script
	}
	for _, word := range []string{"token", "password", "passwd", "secret", "extraheader", "apikey", "cookie"} {
		if strings.Contains(strings.ToLower(key), word) {
			return true
		}
	}
	return slices.ContainsFunc(append(slices.Clip(values), key), func(text string) bool {
		_, rest, found := strings.Cut(text, "://")
		host, _, _ := strings.Cut(rest, "/")
		return found && strings.Contains(host, "@") && strings.Contains(host, ":") && !strings.HasPrefix(text, "ssh://")
	})
}

// plainGitDir returns the .git folder that git finds in a folder or above it if nothing leads elsewhere, or "". dir is absolute and without
// symbolic links. The folder and the one that has it must be the user's own, as git demands.
func plainGitDir(dir string, env []string) string {
	if slices.ContainsFunc(env, leadsElsewhere) {
		return ""
	}
	if caller, _ := LookupEnv(env, "SUDO_UID"); caller != "" {
		return ""
	}
	device, known := deviceOf(dir)
	above := ceilings(env)
	for at := dir; known; at = filepath.Dir(at) {
		if at != dir && slices.Contains(above, at) {
			return ""
		}
		if here, ok := deviceOf(at); !ok || here != device {
			return "" // git does not look beyond a file system
		}
		gitDir := filepath.Join(at, ".git")
		info, err := os.Lstat(gitDir)
		switch {
		case err == nil && info.IsDir() && looksLikeRepository(gitDir) && isOwn(at, env) && isOwn(gitDir, env):
			return gitDir
		case err == nil, !errors.Is(err, os.ErrNotExist), looksLikeRepository(at), at == filepath.Dir(at):
			return ""
		}
	}
	return ""
}

// ceilings returns the folders in which and above which git looks for no repository.
func ceilings(env []string) (out []string) {
	list, _ := LookupEnv(env, "GIT_CEILING_DIRECTORIES")
	for _, folder := range filepath.SplitList(list) {
		out = append(out, folder)
		if target, err := filepath.EvalSymlinks(folder); err == nil {
			out = append(out, target)
		}
	}
	return out
}

// looksLikeRepository reports whether a folder has what git looks for in a git directory.
func looksLikeRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// harmless are the variables of git that change neither where git finds a repository nor its configuration, besides those of memoryKey.
var harmless = []string{
	"GIT_SMITHERS_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_", "GIT_HTTP_", "GIT_SSH", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_PAGER", "GIT_EDITOR",
	"GIT_SEQUENCE_EDITOR", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_DEFAULT_",
}

// leadsElsewhere reports whether an entry of an environment may change what git finds.
func leadsElsewhere(entry string) bool {
	return strings.HasPrefix(entry, "GIT_") && !slices.ContainsFunc(harmless, func(name string) bool { return strings.HasPrefix(entry, name) })
}

// memoryKey returns git's program, and the variables that name files with configuration; nil if that is not known.
func memoryKey(env []string) []string {
	git, err := Find(env, "git")
	if err != nil {
		return nil
	}
	mark, _, known := markOf(git)
	if !known {
		return nil
	}
	key := []string{git, mark}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		value, ok := LookupEnv(env, name)
		key = append(key, map[bool]string{true: "=" + value}[ok])
	}
	return key
}

// configFiles returns the files in which git looks for configuration, the repository's own first; nil if that is not known.
func configFiles(ctx context.Context, gitDir string, git Process) []string {
	files := []string{filepath.Join(gitDir, "config"), filepath.Join(gitDir, "config.worktree")}
	home, _ := LookupEnv(git.Env, "HOME")
	xdg, _ := LookupEnv(git.Env, "XDG_CONFIG_HOME")
	if global, set := LookupEnv(git.Env, "GIT_CONFIG_GLOBAL"); set {
		files = append(files, global)
	} else {
		if xdg == "" {
			xdg = filepath.Join(home, ".config")
		}
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config"))
	}
	files = slices.DeleteFunc(files, func(path string) bool { return path == "" })
	if value, set := LookupEnv(git.Env, "GIT_CONFIG_NOSYSTEM"); !set {
		system, _ := LookupEnv(git.Env, "GIT_CONFIG_SYSTEM")
		if system == "" {
			system = systemFile(ctx, git)
		}
		files = append(files, system)
	} else if value != "1" && value != "true" {
		return nil
	}
	if slices.ContainsFunc(files, func(path string) bool { return !filepath.IsAbs(path) }) {
		return nil
	}
	return files
}

// namesFile finds the file that git names because it is missing.
var namesFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`unable to read config file '([^']+)'`) })

// systemFile returns the file with the configuration of the system, or "": git knows where it is, and says so with each value, or if it is missing.
func systemFile(ctx context.Context, git Process) string {
	git.Args = []string{"config", "--system", "--list", "--show-origin", "-z"}
	out, talk, _ := git.Run(ctx)
	if name, ok := bytes.CutPrefix(out, []byte("file:")); ok {
		name, _, _ = bytes.Cut(name, []byte{0})
		return string(name)
	}
	if found := namesFile().FindSubmatch(talk); found != nil {
		return string(found[1])
	}
	return ""
}
