package upkeep

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// secretsDocument is the document of the secret commands with --json.
type secretsDocument struct {
	Kind    string                 `json:"kind"`
	Secrets []timeline.KnownSecret `json:"secrets"`
}

// maxSecret is the largest size of a secret that can be added, in bytes.
const maxSecret = 64 << 10

func secretCommand() *arg.Command {
	return &arg.Command{
		Name:    "secret",
		Summary: "name values that must not enter the history",
		Usage:   []string{"add NAME [--command CMD] | list | remove NAME"},
		About: `Values that are added here are taken out of everything that is stored, as the values of
variables such as DEPLOY_TOKEN are. They are kept in .git/smithers/vault, which only you can
read, and are never pushed. See git smithers help secrets.`,
		Children: []*arg.Command{secretAddCommand(), secretListCommand(), secretRemoveCommand()},
	}
}

func secretAddCommand() *arg.Command {
	return &arg.Command{
		Name:    "add",
		Summary: "name a value that must not enter the history",
		Usage:   []string{"NAME [--command CMD]"},
		About: `Reads the value from standard input, or asks for it at a terminal, which does not show it. With
--command, runs a shell command once and takes what it prints. The end of the last line does
not count. A value cannot be an argument, because other users can see those.

An existing value of the same name is replaced. What is stored already stays: scan finds it.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{&urfave.StringFlag{Name: "command", Usage: "take the value from what the shell command `CMD` prints"}},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"add a value that a program prints", "git smithers secret add STAGING --command 'pass show staging'"},
			{"add a file's content", "git smithers secret add DEPLOY_KEY <key"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			name := c.Args().First()
			return s.WithStore(ctx, func(store *timeline.Store) error {
				value, err := readSecret(ctx, s, c.String("command"))
				if err != nil {
					return err
				}
				if err := timeline.AddSecret(store, name, value); err != nil {
					return err
				}
				if s.JSON {
					return writeSecrets(s, store)
				}
				s.Note("%s is kept out of the history from now on; `git smithers scan` looks for it in runs that exist", plain.Text(name))
				return nil
			})
		},
	}
}

// readSecret returns the value of a secret: what command prints, or what comes from standard input or the terminal.
func readSecret(ctx context.Context, s *session.Session, command string) (string, error) {
	var data []byte
	var err error
	switch {
	case command != "":
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the user has typed the command
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = s.Dir, s.Env, s.In, s.Err
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			return "", fault.New(fault.Usage, "the command for the secret failed: %w", err).Hint("nothing was added")
		}
		data = out.Bytes()
	case s.CanAsk():
		value, err := s.AskSecret("The secret (not shown):")
		return value, err
	default:
		data, err = io.ReadAll(io.LimitReader(s.In, maxSecret+1))
	}
	if len(data) > maxSecret {
		return "", fault.New(fault.Usage, "the secret has more than %d bytes", maxSecret)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), err
}

func secretListCommand() *arg.Command {
	return &arg.Command{
		Name:    "list",
		Summary: "list the names of values that are kept out of the history",
		About: `Lists the variables of the environment whose names say that they are secret, the secrets that
were added, and the passwords in the URLs of remotes; and why a value is not looked for, if it
is not. Values are never shown.`,
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"see whether a variable is masked", "git smithers secret list"}},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return writeSecrets(s, store) })
		},
	}
}

// writeSecrets prints the names of the known secrets.
func writeSecrets(s *session.Session, store *timeline.Store) error {
	list, err := timeline.KnownSecrets(store)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(secretsDocument{"secrets", append([]timeline.KnownSecret{}, list...)})
	}
	t := term.Table{Header: []string{"NAME", "FROM", "NOT LOOKED FOR BECAUSE IT"}}
	for _, k := range list {
		t.Add(term.Cell{Text: k.Name}, term.Cell{Text: k.Source}, term.Cell{Text: k.Why})
	}
	return t.Write(s.Terminal)
}

func secretRemoveCommand() *arg.Command {
	return &arg.Command{
		Name:    "remove",
		Summary: "forget a value that was added",
		Usage:   []string{"NAME"},
		About: `Forgets a value that secret add has kept. It is stored from then on where it occurs. Runs keep
their placeholders, and their tasks still get the value.`,
		MinArgs: 1, MaxArgs: 1,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"forget a revoked key", "git smithers secret remove DEPLOY_KEY"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				if err := timeline.RemoveSecret(store, c.Args().First()); err != nil {
					return err
				}
				if s.JSON {
					return writeSecrets(s, store)
				}
				return nil
			})
		},
	}
}
