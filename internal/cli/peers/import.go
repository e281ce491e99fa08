package peers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// importDocument is the document of import --json.
type importDocument struct {
	Kind string               `json:"kind"`
	Runs []importedRun        `json:"runs"`
	Left []smithers.LeftTable `json:"left"`
}

// importedRun is the outcome of an import or a watch for one run.
type importedRun struct {
	RunID   string  `json:"runId"`
	Outcome string  `json:"outcome"`
	Frames  int64   `json:"frames"` // how many frames are new
	Frame   *int64  `json:"frame"`  // the number of the newest frame; null if this repository does not have the run
	Tip     *string `json:"tip"`
	Rewound bool    `json:"rewound"`
	// Rendered counts the rendered frames of a run without snapshots. timeline does not list these frames.
	Rendered  int64                      `json:"rendered"`
	Marks     []smithers.Mark            `json:"marks"`
	Overruled []smithers.OverruledAnswer `json:"overruled"`
	Dropped   []smithers.DroppedAnswer   `json:"dropped"`
	Overtaken []smithers.OvertakenOp     `json:"overtaken,omitempty"`
	Code      *string                    `json:"code"` // the code of the error; null if the import has no error
	Message   *string                    `json:"message"`
}

func importCommand() *arg.Command {
	return &arg.Command{
		Name:    "import",
		Summary: "import the runs of a Smithers database",
		Usage:   []string{"<smithers.db> [--run R]... [--revive]"},
		About: `Imports runs from the database of Smithers, the TypeScript orchestrator: all runs, or the
runs named by --run and the runs from which they were forked. An imported run has its
frames, attempts, logs, outputs, loops, events, signals, approvals and forks. timeline,
diff, show, fork, restore and push work as for any other run, and export writes the run back to
Smithers. A second import adds what is new.

The database is only read, and an engine may write it meanwhile. A frame has the files of
the commit that Smithers recorded, if this repository has the commit. Rows of Smithers'
tables that belong to no run are skipped and named.

A run is imported completely or not at all. If a hash does not match, the run is imported
with the data as found, the frame is marked, and a warning names it.

Prints each run, the outcome, its new frames, its newest frame and its tip.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			importRunsFlag(),
			&urfave.BoolFlag{Name: "revive", Usage: "import the runs named by --run again, even if they were pruned and collected"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"import all runs", "git smithers import smithers.db"},
			{"import one run", "git smithers import smithers.db --run run-a"},
			{"see the imported run", "git smithers timeline run-a --tree"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			path, req := s.Path(c.Args().First()), smithers.ImportRequest{Runs: arg.Texts(c, "run"), Revive: c.Bool("revive")}
			if err := refuseEmptyRuns(req.Runs); err != nil {
				return err
			}
			if req.Revive && len(req.Runs) == 0 {
				return fault.New(fault.Usage, "--revive needs --run").Hint("add --run RUN for each run to import again")
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runImport(ctx, s, store, path, req) })
		},
	}
}

// importRunsFlag returns the flag --run, for a command that reads runs from a database of Smithers.
func importRunsFlag() urfave.Flag {
	return arg.TextsFlag("run", "import only the run `R` and the runs from which it was forked (can be repeated)")
}

// refuseEmptyRuns returns invalid_run_id if one of runs, the values of --run, is empty.
func refuseEmptyRuns(runs []string) error {
	if slices.Contains(runs, "") {
		return fault.New(fault.InvalidRunID, "the run id is empty")
	}
	return nil
}

// runImport imports runs from the database at path, and prints the outcome for each run, including the runs that could
// not be imported. If runs could not be imported, it returns the error of refusedImports. runImport sets req.Progress.
func runImport(ctx context.Context, s *session.Session, store *timeline.Store, path string, req smithers.ImportRequest) error {
	// begun ends the display "reading the database". The first call of req.Progress calls begun.
	bar, begun := s.Progress("importing"), sync.OnceFunc(s.While("reading the database"))
	req.Progress = func(run string, done, total int) {
		begun()
		bar.What = "importing " + plain.Text(run)
		bar.Update(done, total)
	}
	imported, err := smithers.Import(ctx, store, path, req)
	begun()
	bar.Finish()
	if imported == nil {
		return err
	}
	doc := importDocument{"import", []importedRun{}, imported.Left}
	if doc.Left == nil {
		doc.Left = []smithers.LeftTable{}
	}
	for _, run := range imported.Runs {
		doc.Runs = append(doc.Runs, describeImported(s, run))
	}
	if writeErr := writeImported(ctx, s, doc); writeErr != nil {
		return writeErr
	}
	return cmp.Or(err, refusedImports(s, imported, req.Runs))
}

// describeImported returns the JSON document of the outcome of an import for one run.
func describeImported(s *session.Session, run smithers.ImportedRun) importedRun {
	doc := importedRun{
		RunID: run.RunID, Outcome: run.Outcome, Frames: run.Frames, Rewound: run.Rewound, Rendered: run.Rendered,
		Marks: append([]smithers.Mark{}, run.Marks...), Overruled: append([]smithers.OverruledAnswer{}, run.Overruled...),
		Dropped: append([]smithers.DroppedAnswer{}, run.Dropped...), Overtaken: run.Overtaken,
	}
	if run.Tip != "" {
		doc.Frame, doc.Tip = &run.Frame, &run.Tip
	}
	if run.Err != nil {
		e := s.Describe(run.Err)
		code := string(e.Code)
		doc.Code, doc.Message = &code, &e.Msg
	}
	return doc
}

// writeImported prints a table with a line for each run in doc. It then warns of mismatches and of changes made with
// git-smithers that do not count in Smithers, and notes rows that were skipped. If the database has no runs, it notes
// this. With --json, it prints only doc.
func writeImported(ctx context.Context, s *session.Session, doc importDocument) error {
	if s.JSON {
		return s.WriteJSON(doc)
	}
	if len(doc.Runs) == 0 {
		s.Note("the database has no runs")
	}
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "OUTCOME", "NEW FRAMES", "FRAME", "TIP", "NOTE"}}
	for _, run := range doc.Runs {
		frame, tip := "", ""
		if run.Tip != nil {
			frame, tip = strconv.FormatInt(*run.Frame, 10), display.ShortID(*run.Tip)
		}
		t.Add(
			term.Cell{Text: run.RunID}, term.Cell{Text: run.Outcome}, term.Cell{Text: strconv.FormatInt(run.Frames, 10)},
			term.Cell{Text: frame}, term.Cell{Text: tip, Paint: p.Revision}, term.Cell{Text: run.note()},
		)
	}
	if err := t.Write(s.Terminal); err != nil {
		return err
	}
	for _, run := range doc.Runs {
		warnOfMarks(s, run)
		warnOfAnswers(s, run)
	}
	for _, left := range doc.Left {
		s.Note("skipped rows of table %s that belong to no run: %s", plain.Text(left.Table), plain.Count(int(left.Rows), "row"))
	}
	return nil
}

// note returns a remark for people about the import of a run: the error if the run was not imported, or an unusual
// finding. It returns "" if there is nothing to remark.
func (r importedRun) note() string {
	switch {
	case r.Message != nil:
		return plain.OneLine(*r.Message)
	case r.Rewound:
		return "Smithers went back to an earlier frame"
	case r.Rendered > 0:
		return plain.Count(int(r.Rendered), "rendered frame") + " of an old Smithers stored; its tasks and outputs are one frame, as imported"
	}
	return ""
}

// mostMarks is how many mismatches of a run warnOfMarks lists before it only counts the others.
const mostMarks = 5

// warnOfMarks warns of each mismatch that the import found in a run. If there are more than mostMarks+1 mismatches, it
// warns only of the first mostMarks, and then of the number of the others.
func warnOfMarks(s *session.Session, run importedRun) {
	for i, m := range run.Marks {
		if i == mostMarks && len(run.Marks) > mostMarks+1 {
			s.Warn(fmt.Errorf("%s: %d more mismatches: `git smithers show %s:FRAME` lists the mismatches of a frame",
				run.RunID, len(run.Marks)-mostMarks, fault.Word(run.RunID)))
			return
		}
		what := m.Found
		if strings.HasSuffix(m.What, "_hash") { // a stored hash differs from the hash of the data
			what = fmt.Sprintf("the database has %s, the computed hash is %s", cmp.Or(m.Stored, "none"), m.Found)
		}
		s.Warn(fmt.Errorf("%s:%d: %s of Smithers' frame %d: %s", run.RunID, m.Frame, m.What, m.PeerNo, what))
	}
}

// warnOfAnswers warns of everything that was done in this repository, was not passed to Smithers, and has no effect
// because Smithers did something else. These are answers to requests that Smithers has answered differently, does not
// have any more, or has asked again. They are also travels and resets of a run that Smithers has continued from another
// frame.
func warnOfAnswers(s *session.Session, run importedRun) {
	for _, o := range run.Overruled {
		s.Warn(fmt.Errorf("%s: %s was %s in this repository, but Smithers was not told and has another answer: %s",
			run.RunID, snapshot.Key(o.NodeID, o.Iteration), o.Here, o.Smithers))
	}
	for _, d := range run.Dropped {
		now := "no longer has this request"
		if d.AskedAgain {
			now = "has asked this question again"
		}
		s.Warn(fmt.Errorf("%s: %s was %s in this repository, but Smithers was not told and %s",
			run.RunID, snapshot.Key(d.NodeID, d.Iteration), d.Here, now))
	}
	for _, o := range run.Overtaken {
		s.Warn(fmt.Errorf("%s: op %d, %s, was done in this repository, but Smithers was not told and continued from frame %d",
			run.RunID, o.Number, display.Op(o.Op), o.From))
	}
}

// refusedImports returns the error for the runs that could not be imported, or nil if no import failed. named has the
// run ids that the user gave with --run. These are the rules:
//   - The error is run_not_found if the only failure is that the database lacks some runs in named.
//   - Otherwise the error is import_refused.
//   - A pruned run is a failure only if its id is in named, because the database still has all pruned runs.
//   - If named is not empty, a failure of another run is only a warning. That run is an ancestor of a run in named.
func refusedImports(s *session.Session, imported *smithers.ImportResult, named []string) error {
	var refused, missing []smithers.ImportedRun
	for _, run := range imported.Runs {
		switch {
		case run.Err == nil:
		case fault.CodeOf(run.Err) == fault.RunPruned && !slices.Contains(named, run.RunID):
		case len(named) > 0 && !slices.Contains(named, run.RunID):
			s.Warn(run.Err) // the run is an ancestor of a named run; the named run is imported without the ancestor
		case fault.CodeOf(run.Err) == fault.RunNotFound:
			missing = append(missing, run)
		default:
			refused = append(refused, run)
		}
	}
	all := slices.Concat(refused, missing)
	if len(all) == 0 {
		return nil
	}
	first := s.Describe(all[0].Err)
	out := fault.New(fault.ImportRefused, "%s", first.Msg)
	switch {
	case len(refused) == 0:
		out = fault.New(fault.RunNotFound, "%s", first.Msg)
		if len(missing) > 1 {
			out = fault.New(fault.RunNotFound, "the database has no runs %s", quotedRuns(missing))
		}
	case len(all) > 1:
		out = fault.New(fault.ImportRefused, "%s were not imported; the first error: %s", plain.Count(len(all), "run"), first.Msg)
	}
	out.Hints = first.Hints
	if len(refused) == 0 && len(missing) < len(imported.Runs) {
		out = out.Hint("the other named runs were imported")
	}
	ids := make([]string, len(all))
	for i, run := range all {
		ids[i] = run.RunID
	}
	return out.Detail("runs", ids)
}

// quotedRuns returns the ids of two or more runs in quotes, as a list with "and" before the last id.
func quotedRuns(runs []smithers.ImportedRun) string {
	ids := make([]string, len(runs))
	for i, run := range runs {
		ids[i] = strconv.Quote(run.RunID)
	}
	return strings.Join(ids[:len(ids)-1], ", ") + " and " + ids[len(ids)-1]
}
