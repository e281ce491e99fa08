package refs

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// stepBackRules detect what a repository requires when refs move and renaming lock files does
// not do.
type stepBackRules struct {
	always bool   // the configuration requires native git
	hook   string // the hook that git would run, if it exists
	logs   string // the folder of reflogs that git would extend, if it exists
}

// newStepBackRules reads the rules from the repository's configuration and the environment.
func newStepBackRules(repo gitexec.Repo, env []string) stepBackRules {
	rules := stepBackRules{logs: filepath.Join(repo.CommonDir, "logs", "refs", "smithers")}
	if value, _ := repo.Config.Get("core.logallrefupdates"); strings.EqualFold(value, "always") {
		rules.always = true
	}
	switch value, _ := repo.Config.Get("core.sharedrepository"); strings.ToLower(value) {
	case "", "umask", "false", "no", "off", "0":
	default:
		rules.always = true // files need other permissions than the umask gives
	}
	folder, ok := hooksFolder(repo, env)
	rules.hook = filepath.Join(folder, "reference-transaction")
	rules.always = rules.always || !ok
	return rules
}

// stepBack reports whether native git must move the refs.
func (r stepBackRules) stepBack(updates []Update) bool {
	if r.always {
		return true
	}
	for _, u := range updates {
		if u.New.IsZero() {
			return true // a deletion rewrites packed-refs
		}
	}
	if info, err := os.Stat(r.hook); err == nil && info.Mode()&0o111 != 0 {
		return true
	}
	_, err := os.Stat(r.logs)
	return err == nil
}

// hooksFolder returns the folder of git's hooks. ok is false for a core.hooksPath that
// only git can expand.
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

// hooksArgs returns options by which a git in the git directory finds the same hooks as a git in the
// working copy.
func hooksArgs(repo gitexec.Repo, env []string) []string {
	path, set := repo.Config.Get("core.hookspath")
	folder, ok := hooksFolder(repo, env)
	if !set || !ok || filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return nil
	}
	return []string{"-c", "core.hooksPath=" + folder}
}
