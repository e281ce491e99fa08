package hooks

import (
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline"
)

// In returns a setup in the working copy with the top root. In a linked worktree without hooks of its own it is that of the main checkout, if the agent
// reads the settings there.
func In(store *timeline.Store, root string, d *dialect.Dialect, shared bool) Setup {
	common := store.Repo().CommonDir
	setup := Setup{Agent: d, Root: root, Top: root, Shared: shared, Private: store.Private(), NowMs: store.Now().UnixMilli(), GitDir: common}
	link, err := os.Lstat(filepath.Join(root, ".git"))
	if err == nil && link.Mode().IsRegular() && d.Hooks.OwnInMain && !shared && filepath.Base(common) == ".git" {
		if have, _, err := setup.InPlace(); err == nil && len(have) == 0 {
			setup.Root = filepath.Dir(common)
		}
	}
	return setup
}

// All returns the setups of an agent for the working copy with the top root: the user's own there, the shared if the agent has one, and the user's
// for all projects if there is a home folder.
func All(store *timeline.Store, root string, d *dialect.Dialect) []Setup {
	all := []Setup{In(store, root, d, false)}
	if d.Hooks.Shared != "" {
		all = append(all, In(store, root, d, true))
	}
	if user, err := ForUser(d, store.Env(), store.Now().UnixMilli()); err == nil {
		all = append(all, user)
	}
	return all
}

// WithHooks returns those of the setups that have hooks in the settings.
func WithHooks(all []Setup) ([]Setup, error) {
	var found []Setup
	for _, setup := range all {
		have, _, err := setup.InPlace()
		if err != nil {
			return nil, err
		}
		if len(have) > 0 {
			found = append(found, setup)
		}
	}
	return found, nil
}

// Follow adds an agent's hooks, and its commands and skill, to the settings of another working copy, with the top dir, if the working copy of the store has the hooks and the other one
// has none: the files of a frame lack settings that git ignores, and a session without hooks is not recorded. The settings there must not be a stranger's,
// because they may be a link to another folder.
func Follow(store *timeline.Store, dir string, d *dialect.Dialect) error {
	root := store.Workspace().Root
	if d.Hooks == nil || root == "" {
		return nil
	}
	here, err := WithHooks(All(store, root, d))
	if err != nil || len(here) == 0 || here[0].User != "" {
		return err // the user's settings hold there, too
	}
	all := All(store, dir, d)
	all[0].Root = dir // an older version of the agent may not read the settings of the main checkout
	there, err := WithHooks(all)
	if err != nil || len(there) > 0 {
		return err
	}
	extras := here[0].ExtrasInPlace()
	here[0].Root = dir
	_, err = here[0].Enable()
	for i := 0; i < len(extras) && err == nil; i++ {
		extras[i].Root = dir
		if extras[i].State() == Absent {
			_, err = extras[i].Enable()
		}
	}
	return err
}
