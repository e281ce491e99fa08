package inspect

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	content "github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/web/report"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The formats of report.
const (
	reportHTML     = "html"
	reportMarkdown = "md"
	reportSVG      = "svg"
)

// reportOptions has the options of report.
type reportOptions struct {
	runs   []string
	file   string // "" chooses; "-" is standard output
	format string
	force  bool
	allow  []string
}

// reportDocument is the document of report --json.
type reportDocument struct {
	Kind    string   `json:"kind"`
	Runs    []string `json:"runs"`
	Format  string   `json:"format"`
	File    string   `json:"file"` // "-" is standard output
	Bytes   int      `json:"bytes"`
	Secrets int      `json:"secrets"` // placeholders in what was read, each counted once a run
}

func reportCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "report",
		Summary: "write a page about runs, to look at and to share",
		Usage:   []string{"<run>... [-o FILE] [--format html | md | svg] [--force]"},
		About: `Writes one file for a pull request, a CI artefact or an incident. The page has how the run
stands, its steps on a time axis, and logs, changes of state and code, and the conversation
of a session, which open without a script. It has at most 2 MB and refers to nothing outside
of itself. What is left out is counted in its place.

--format md writes a sentence, a table and the end of the failing log, for a comment or the
summary of a CI job; --format svg the time axis alone, as an image. With several runs, the
page also compares them.

Secrets become placeholders, whatever smithers.secrets is; see git smithers help secrets.

Without -o, the report goes to standard output or, at a terminal, to <run>.html in this
folder. A file that exists is replaced only with --force.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, - for standard output"},
			&urfave.StringFlag{Name: "format", Usage: "write html, md or svg: `FORMAT` (default: by the name of the file, else html)"},
			&urfave.BoolFlag{Name: "force", Usage: "replace a file that exists"},
			arg.TextsFlag("allow", "show the secret with the `DIGEST` as it is"),
		},
		Exits: append(arg.Reads(), fault.ExitConflict),
		Examples: []arg.Example{
			{"write a page to look at", "git smithers report triage-1 -o triage.html"},
			{"comment a pull request", "git smithers report triage-1 --format md | gh pr comment --body-file -"},
			{"compare a run with its fork", "git smithers report triage-1 kx2m4abc -o both.html"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := reportOptions{c.Args().Slice(), c.String("output"), c.String("format"), c.Bool("force"), arg.Texts(c, "allow")}
		if c.IsSet("output") && opts.file == "" {
			return fault.New(fault.Usage, "-o cannot be empty").Hint("name a file, such as -o run.html")
		}
		if c.IsSet("format") && !slices.Contains([]string{reportHTML, reportMarkdown, reportSVG}, opts.format) {
			return cmd.Misused("--format is html, md or svg, not %q", opts.format)
		}
		var err error
		if opts.format, err = formatOf(opts.file, opts.format); err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runReport(ctx, s, store, opts) })
	}
	return cmd
}

// formatOf returns the format of a report: the wanted one or, if that is "", the one that the name of the file says. Without a file or an
// extension, it is html. The error is usage if the name of the file says another format than the wanted one, or none that report writes.
func formatOf(file, wanted string) (string, error) {
	extension := strings.ToLower(filepath.Ext(file))
	says := map[string]string{
		".html": reportHTML, ".htm": reportHTML, ".md": reportMarkdown, ".markdown": reportMarkdown, ".svg": reportSVG,
	}[extension]
	switch {
	case says != "" && wanted != "" && says != wanted:
		return "", fault.New(fault.Usage, "%s is a name for %s, and --format says %s", file, says, wanted).
			Hint("leave out --format, or name a file that ends in .%s", wanted)
	case says == "" && wanted == "" && extension != "":
		return "", fault.New(fault.Usage, "report does not write files of the type %s", extension).
			Hint("name a file that ends in .html, .md or .svg, or choose the format with --format")
	}
	return cmp.Or(wanted, says, reportHTML), nil
}

// runReport writes a report. The error is usage if the file exists and opts.force is false.
func runReport(ctx context.Context, s *session.Session, store *timeline.Store, opts reportOptions) error {
	if opts.file != "" && opts.file != "-" { // before anything is read
		if err := checkFree(s, opts.file, opts.force); err != nil {
			return err
		}
	}
	progress := s.Progress("reading changes")
	req := content.Request{Runs: opts.runs, Allow: opts.allow, Brief: opts.format != reportHTML, Progress: progress.Update}
	r, err := content.Collect(ctx, store, req, s.Now())
	progress.Finish()
	if err != nil {
		return err
	}
	data, err := render(r, opts.format)
	if err != nil {
		return err
	}
	doc := reportDocument{"report", nil, opts.format, opts.file, len(data), r.Secrets}
	for _, run := range r.Runs {
		doc.Runs = append(doc.Runs, run.ID)
	}
	if opts.file == "" {
		doc.File = "-"
		if s.OutTTY {
			if doc.File, err = reportName(doc.Runs, opts.format); err != nil {
				return err
			}
			if err := checkFree(s, doc.File, opts.force); err != nil {
				return err
			}
		}
	}
	return deliver(s, doc, data)
}

// render returns the report in a format.
func render(r *content.Report, format string) ([]byte, error) {
	switch format {
	case reportMarkdown:
		return report.Markdown(r), nil
	case reportSVG:
		return report.SVG(r), nil
	}
	return report.HTML(r)
}

// reportName returns the name of a file in the folder of the caller.
func reportName(runs []string, format string) (string, error) {
	if len(runs) > 1 {
		return "report." + format, nil
	}
	name, err := refs.EscapeRun(runs[0])
	return name + "." + format, timeline.Explain(err)
}

// checkFree returns the error usage if a file exists and must not be replaced, or if its folder does not exist.
func checkFree(s *session.Session, file string, force bool) error {
	path := s.Path(file)
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Usage, "the folder of %s does not exist", file).Hint("make the folder, or name a file in another folder")
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return fault.New(fault.Usage, "%s is a folder", file).Hint("name a file, such as -o run.html")
	case err == nil && !info.Mode().IsRegular():
		return fault.New(fault.Usage, "%s is not a regular file", file).Hint("without -o, a report that is piped goes to standard output")
	case err == nil && !force:
		return fault.New(fault.Usage, "%s already exists", file).Hint("choose another file name, or replace the file with --force")
	}
	return nil
}

// deliver writes a report to the file that doc names, and says so. With --json, it prints doc: to standard error if the report
// goes to standard output.
func deliver(s *session.Session, doc reportDocument, data []byte) error {
	if doc.File == "-" {
		if _, err := s.Out.Write(data); err != nil {
			return err
		}
		if s.JSON {
			s.TalkJSON(doc)
		}
		return nil
	}
	if err := fsx.Replace(s.Path(doc.File), data, 0o644); err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	s.Note("wrote a report on %s to %s: %s", plain.Count(len(doc.Runs), "run"), plain.Text(doc.File), display.Size(int64(doc.Bytes)))
	return nil
}
