package run

import (
	"context"
	"errors"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func checkCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "check",
		Summary: "check a workflow file without running it",
		Usage:   []string{"<workflow>...", "--schema"},
		About: `Reads workflow files as run does and reports every error: unknown keys, missing tasks, needs
that form a cycle, invalid schemas and conditions. check runs and stores nothing, so it
works outside of a repository, too, and needs no confirmation.

With --schema, prints the JSON Schema of workflow files, with which editors complete and check
keys. An editor finds it by the line that "git smithers help workflow" shows.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "schema", Usage: "print the JSON Schema of workflow files"},
		},
		Exits: []int{fault.ExitNotFound},
		Examples: []arg.Example{
			{"check a workflow before it runs", "git smithers check triage.yaml"},
			{"keep the JSON Schema for an editor without network", "git smithers check --schema >workflow.schema.json"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		switch {
		case c.Bool("schema") == c.Args().Present():
			return cmd.Misused("check needs workflow files, or --schema alone")
		case c.Bool("schema"):
			text, err := workflow.JSONSchema()
			if err != nil {
				return err
			}
			return s.Printf("%s", text)
		}
		return runCheck(ctx, s, c.Args().Slice())
	}
	return cmd
}

// runCheck checks every file, and prints a line for each valid file. A file with errors does not stop the check of the
// other files. runCheck returns the last error, which the caller prints, and prints the earlier errors itself. If all
// files are valid, the error is nil. If ctx ends, or if the reader closes the output, runCheck returns at once.
func runCheck(ctx context.Context, s *session.Session, files []string) error {
	var failed error
	for _, file := range files {
		wf, err := s.Folder().ReadWorkflow(ctx, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = printChecked(ctx, s, file, wf)
		}
		switch {
		case err == nil:
		case errors.Is(err, term.ErrOutputClosed):
			return err
		case failed == nil:
			failed = err
		default: // the caller prints only the last error
			s.Report(failed)
			failed = err
		}
	}
	return failed
}

// printChecked prints a line about a valid workflow file or, with --json, a document. wf is the workflow in the file.
func printChecked(ctx context.Context, s *session.Session, file string, wf *workflow.Workflow) error {
	if s.JSON {
		return s.WriteJSON(term.Document("check", term.Member("file", file), term.Member("workflowName", wf.Name), term.Member("tasks", len(wf.Tasks)),
			term.Member("loops", len(wf.Loops)), term.Member("workflowHash", wf.Snapshot().Hash()), term.Optional("stricter", wf.Stricter()),
			term.Optional("doubts", wf.Doubts), term.Optional("missing", app.MissingPrograms(ctx, wf, s.Env))))
	}
	for _, m := range app.MissingPrograms(ctx, wf, s.Env) {
		if m.Why != "" {
			s.Note("%s: %s, and %s needs it", plain.Text(file), plain.Text(m.Why), plain.Text(strings.Join(m.NodeIDs, ", ")))
			continue
		}
		s.Note("%s: %s is not installed here, which %s needs%s", plain.Text(file), plain.Text(m.Name), plain.Text(strings.Join(m.NodeIDs, ", ")), installedBy(m))
	}
	for _, t := range wf.Stricter() {
		s.Note("%s:%d: the command of task %s ends at its first failing line, as of this version; `set +e` at its beginning lets it go on", plain.Text(file), t.Line, plain.Text(t.NodeID))
	}
	for _, d := range wf.Doubts {
		s.Note("%s:%d: %s has the keyword %s, which JSON Schema does not know: it checks nothing", plain.Text(file), d.Line, plain.Text(d.Schema), plain.Text(d.Keyword))
	}
	what := plain.Count(len(wf.Tasks), "task")
	if len(wf.Loops) > 0 {
		what += ", " + plain.Count(len(wf.Loops), "loop")
	}
	return s.Printf("%s: workflow %s is valid, %s\n", plain.Text(file), plain.Text(wf.Name), what)
}

// installedBy returns the words that say how a missing program is installed.
func installedBy(m app.MissingProgram) string {
	if m.Install == "" {
		return ""
	}
	return ": `" + m.Install + "`"
}
