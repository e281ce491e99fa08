package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The formats of session export.
const (
	formatSeed     = "seed"
	formatMessages = "messages"
)

func exportCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "export",
		Summary: "write a session as JSON lines",
		Usage:   []string{"[<session>] --format seed | messages [-o FILE] [--from N]"},
		About: `Writes a session for other programs, as JSON lines. <session> is a run, the agent's own id, or @ for the
newest session, which is the default. <session>:N ends at frame N.

--format seed writes a line for each frame: time, label, todos, branch, number of tool calls, the
first sentence of the last answer, and the patches since the frame before. All patches, applied in
order by git apply to the files of the first frame, give the files of each frame.
--format messages writes the conversation as one line, in the form in which chat models are
trained: prompts, answers, tool calls and their results.

Secrets stay placeholders. Export searches the run for secrets as push does, and warns if there are
any. -o writes to a file, which must not exist; only you can read it.`,
		MaxArgs:  1,
		Newest:   true,
		Required: []string{"format"},
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Usage: "write seed or messages: `FORMAT` (required)"},
			&urfave.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`"},
			&urfave.Int64Flag{Name: "from", Usage: "with --format seed, begin with frame `N`"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"the steps of the newest session with their patches", "git smithers session export --format seed"},
			{"a conversation for training", "git smithers session export claude-1c5e0d9e --format messages -o chat.jsonl"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		format, file, from := c.String("format"), c.String("output"), c.Int64("from")
		switch {
		case format != formatSeed && format != formatMessages:
			return cmd.Misused("unknown format %q: seed or messages", format)
		case format == formatMessages && c.IsSet("from"):
			return cmd.Misused("--from goes with --format seed: a conversation is written whole")
		case from < 0:
			return cmd.Misused("--from must not be negative")
		case file == "" && c.IsSet("output"):
			return cmd.Misused("--output is empty")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			at, err := loadSession(ctx, store, c.Args().First())
			if err != nil {
				return err
			}
			if from > at.Address.Frame {
				return fault.New(fault.FrameNotFound, "the session has no frame %d", from).Hint("its newest frame is %d", at.Address.Frame)
			}
			if err := warnOfSecrets(ctx, s, store, at); err != nil {
				return err
			}
			return runExport(ctx, s, exportJob{store, at, format, from}, file)
		})
	}
	return cmd
}

// loadSession loads the frame of a session that text names.
func loadSession(ctx context.Context, store *timeline.Store, text string) (*timeline.LoadedEntry, error) {
	address, err := agent.Address(ctx, store, text)
	if err != nil {
		return nil, err
	}
	return store.Load(ctx, address)
}

// warnOfSecrets warns if the run has secrets that a push would refuse to send.
func warnOfSecrets(ctx context.Context, s *session.Session, store *timeline.Store, at *timeline.LoadedEntry) error {
	if store.Settings().Secrets == vault.Off {
		return nil
	}
	steps := s.Steps()
	defer steps.Finish()
	report, err := secretscan.Scan(ctx, store, secretscan.Request{
		Runs:     []secretscan.Run{{ID: at.Address.Run, Tip: at.Entry.ID}},
		Progress: func(done, total int) { steps.Update("looking for secrets", done, total) },
	})
	if err == nil && len(report.Findings) > 0 {
		s.Warn(fmt.Errorf("run %s has %s, which may be in the export: `%s` shows where",
			at.Address.Run, plain.Count(len(report.Findings), "secret"), fault.CommandLine(arg.Program, "scan", at.Address.Run)))
	}
	return err
}

// exportJob is an export of a session up to a frame.
type exportJob struct {
	store  *timeline.Store
	at     *timeline.LoadedEntry
	format string
	from   int64
}

// runExport writes the export to a file, or to standard output if file is "".
func runExport(ctx context.Context, s *session.Session, j exportJob, file string) error {
	if file == "" {
		_, err := j.write(ctx, s, s.Out)
		return err
	}
	lines := 0
	err := writeNew(s.Path(file), file, func(w io.Writer) (err error) {
		lines, err = j.write(ctx, s, w)
		return err
	})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("session-export", term.Member("run", j.at.Address.Run), term.Member("format", j.format), term.Member("file", file),
			term.Member("lines", lines)))
	}
	s.Note("wrote %s of %s to %s", plain.Count(lines, "line"), plain.Text(j.at.Address.Run), plain.Text(file))
	return nil
}

// write writes the lines of the export to w, and returns their number.
func (j exportJob) write(ctx context.Context, s *session.Session, w io.Writer) (lines int, err error) {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if j.format == formatMessages {
		chat, err := agent.Messages(j.at)
		if err == nil {
			err = out.Encode(chat)
		}
		return 1, err
	}
	progress := s.Progress("exporting frames")
	defer progress.Finish()
	all := agent.Checkpoints{From: j.from, Progress: progress.Update}
	err = all.Write(ctx, j.store, j.at, func(c agent.Checkpoint) error {
		lines++
		return out.Encode(c)
	})
	return lines, err
}

// writeNew makes the file at path with what write writes. Only the user can read it. shown is the path as the user typed it. If write
// fails, there is no file. Codes: usage if the file exists, or its folder does not; write_failed.
func writeNew(path, shown string, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fault.New(fault.Usage, "%s exists already", shown).Hint("name another file, or remove it")
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".git-smithers-export-*")
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Usage, "the folder of %s does not exist", shown).Hint("make the folder, or name a file in another folder")
	}
	if err != nil {
		return fault.New(fault.WriteFailed, "write %s: %w", shown, err)
	}
	out := bufio.NewWriter(draft)
	err = write(out)
	if failed := out.Flush(); failed != nil { // also if a write before has failed
		err = fault.New(fault.WriteFailed, "write %s: %w", shown, failed)
	}
	if err == nil {
		if err = errors.Join(draft.Close(), os.Rename(draft.Name(), path)); err != nil {
			err = fault.New(fault.WriteFailed, "write %s: %w", shown, err)
		}
	}
	if err != nil {
		_, _ = draft.Close(), os.Remove(draft.Name())
	}
	return err
}
