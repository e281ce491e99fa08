package agents

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// replayDocument is the document of session replay --json.
type replayDocument struct {
	Kind    string                     `json:"kind"`
	Run     string                     `json:"run"`
	Frame   int64                      `json:"frame"`
	Agent   string                     `json:"agent"`
	Session string                     `json:"session"`
	Title   string                     `json:"title"`
	Turn    int                        `json:"turn"`
	State   string                     `json:"state"`
	Prompt  string                     `json:"prompt"`
	Todos   []agent.Todo               `json:"todos"`
	Tools   []agent.ToolCount          `json:"tools"`
	Files   []agent.FileCount          `json:"files"`
	Git     replayGit                  `json:"git"`
	Summary string                     `json:"summary"`
	Brief   string                     `json:"brief"`              // all of this in Markdown
	Restore *requests.RestoredDocument `json:"restore,omitempty"`  // without --to; nil if the frame has no files
	Made    *madeDocument              `json:"checkout,omitempty"` // with --to
}

// replayGit is where the working copy stood.
type replayGit struct {
	Branch *string `json:"branch"`
	Commit *string `json:"commitId"`
	Dirty  *bool   `json:"dirty"`
}

// madeDocument is a new working copy.
type madeDocument struct {
	Path string `json:"path"`
	requests.RestoredCode
	files.Equipped
}

// replayOptions has the options of session replay.
type replayOptions struct {
	to            string // the folder of the new working copy; "" restores in place
	dryRun, force bool
}

func replayCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "replay",
		Summary: "go back to a step of a session, with a brief for the agent",
		Usage:   []string{"[<session>[:<frame> | :turn:N | :CALL]] [--force] [--dry-run]", "[<session>[:<frame> | :turn:N | :CALL]] --to DIR"},
		About: `Puts the files of the frame into the working copy, as restore does, and prints in Markdown what an
agent needs to know to go on: title, todos, the prompt and what was done, branch and commit, and the
last answer. The conversation itself stays behind: what-if takes it along.

<session> is a run, the agent's own id, or @ for the newest session, which is the default. The frame is
a number, turn:7 (before the seventh prompt), or the id of a tool call; the default is the newest.

If the working copy has changes that are neither in the session nor in the commit that is checked
out, replay refuses. With --force it saves them as a frame of the session first. --to puts the files
into a new working copy in DIR instead. --dry-run prints the brief and the changes, and makes none.
The frames of an imported session have no files: replay refuses, and --dry-run prints the brief.`,
		MaxArgs: 1,
		Newest:  true,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "make a new working copy in `DIR`"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "print the brief and the changes without making them"},
			&urfave.BoolFlag{Name: "force", Usage: "go on although there are unsaved changes; they are saved in a frame"},
			requests.TrustFilesFlag(),
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"see what a session was about, and what a replay would change", "git smithers session replay @ --dry-run"},
			{"hand the files and the brief of the third prompt to another agent", "git smithers session replay @:turn:3 --to ../again >brief.md"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := replayOptions{c.String("to"), c.Bool("dry-run"), c.Bool("force")}
		switch {
		case opts.to == "" && c.IsSet("to"):
			return cmd.Misused("--to is empty")
		case opts.to != "" && opts.dryRun:
			return cmd.Misused("--to and --dry-run do not go together: a new folder has no files to change")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			at, err := loadSession(ctx, store, c.Args().First())
			if err != nil {
				return err
			}
			brief, err := agent.BriefOf(ctx, store, at)
			if err != nil {
				return err
			}
			switch {
			case brief.Bare:
				return replayBare(s, brief, opts)
			case opts.to != "":
				return replayInto(ctx, s, store, brief, opts.to)
			}
			return replayHere(ctx, s, store, brief, opts)
		})
	}
	return cmd
}

// replayBare prints the brief of a frame without files, if opts.dryRun is true. Otherwise it returns no_code.
func replayBare(s *session.Session, brief *agent.Brief, opts replayOptions) error {
	err := fault.New(fault.NoCode, "no files were captured for %s", brief.At).
		Hint("a session that was imported, or recorded while smithers.worktree was off, has no files").
		Hint("`%s` prints the brief", fault.CommandLine(arg.Program, "session", "replay", brief.At.String(), "--dry-run")).
		Detail("runId", brief.At.Run).Detail("frame", brief.At.Frame)
	if !opts.dryRun {
		return err
	}
	if s.JSON {
		return s.WriteJSON(describeReplay(brief))
	}
	s.Note("%s: there is nothing to restore", plain.Text(err.Error()))
	return s.Printf("%s", briefText(brief))
}

// replayInto makes a new working copy with the files, and prints the brief.
func replayInto(ctx context.Context, s *session.Session, store *timeline.Store, brief *agent.Brief, dir string) error {
	made, equipped, err := requests.Open(s, store).CheckOutWhole(ctx, files.CheckoutRequest{From: brief.At.String(), Dir: dir})
	if err != nil {
		return err
	}
	path := made.WorkingCopy.Root()
	if s.JSON {
		doc := describeReplay(brief)
		doc.Made = &madeDocument{path, requests.CodeOf(made.VCS), equipped}
		return s.WriteJSON(doc)
	}
	s.Note("the files of %s are in %s", plain.Text(made.From.String()), plain.Text(path))
	requests.NoteIncomplete(s, made.VCS)
	return s.Printf("%s", briefText(brief))
}

// replayHere restores the files in place, and prints the brief. If opts.dryRun is true, it prints the changes instead of making them.
func replayHere(ctx context.Context, s *session.Session, store *timeline.Store, brief *agent.Brief, opts replayOptions) error {
	if !opts.force {
		err := agent.CheckSaved(ctx, store, brief.At)
		if opts.dryRun && fault.CodeOf(err) == fault.UnsavedWork {
			s.Note("%s: replay would refuse without --force", plain.Text(err.Error()))
			err = nil
		}
		if err != nil {
			return err
		}
	}
	done, err := requests.Open(s, store).Restore(ctx, files.RestoreRequest{
		From: brief.At.String(), DryRun: opts.dryRun,
		Confirm: requests.ConfirmRemoval(s, opts.force, "--force saves the files in a frame and removes them"),
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the files are restored, so print the brief, even after Ctrl-C
	if s.JSON {
		doc, restored := describeReplay(brief), requests.DescribeRestored(done, opts.dryRun)
		doc.Restore = &restored
		return s.WriteJSON(doc)
	}
	var changes []jjbridge.PathChange
	if opts.dryRun {
		changes = done.Changes
	}
	if err := s.Printf("%s%s", briefText(brief), changesText(changes)); err != nil {
		return err
	}
	return requests.NoteRestored(ctx, s, store, done, opts.dryRun)
}

// describeReplay returns the brief as a document, without what was done to files.
func describeReplay(b *agent.Brief) replayDocument {
	return replayDocument{
		Kind: "session-replay", Run: b.At.Run, Frame: b.At.Frame, Agent: b.Agent, Session: b.Session, Title: b.Title,
		Turn: b.Turn, State: b.State, Prompt: b.Prompt, Todos: append([]agent.Todo{}, b.Todos...), Tools: b.Tools, Files: b.Files,
		Git: replayGit{b.Git.Branch, b.Git.Head, b.Git.Dirty}, Summary: b.Summary, Brief: briefText(b),
	}
}
