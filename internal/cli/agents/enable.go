package agents

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// placeFlags returns the flags --shared and --user.
func placeFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "shared", Usage: "use the settings that the project shares"},
		&urfave.BoolFlag{Name: "user", Usage: "use your own settings, for all repositories"},
	}
}

func enableCommand() *arg.Command {
	return &arg.Command{
		Name:    "enable",
		Summary: "record the sessions of coding agents from now on",
		Usage:   []string{"[" + strings.Join(withHooks(), " | ") + "]... [--shared | --user] [--commands] [--skill] [--yes]", strings.Join(pasted(), " | ") + " --print"},
		About: `Adds hooks to the settings of the agents in this working copy. Without names, these are the agents
that are installed, or claude if none is on PATH. What is in a file of settings stays. A colleague without git-smithers is not
disturbed: the hooks then do nothing. A session that is running picks the hooks up when it is
restarted. A file that enable makes for this clone alone is put into .git/info/exclude, so that
git add does not take it.

With --user, the hooks are in the agents' settings in your home folder, and each repository in which
an agent works is recorded: once, if the working copy has hooks of its own, too. An agent that starts
above repositories, in none, is not recorded.

The files: .claude/settings.local.json or, with --shared, .claude/settings.json; .codex/hooks.json;
.gemini/settings.json; .qwen/settings.json; .github/hooks/git-smithers.json (copilot);
.kilo/plugin/git-smithers.js; .opencode/plugin/git-smithers.js; .pi/extensions/git-smithers.ts;
.cursor/hooks.json; .factory/hooks.json (droid). Some agents ask whether you trust the hooks; session
status says what is missing.

The settings of kimi are TOML in your home folder, and no file is edited: --print prints the hooks,
for you to add.

--commands adds commands that you call in the agent: /rewind-files, /what-if, /checkpoint and
/timeline. --skill adds a text that tells the agent when to look back, when to make a checkpoint, and
what does not come back. Both are files in the agent's own folder, for this clone alone: enable lists
them and asks. A file of that name that is not of git-smithers stays as it is.`,
		MaxArgs: arg.AnyNumber,
		Flags: append(placeFlags(),
			&urfave.BoolFlag{Name: "print", Usage: "print the hooks for settings that you edit yourself"},
			&urfave.BoolFlag{Name: "commands", Usage: "add commands that you call in the agent, such as /rewind-files"},
			&urfave.BoolFlag{Name: "skill", Usage: "add a skill: when the agent looks back, and what does not come back"},
			&urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write the files of --commands and --skill without asking"},
		),
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"record Claude Code in this repository", "git smithers session enable claude"},
			{"go back without leaving the agent", "git smithers session enable claude --commands --skill"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if c.Bool("print") {
				return printHooks(s, c.Args().Slice())
			}
			return withSetup(ctx, s, c, func() []string { return installed(s, c.Bool("shared")) }, func(setup hooks.Setup) error {
				extras, err := askExtras(s, c, setup)
				if err != nil {
					return err
				}
				changed, err := setup.Enable()
				if err != nil {
					return err
				}
				written, err := writeExtras(extras)
				if err != nil {
					return err
				}
				if !s.JSON {
					s.Note("hooks of %s are in %s; `%s session status` says when the first has come", setup.Agent.Name, filepath.ToSlash(setup.File()), fault.Program)
					sayUnheard(s, setup)
					if trust := setup.Agent.Hooks.Trust; trust != "" {
						s.Note("%s", trust)
					}
					sayExtras(s, c, setup, written)
				}
				return writeSetup(s, setup, true, changed, written)
			})
		},
	}
}

// printHooks prints the hooks of agents whose settings a person edits.
func printHooks(s *session.Session, names []string) error {
	if len(names) == 0 {
		names = pasted()
	}
	for _, name := range names {
		d, ok := dialect.Of(name)
		if !ok || d.Pasted == nil {
			return fault.New(fault.Usage, "--print is not for %q: session enable writes the hooks itself", name).Hint("agents for --print: %s", strings.Join(pasted(), ", "))
		}
		write := func() error { return s.Printf("%s", hooks.Paste(d)) }
		if s.JSON {
			write = func() error {
				return s.WriteJSON(term.Document("session-hooks", term.Member("agent", name), term.Member("file", d.Pasted.File), term.Member("text", hooks.Paste(d))))
			}
		} else {
			s.Note("add this to %s", d.Pasted.File)
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

func disableCommand() *arg.Command {
	return &arg.Command{
		Name:    "disable",
		Summary: "record the sessions of coding agents no more",
		Usage:   []string{"[" + strings.Join(withHooks(), " | ") + "]... [--shared | --user]"},
		About: `Removes the hooks that session enable has added. If nobody has changed the settings since, they
are byte for byte what they were. Commands and the skill of enable go, too, unless somebody has edited
their files. Recorded sessions stay. Without names, these are the hooks of all
agents; hooks in settings that the project shares stay without --shared, and those in your home folder
without --user.`,
		MaxArgs:  arg.AnyNumber,
		Flags:    placeFlags(),
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"stop recording Claude Code in this repository", "git smithers session disable claude"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			if !c.Args().Present() && !c.Bool("user") {
				return s.WithStore(ctx, func(store *timeline.Store) error { return disableAll(s, store, c.Bool("shared")) })
			}
			return withSetup(ctx, s, c, withHooks, func(setup hooks.Setup) error { return disable(s, setup) })
		},
	}
}

// disableAll removes the hooks of all agents from the user's own settings for the project or, if shared is true, from those that the project shares.
// Settings that cannot be edited do not stop the others.
func disableAll(s *session.Session, store *timeline.Store, shared bool) error {
	root, err := topOf(store)
	if err != nil {
		return err
	}
	found := false
	var first error
	for _, name := range withHooks() {
		speaks, _ := dialect.Of(name)
		for _, setup := range hooks.All(store, root, speaks) {
			have, _, err := setup.InPlace()
			extras := len(setup.ExtrasInPlace()) > 0 && !shared
			found = found || len(have) > 0 || extras
			switch {
			case setup.User != "" || setup.Shared != shared:
				if len(have) > 0 {
					sayHooks(s, setup)
				}
				continue
			case err == nil && (len(have) > 0 || extras):
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
	removed, err := disableExtras(s, setup)
	if err != nil {
		return err
	}
	changed, err := setup.Disable()
	if err != nil {
		return err
	}
	switch {
	case s.JSON || !changed && len(removed) > 0:
	case changed:
		s.Note("sessions of %s are recorded no more: the hooks are gone from %s", setup.Agent.Name, filepath.ToSlash(setup.File()))
	default:
		s.Note("nothing to do: %s has no hooks of git-smithers", filepath.ToSlash(setup.File()))
		if setup.Agent.Hooks.Shared == "" || setup.User != "" {
			break
		}
		other := setup
		other.Shared = !setup.Shared
		if have, _, err := other.InPlace(); err == nil && len(have) > 0 {
			sayHooks(s, other)
		}
	}
	return writeSetup(s, setup, false, changed || len(removed) > 0, removed)
}

// sayHooks says how to remove the hooks that stay in a file of settings.
func sayHooks(s *session.Session, setup hooks.Setup) {
	command := []string{"disable", setup.Agent.Name}
	if setup.User != "" {
		command = append(command, "--user")
	} else if setup.Shared {
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
func writeSetup(s *session.Session, setup hooks.Setup, enabled, changed bool, extras []hooks.Setup) error {
	if !s.JSON {
		return nil
	}
	return s.WriteJSON(term.Document("session-hooks", term.Member("agent", setup.Agent.Name), term.Member("file", filepath.ToSlash(setup.File())),
		term.Member("enabled", enabled), term.Member("changed", changed), term.Optional("extras", filesOf(extras))))
}

// withSetup calls f with the setup of each agent that the command line names, or of those that others returns. Codes: usage for an unknown agent,
// no_working_copy outside of any working copy, unless the settings are the user's.
func withSetup(ctx context.Context, s *session.Session, c *urfave.Context, others func() []string, f func(hooks.Setup) error) error {
	names, shared, user := c.Args().Slice(), c.Bool("shared"), c.Bool("user")
	if shared && user {
		return fault.New(fault.Usage, "--shared and --user do not go together").
			Hint("--shared is for the settings of one project, and --user for your own: call the command once with each")
	}
	if len(names) == 0 {
		names = others()
	}
	var speak []*dialect.Dialect
	for _, name := range names {
		d, ok := dialect.Of(name)
		if ok && d.Pasted != nil {
			return fault.New(fault.Usage, "git-smithers does not edit the settings of %s", name).
				Hint("`%s` prints the hooks, and you add them to %s or remove them there", fault.CommandLine(fault.Program+" session", "enable", name, "--print"), d.Pasted.File)
		}
		if !ok || d.Hooks == nil {
			return fault.New(fault.Usage, "unknown agent %q", name).Hint("agents: %s", strings.Join(withHooks(), ", "))
		}
		if shared && d.Hooks.Shared == "" {
			return fault.New(fault.Usage, "%s has no settings that a project shares", name)
		}
		speak = append(speak, d)
	}
	each := func(setupOf func(*dialect.Dialect) (hooks.Setup, error)) error {
		for _, d := range speak {
			setup, err := setupOf(d)
			if err == nil {
				err = f(setup)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if user {
		return each(func(d *dialect.Dialect) (hooks.Setup, error) { return hooks.ForUser(d, s.Env, s.Now().UnixMilli()) })
	}
	return s.WithStore(ctx, func(store *timeline.Store) error {
		root, err := topOf(store)
		if err != nil {
			return err
		}
		return each(func(d *dialect.Dialect) (hooks.Setup, error) { return hooks.In(store, root, d, shared), nil })
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

// withHooks returns the names of the agents whose hooks git-smithers can set up.
func withHooks() []string { return agentsWith(func(d *dialect.Dialect) bool { return d.Hooks != nil }) }

// pasted returns the names of the agents whose hooks a person sets up.
func pasted() []string { return agentsWith(func(d *dialect.Dialect) bool { return d.Pasted != nil }) }

// agentsWith returns the names of the agents for which has returns true.
func agentsWith(has func(*dialect.Dialect) bool) []string {
	return slices.DeleteFunc(dialect.Names(), func(name string) bool {
		d, _ := dialect.Of(name)
		return !has(d)
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
