package refs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// refsHook is the event at which git runs hooks when it moves refs.
const refsHook = "reference-transaction"

// stepBackRules has the conditions under which native git must move refs, because the move needs more than a renamed
// lock file.
type stepBackRules struct {
	always bool   // the configuration requires native git for every transaction
	hook   string // the path of the hook that git would run, if the hook exists
	hooked bool   // the configuration has a hook: git from 2.54 on runs it
	logs   string // the folder of reflogs to which git would append, if the folder exists

	noHooks *atomic.Bool // see DB.NoHooks
}

// newStepBackRules returns the rules for a repository. It reads the repository's configuration, and HOME in
// env.
func newStepBackRules(repo gitexec.Repo, env []string) stepBackRules {
	rules := stepBackRules{logs: filepath.Join(repo.CommonDir, "logs", "refs", "smithers"), noHooks: new(atomic.Bool)}
	if value, _ := repo.Config.Get("core.logallrefupdates"); strings.EqualFold(value, "always") {
		rules.always = true
	}
	rules.always = rules.always || IsShared(repo) // ref files need other permissions than the umask leaves
	folder, ok := hooksFolder(repo, env)
	rules.hook = filepath.Join(folder, refsHook)
	rules.hooked = repo.Config.HasHook(refsHook)
	rules.always = rules.always || !ok
	return rules
}

// IsShared reports whether other users write to a repository, by its configuration.
func IsShared(repo gitexec.Repo) bool {
	switch value, _ := repo.Config.Get("core.sharedrepository"); strings.ToLower(value) {
	case "", "umask", "false", "no", "off", "0":
		return false
	}
	return true
}

// stepBack reports whether native git must move the refs of updates: the configuration requires it, an update
// deletes a ref, git would run a hook, or git would write a reflog.
func (r stepBackRules) stepBack(updates []Update) bool {
	if r.always {
		return true
	}
	for _, u := range updates {
		if u.New.IsZero() {
			return true // a deletion rewrites packed-refs
		}
	}
	if info, err := os.Stat(r.hook); !r.noHooks.Load() && (r.hooked || err == nil && info.Mode()&0o111 != 0) {
		return true
	}
	_, err := os.Stat(r.logs)
	return err == nil
}

// NoHooks makes the writes of this DB run no hook of git from now on. It is for a process that has begun to run commands in sandboxes: a hook may
// use files that such a command can write. It is also for one in which a stranger's files may lie where git looks for hooks.
func (db *DB) NoHooks(ctx context.Context) error {
	if err := db.lock(ctx); err != nil {
		return err
	}
	defer db.unlock()
	if db.files.rules.noHooks.Swap(true) {
		return nil
	}
	return db.native.close() // a git that runs already knows its hooks
}

// hooksFolder returns the folder of git's hooks, without a check that it exists. A relative core.hooksPath is
// relative to the working copy or, in a bare repository, to the git directory. ok is false if only git can expand
// core.hooksPath, or if the path begins with "~/" and env has no HOME.
func hooksFolder(repo gitexec.Repo, env []string) (folder string, ok bool) {
	path, set := repo.Config.Get("core.hookspath")
	switch {
	case !set:
		return filepath.Join(repo.CommonDir, "hooks"), true
	case strings.HasPrefix(path, "~/"):
		home := ""
		for _, entry := range env {
			if value, found := strings.CutPrefix(entry, "HOME="); found {
				home = value
			}
		}
		return filepath.Join(home, path[2:]), home != ""
	case strings.HasPrefix(path, "~"), strings.HasPrefix(path, "%(prefix)/"):
		return "", false
	case filepath.IsAbs(path):
		return path, true
	case repo.WorkTree != "":
		return filepath.Join(repo.WorkTree, path), true
	default:
		return filepath.Join(repo.CommonDir, path), true
	}
}

// hooksArgs returns options for a git process that runs in the git directory. With these options, the process finds
// the same hooks as a git process in the working copy. hooksArgs returns nil if git finds them without options, or if
// only git can expand core.hooksPath.
func hooksArgs(repo gitexec.Repo, env []string) []string {
	path, set := repo.Config.Get("core.hookspath")
	folder, ok := hooksFolder(repo, env)
	if !set || !ok || filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return nil
	}
	return []string{"-c", "core.hooksPath=" + folder}
}
