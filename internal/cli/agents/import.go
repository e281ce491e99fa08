package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func importCommand() *arg.Command {
	return &arg.Command{
		Name:    "import",
		Summary: "make runs of sessions that were not recorded",
		Usage:   []string{"<agent> <file>..."},
		About: `Reads an agent's own files with conversations from before session enable. Each file becomes the run
<agent>-<session id>: a frame for each prompt and one for the end, at the times that the lines have,
with prompts, answers, tool calls, tokens, todos and the conversation. The frames have no files.
Secrets become placeholders.

The session id is what the lines say. For claude, qwen, kilo and opencode it is the name of the file without
its extension, unless that cannot be an id. A run that exists stays as it is. Of several files, one
that cannot be imported does not stop the others. Files may have 256 MB; lines of more than 8 MB
are left out.

The files of claude are in ~/.claude/projects, of codex in ~/.codex/sessions, of gemini in
~/.gemini/tmp/*/chats, of qwen in ~/.qwen/projects/*/chats, of copilot in
~/.copilot/session-state/*/events.jsonl, and of pi in ~/.pi/agent/sessions. kilo and opencode keep their
conversations in a database, which import cannot read: a file of theirs is what the plugin has written,
in ~/.local/share/kilo/git-smithers or
~/.local/share/opencode/git-smithers.`,
		MinArgs:  2, //nolint:mnd // an agent and a file
		MaxArgs:  arg.AnyNumber,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"the sessions of Claude Code in one project", "git smithers session import claude ~/.claude/projects/-home-ada-site/*.jsonl"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			name, files := c.Args().First(), c.Args().Tail()
			speaks, ok := dialect.Of(name)
			if !ok || !speaks.ReadsTranscripts() {
				return fault.New(fault.Usage, "git-smithers cannot read the conversations of agent %q", name).
					Hint("agents: %s", strings.Join(withTranscripts(), ", "))
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runImport(ctx, s, store, speaks, files) })
		},
	}
}

// withTranscripts returns the names of the agents whose conversations git-smithers can read.
func withTranscripts() []string { return agentsWith((*dialect.Dialect).ReadsTranscripts) }

// passable lists the codes of errors that are about one file, so that the next file can be imported.
var passable = []fault.Code{fault.InvalidInput, fault.LimitExceeded, fault.RunExists, fault.SecretsFound}

// runImport imports the files one after the other, and prints the run of each. The error of the only file is returned; of several files,
// errors are warnings, and the error says how many files were not imported.
func runImport(ctx context.Context, s *session.Session, store *timeline.Store, speaks *dialect.Dialect, files []string) error {
	var first error
	failed := 0
	for _, file := range files {
		err := importFile(ctx, s, store, speaks, file)
		if err == nil {
			continue
		}
		if len(files) == 1 || !slices.Contains(passable, fault.CodeOf(err)) {
			return err
		}
		s.Warn(err)
		if failed++; first == nil {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	return fault.New(fault.CodeOf(first), "%d of %s were not imported", failed, plain.Count(len(files), "file")).
		Hint("the warnings say why")
}

// importFile imports one file, and prints its run.
func importFile(ctx context.Context, s *session.Session, store *timeline.Store, speaks *dialect.Dialect, file string) error {
	progress := s.Progress("importing " + file)
	defer progress.Finish()
	done, err := agent.Import{Speaks: speaks, Path: s.Path(file), Shown: file, Progress: progress.Update}.Run(ctx, store)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("session-import", term.Member("agent", speaks.Name), term.Member("file", file), done))
	}
	if done.TooLong > 0 {
		s.Warn(fmt.Errorf("%s of %s are left out: they have more than 8 MB", plain.Count(done.TooLong, "line"), file))
	}
	s.Note("imported %s: %s, %s", plain.Text(file), plain.Count(done.Turns, "turn"), plain.Count(done.Lines, "line"))
	return s.Printf("%s\n", plain.Text(done.Run))
}
