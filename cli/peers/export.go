package peers

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportOptions are what export takes.
type exportOptions struct {
	runs     []string // ids or unique prefixes; none for all that came from Smithers
	to       string
	root     string // "" for the folder of the database
	workflow string // "" to leave the runs' as they are
}

// exportDocument is what export prints with --json.
type exportDocument struct {
	Kind string                 `json:"kind"`
	To   string                 `json:"to"`
	Runs []smithers.ExportedRun `json:"runs"`
}

func exportCommand() *arg.Command {
	return &arg.Command{
		Name:    "export",
		Summary: "write runs into a Smithers database",
		Usage:   []string{"[<run>...] --to <smithers.db> [--root DIR] [--workflow FILE]"},
		About: `Writes runs so that Smithers lists them and resumes them: the named ones, or all that
came from Smithers, with the forks of them. The database is made where it does not
exist. One that an engine uses is added to, in one transaction; where it has one of the
runs already, nothing is written.

A run that is as it was imported gets back the rows that it had. Of any other run, such
as a fork that was made here, Smithers gets the frames, and restores the rest from the
newest one when it resumes the run.

The runs' paths are put in the working copy that the database is in; where it is in
none, or the runs were in none, where the database is; or in the folder that --root
names. Smithers refuses to resume a run whose workflow file, or a module of that, has
changed or been moved. With --workflow, it takes that file for all runs that are
exported; without, forks are given their file as it is now. Where Smithers would refuse
a run, a warning says so, and why.`,
		MaxArgs:  arg.AnyNumber,
		Required: []string{"to"},
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "write to the database `FILE` (required)"},
			&urfave.StringFlag{Name: "root", Usage: "the runs continue in `DIR`"},
			&urfave.StringFlag{Name: "workflow", Usage: "have the runs resumed with `FILE`"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"hand a fork to the engine", "git smithers export kmvx --to smithers.db --workflow triage.tsx"},
			{"get everything back that was imported", "git smithers export --to restored.db"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts := exportOptions{c.Args().Slice(), c.String("to"), c.String("root"), c.String("workflow")}
			if opts.to == "" {
				return fault.New(fault.Usage, "--to does not take an empty name").Hint("it takes a file, such as smithers.db")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runExport(ctx, s, store, opts) })
		},
	}
}

// runExport exports runs and prints them.
func runExport(ctx context.Context, s *session.Session, store *timeline.Store, opts exportOptions) error {
	req, err := exportRequest(s, opts)
	if err != nil {
		return err
	}
	exported, err := desk.Open(s, store).Export(ctx, req)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(exportDocument{"export", opts.to, exported.Runs})
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
		s.Note("no run came from Smithers")
	}
	if err := s.Printf("%s", b.String()); err != nil {
		return err
	}
	warnOfRefusals(s, exported.Runs)
	return nil
}
