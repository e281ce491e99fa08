package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// verifyDocument is what verify prints with --json.
type verifyDocument struct {
	Kind string `json:"kind"`
	*timeline.Report
}

func verifyCommand() *command {
	return &command{
		name:    "verify",
		summary: "check stored history",
		usage:   []string{"[<run>...]"},
		about: `Reads the named runs, or all, and checks everything that they reach: each object
against its id, each encoding against the one that is valid, content hashes, the
chain of frames, and the frame refs. Changes nothing.`,
		maxArgs: 1 << 20,
		exits:   reads(),
		examples: []example{
			{"check all history", "git smithers verify"},
			{"check one run", "git smithers verify triage-1"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			return s.withStore(ctx, func(store *timeline.Store) error {
				return runVerify(ctx, s, store, c.Args().Slice())
			})
		},
	}
}

// runVerify prints what is wrong; anything at all makes it fail with verify_failed.
func runVerify(ctx context.Context, s *session, store *timeline.Store, runs []string) error {
	report, err := store.Verify(ctx, runs...)
	if err != nil {
		return err
	}
	if err := printReport(s, report); err != nil {
		return err
	}
	if len(report.Problems) == 0 {
		return nil
	}
	return fault.New(fault.VerifyFailed, "verification found %s", plural(len(report.Problems), "problem")).
		Hint("`git fsck` tells whether objects are damaged; a remote that has the run can give them back")
}

func printReport(s *session, report *timeline.Report) error {
	if s.json {
		return s.writeJSON(verifyDocument{"verify", report})
	}
	var b strings.Builder
	for _, problem := range report.Problems {
		at := timeline.Address{Run: problem.Run, Frame: -1}
		if problem.Frame != nil {
			at.Frame = *problem.Frame
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", plain(at.String()), problem.Code, plain(problem.What))
	}
	fmt.Fprintf(&b, "verified %s, %s, %s\n", plural(report.Runs, "run"), entries(report.Entries), plural(report.Frames, "frame"))
	return s.printf("%s", b.String())
}
