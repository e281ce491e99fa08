package upkeep

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// verifyDocument is the document of verify --json.
type verifyDocument struct {
	Kind string `json:"kind"`
	*verify.Report
}

func verifyCommand() *arg.Command {
	return &arg.Command{
		Name:    "verify",
		Summary: "check stored history",
		Usage:   []string{"[<run>...] [--deep]"},
		About: `Reads the named runs, or all runs, and checks everything that they reach: the id of each
object, the encoding of each file, content hashes, the chain of frames, and the frame refs.
Changes nothing.

--deep also checks the pack indexes, loose objects and packs of the repository, of large packs
what runs need, including duplicates, and compares every row of the index with the refs.`,
		MaxArgs: 1 << 20,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "deep", Usage: "also check every file that holds objects, and the index"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"check all history", "git smithers verify"},
			{"check one run", "git smithers verify triage-1"},
			{"check every object file and the index, too", "git smithers verify --deep"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runVerify(ctx, s, store, c.Bool("deep"), c.Args().Slice())
			})
		},
	}
}

// runVerify checks the given runs or, if runs is empty, all runs, and prints the problems. If deep is true, it also
// checks the index, and every file that has objects. The error is verify_failed if there are problems.
func runVerify(ctx context.Context, s *session.Session, store *timeline.Store, deep bool, runs []string) error {
	report, err := verifyReport(ctx, s, store, deep, runs)
	if err != nil {
		return err
	}
	if err := printReport(s, report); err != nil {
		return err
	}
	if len(report.Problems) == 0 {
		return nil
	}
	return fault.New(fault.VerifyFailed, "verification found %s", plain.Count(len(report.Problems), "problem")).
		Hint("`git smithers doctor` lists the possible repairs and makes them")
}

// verifyReport does the checks of runVerify, and shows a progress line while it works. It returns the report of all
// problems.
func verifyReport(ctx context.Context, s *session.Session, store *timeline.Store, deep bool, runs []string) (*verify.Report, error) {
	if !deep {
		defer s.While("verifying")()
		return verify.Runs(ctx, store, runs...)
	}
	bar := s.Progress("verifying")
	defer bar.Finish()
	return verify.Deep(ctx, store, bar.Update, runs...)
}

// printReport prints a line for each problem, and then the numbers of verified runs, entries and frames.
func printReport(s *session.Session, report *verify.Report) error {
	if s.JSON {
		return s.WriteJSON(verifyDocument{"verify", report})
	}
	var b strings.Builder
	for _, problem := range report.Problems {
		fmt.Fprintf(&b, "%s: %s: %s\n", plain.Text(placeOf(problem)), problem.Code, plain.Text(problem.What))
	}
	if report.Promised > 0 {
		fmt.Fprintf(&b, "%s of captured files are not in this partial clone; git fetches them from the remote when they are needed\n",
			plain.Count(report.Promised, "object"))
	}
	fmt.Fprintf(&b, "verified %s, %s, %s\n", plain.Count(report.Runs, "run"), entries(report.Entries), plain.Count(report.Frames, "frame"))
	if report.Unnamed > 0 {
		fmt.Fprintf(&b, "%s without a ref: `git smithers doctor --repair` makes the missing refs\n",
			plain.Count(report.Unnamed, "frame"))
	}
	if report.Unindexed > 0 {
		fmt.Fprintf(&b, "%s without an index, which git does not read: `git smithers doctor --repair` saves the objects\n", plain.Count(report.Unindexed, "pack"))
	}
	return s.Printf("%s", b.String())
}

// placeOf returns the place of a problem: the file or, if no file is known, the address of the run or frame.
func placeOf(p verify.Problem) string {
	if p.File != "" {
		return p.File
	}
	at := timeline.Address{Run: p.Run, Frame: snapshot.NoFrame}
	if p.Frame != nil {
		at.Frame = *p.Frame
	}
	return at.String()
}
