package agents

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// setupDocument is the document of session enable --json and session disable --json.
type setupDocument struct {
	Kind    string `json:"kind"`
	Agent   string `json:"agent"`
	File    string `json:"file"` // relative to the top of the working copy, with slashes
	Enabled bool   `json:"enabled"`
	Changed bool   `json:"changed"`
}

// sharedFlag returns the flag --shared.
func sharedFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "shared", Usage: "use the settings that the project shares"}
}

func enableCommand() *arg.Command {
	return &arg.Command{
		Name:    "enable",
		Summary: "record the sessions of coding agents from now on",
		Usage:   []string{"[claude | codex | gemini | opencode | pi]... [--shared]"},
		About: `Adds hooks to the settings of the agents in this working copy. Without names, these are the agents
that are installed, or claude if none is on PATH. What is in a file of settings stays. A colleague without git-smithers is not
disturbed: the hooks then do nothing. A session that is running picks the hooks up when it is
restarted. A file that enable makes for this clone alone is put into .git/info/exclude, so that
git add does not take it.

The files: .claude/settings.local.json or, with --shared, .claude/settings.json; .codex/hooks.json;
.gemini/settings.json; .opencode/plugin/git-smithers.js; .pi/extensions/git-smithers.ts. Some agents
ask whether you trust the hooks; session status says what is missing.`,
		MaxArgs:  arg.AnyNumber,
		Flags:    []urfave.Flag{sharedFlag()},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"record Claude Code in this repository", "git smithers session enable claude"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return withSetup(ctx, s, c, func(setup hooks.Setup) error {
				changed, err := setup.Enable()
				if err != nil {
					return err
				}
				if !s.JSON {
					s.Note("hooks of %s are in %s; `%s session status` says when the first has come", setup.Agent.Name, filepath.ToSlash(setup.File()), fault.Program)
					sayUnheard(s, setup)
					if trust := setup.Agent.Hooks.Trust; trust != "" {
						s.Note("%s", trust)
					}
				}
				return writeSetup(s, setup, true, changed)
			})
		},
	}
}

func disableCommand() *arg.Command {
	return &arg.Command{
		Name:    "disable",
		Summary: "record the sessions of coding agents no more",
		Usage:   []string{"[claude | codex | gemini | opencode | pi]... [--shared]"},
		About: `Removes the hooks that session enable has added. If nobody has changed the settings since, they
are byte for byte what they were. Recorded sessions stay. Without names, these are the hooks of all
agents; hooks in settings that the project shares stay without --shared.`,
		MaxArgs:  arg.AnyNumber,
		Flags:    []urfave.Flag{sharedFlag()},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"stop recording Claude Code in this repository", "git smithers session disable claude"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if c.Args().Present() {
				return withSetup(ctx, s, c, func(setup hooks.Setup) error { return disable(s, setup) })
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return disableAll(s, store, c.Bool("shared")) })
		},
	}
}

// disableAll removes the hooks of all agents from the user's own settings or, if shared is true, from those that the project shares. Settings that
// cannot be edited do not stop the others.
func disableAll(s *session.Session, store *timeline.Store, shared bool) error {
	root, err := topOf(store)
	if err != nil {
		return err
	}
	found := false
	var first error
	for _, name := range withHooks() {
		speaks, _ := dialect.Of(name)
		for _, setup := range setupsOf(store, root, speaks) {
			have, _, err := setup.InPlace()
			found = found || len(have) > 0
			switch {
			case setup.Shared != shared && len(have) > 0:
				sayHooks(s, setup)
				continue
			case setup.Shared != shared:
				continue
			case err == nil && len(have) > 0:
				err = disable(s, setup)
			}
			if first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return first
	}
	if !found {
		s.Note("nothing to do: no agent is recorded in this working copy")
	}
	return nil
}

// disable removes the hooks of one agent.
func disable(s *session.Session, setup hooks.Setup) error {
	changed, err := setup.Disable()
	if err != nil {
		return err
	}
	switch {
	case s.JSON:
	case changed:
		s.Note("sessions of %s are recorded no more: the hooks are gone from %s", setup.Agent.Name, filepath.ToSlash(setup.File()))
	default:
		s.Note("nothing to do: %s has no hooks of git-smithers", filepath.ToSlash(setup.File()))
		if setup.Agent.Hooks.Shared == "" {
			break
		}
		other := setup
		other.Shared = !setup.Shared
		if have, _, err := other.InPlace(); err == nil && len(have) > 0 {
			sayHooks(s, other)
		}
	}
	return writeSetup(s, setup, false, changed)
}

// sayHooks says how to remove the hooks that stay in a file of settings.
func sayHooks(s *session.Session, setup hooks.Setup) {
	command := []string{"disable", setup.Agent.Name}
	if setup.Shared {
		command = append(command, "--shared")
	}
	s.Note("hooks stay in %s: `%s` removes them", filepath.ToSlash(setup.File()), fault.CommandLine(fault.Program+" session", command...))
}

// sayUnheard warns of what keeps the agent from hearing its hooks, or the hooks from finding git-smithers.
func sayUnheard(s *session.Session, setup hooks.Setup) {
	for _, why := range setup.Unheard() {
		s.Warn(errors.New(why))
	}
	if _, err := gitexec.Find(s.Env, "git-smithers"); err != nil {
		s.Warn(errors.New("git-smithers is not on PATH, and a hook that does not find it does nothing"))
	}
}

// writeSetup prints the document of enable and disable, if a script reads.
func writeSetup(s *session.Session, setup hooks.Setup, enabled, changed bool) error {
	if !s.JSON {
		return nil
	}
	return s.WriteJSON(setupDocument{"session-hooks", setup.Agent.Name, filepath.ToSlash(setup.File()), enabled, changed})
}

// withSetup calls f with the setup of each agent that the command line names, or of those that are installed. Codes: usage for an unknown agent,
// no_working_copy outside of any working copy.
func withSetup(ctx context.Context, s *session.Session, c *urfave.Context, f func(hooks.Setup) error) error {
	names := c.Args().Slice()
	if len(names) == 0 {
		names = installed(s, c.Bool("shared"))
	}
	var speak []*dialect.Dialect
	for _, name := range names {
		d, ok := dialect.Of(name)
		if !ok || d.Hooks == nil {
			return fault.New(fault.Usage, "unknown agent %q", name).Hint("agents: %s", strings.Join(withHooks(), ", "))
		}
		if c.Bool("shared") && d.Hooks.Shared == "" {
			return fault.New(fault.Usage, "%s has no settings that a project shares", name)
		}
		speak = append(speak, d)
	}
	return s.WithStore(ctx, func(store *timeline.Store) error {
		root, err := topOf(store)
		for _, d := range speak {
			if err == nil {
				err = f(hooks.Setup{Agent: d, Root: root, Shared: c.Bool("shared"), Private: store.Private(), GitDir: store.Repo().CommonDir})
			}
		}
		return err
	})
}

// installed returns the names of the agents that are on PATH or, if shared is true, of those that have settings that a project shares. If there is none,
// it says so and returns Claude Code.
func installed(s *session.Session, shared bool) []string {
	found := slices.DeleteFunc(withHooks(), func(name string) bool {
		d, _ := dialect.Of(name)
		_, err := gitexec.Find(s.Env, name)
		return err != nil || shared && d.Hooks.Shared == ""
	})
	if len(found) > 0 {
		return found
	}
	if !shared {
		s.Note("no agent is on PATH: %s is the default", dialect.Claude)
	}
	return []string{dialect.Claude}
}

// setupsOf returns the setups of an agent in the working copy with the top root: the user's own and, if the agent has one, the shared.
func setupsOf(store *timeline.Store, root string, speaks *dialect.Dialect) []hooks.Setup {
	own := hooks.Setup{Agent: speaks, Root: root, Private: store.Private(), GitDir: store.Repo().CommonDir}
	if speaks.Hooks.Shared == "" {
		return []hooks.Setup{own}
	}
	shared := own
	shared.Shared = true
	return []hooks.Setup{own, shared}
}

// inPlace returns the setups of an agent that have hooks in the settings.
func inPlace(store *timeline.Store, root string, speaks *dialect.Dialect) ([]hooks.Setup, error) {
	var found []hooks.Setup
	for _, setup := range setupsOf(store, root, speaks) {
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

// withHooks returns the names of the agents whose hooks git-smithers can set up.
func withHooks() []string {
	return slices.DeleteFunc(dialect.Names(), func(name string) bool {
		d, _ := dialect.Of(name)
		return d.Hooks == nil
	})
}

// topOf returns the top of the working copy in which the command was called. Code: no_working_copy.
func topOf(store *timeline.Store) (string, error) {
	root := store.Workspace().Root
	if root == "" {
		return "", fault.New(fault.NoWorkingCopy, "the current folder is not in a working copy").
			Hint("call the command in the folder in which the agent works")
	}
	return root, nil
}
