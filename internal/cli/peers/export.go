package peers

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportOptions has the options of export.
type exportOptions struct {
	runs     []string // ids or unique prefixes; empty for all runs imported from Smithers and their forks
	to       string
	root     string // the folder in which the runs continue; "" for a default folder
	workflow string // the workflow file; "" for the files of the runs
}

func exportCommand() *arg.Command {
	return &arg.Command{
		Name:    "export",
		Summary: "write runs into a Smithers database",
		Usage:   []string{"[<run>...] --to <smithers.db> [--root DIR] [--workflow FILE]"},
		About: `Writes runs into a Smithers database, so that Smithers lists and resumes them: the named
runs, or all runs imported from Smithers and their forks. A new database is created. Rows
are added to an existing database in one transaction, even while an engine uses it. If the
database already has one of the runs, nothing is written.

A run that has not changed since its import is written with its original rows. For any
other run, such as a fork made with git smithers, export writes the frames, and Smithers
restores the rest from the newest frame when it resumes the run.

The runs continue in the working copy that holds the database, or in the folder named by
--root. If the database is outside of any working copy, or the runs had no working copy,
they continue in the folder of the database. Smithers refuses to resume a run if its
workflow file, or a module that the file imports, was changed or moved. With --workflow,
Smithers resumes all exported runs with that file; without it, forks get the current content
of their file. If Smithers would refuse a run, a warning names the reason.`,
		MaxArgs:  arg.AnyNumber,
		Required: []string{"to"},
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "write to the database `FILE` (required)"},
			&urfave.StringFlag{Name: "root", Usage: "make Smithers continue the runs in `DIR`"},
			&urfave.StringFlag{Name: "workflow", Usage: "make Smithers resume the runs with the workflow `FILE`"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"export a fork to Smithers", "git smithers export kmvx --to smithers.db --workflow triage.tsx"},
			{"write all imported runs to a new database", "git smithers export --to restored.db"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts := exportOptions{c.Args().Slice(), c.String("to"), c.String("root"), c.String("workflow")}
			if opts.to == "" {
				return fault.New(fault.Usage, "--to cannot be empty").Hint("name a file, such as --to smithers.db")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runExport(ctx, s, store, opts) })
		},
	}
}

// runExport exports runs, and prints a line for each exported run. It then warns of runs that Smithers would refuse to
// resume. With --json, it prints one document and no lines or warnings.
func runExport(ctx context.Context, s *session.Session, store *timeline.Store, opts exportOptions) error {
	req, err := exportRequest(s, opts)
	if err != nil {
		return err
	}
	exported, err := requests.Open(s, store).Export(ctx, req)
	if err != nil {
		return err
	}
	if exported.Retries > 0 {
		s.Note("an engine had the database locked: written at try %d", exported.Retries+1)
	}
	if s.JSON {
		return s.WriteJSON(term.Document("export", term.Member("to", opts.to), term.Member("runs", exported.Runs)))
	}
	var b strings.Builder
	for _, run := range exported.Runs {
		how := ""
		if run.Exact {
			how = ", as imported"
		}
		fmt.Fprintf(&b, "exported %s: %s%s\n", plain.Text(run.RunID), plain.Count(int(run.Frames), "frame"), how)
	}
	if len(exported.Runs) == 0 {
		s.Note("nothing was exported: no run was imported from Smithers")
	}
	if err := s.Printf("%s", b.String()); err != nil {
		return err
	}
	warnOfRefusals(s, exported.Runs)
	return nil
}
