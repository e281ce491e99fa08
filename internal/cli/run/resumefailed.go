package run

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// failedDocument is a line of resume --failed --json: a run that failed, and how its resume ended.
type failedDocument struct {
	Kind       string                 `json:"kind"` // "failedRun"
	RunID      string                 `json:"runId"`
	FailedAtMs *int64                 `json:"failedAtMs"`
	Error      *string                `json:"error"`   // why the run had failed
	Skipped    *session.ErrorDocument `json:"skipped"` // why it is not resumed; null if it is
	Plan       *app.Plan              `json:"plan"`    // what the resume does; null if the run is skipped
	Result     *requests.RunDocument  `json:"result"`  // how the run stands after the resume; null with --dry-run, and if it was not resumed
}

// failedFlags are the flags of resume for runs that failed.
func failedFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "failed", Usage: "continue every run that failed, one after the other"},
		arg.SinceFlag("with --failed, only runs that failed since `TIME`"),
		&urfave.StringFlag{Name: "workflow", Usage: "with --failed, only runs of the workflow `NAME`"},
		requests.DryRunFlag(),
	}
}

// parseFailed reads the request of resume --failed. The error is usage if the command line has an argument or a flag for a single run.
func parseFailed(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.FailedRequest, err error) {
	if c.Args().Len() > 0 {
		return req, cmd.Misused("--failed takes no run, but there is %q", c.Args().First()).
			Hint("`%s` continues that run alone", fault.CommandLine(arg.Program, "resume", c.Args().First()))
	}
	for _, flag := range []string{"run-id", "input", "restore-vcs", "force", "accept-workflow-change"} {
		if c.IsSet(flag) {
			return req, cmd.Misused("--%s does not go with --failed", flag).Hint("leave out --failed and name the run")
		}
	}
	req = app.FailedRequest{Workflow: c.String("workflow")}
	if req.SinceMs, err = arg.ParseSince(s, c); err != nil {
		return req, err
	}
	req.Settings, err = requests.ParseSettings(s, c)
	req.Consent, req.AskFiles = nil, nil // a run with commands that are new here is skipped
	return req, err
}

// runFailed continues the runs that failed, and prints a line for each. The error is that of the run that ended worst.
func runFailed(ctx context.Context, s *session.Session, store *timeline.Store, req app.FailedRequest, dryRun, yes bool) error {
	desk := requests.Open(s, store)
	runs, err := desk.FailedRuns(ctx, req)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		none := "no run"
		if req.Workflow != "" {
			none += " of " + plain.Text(req.Workflow)
		}
		if none += " has failed"; req.SinceMs != 0 {
			none += " since then"
		}
		s.Note("%s", none)
		return nil
	}
	left := len(runs)
	for _, run := range runs {
		if run.Skip != nil {
			left--
		}
	}
	if ask := !yes && left > 1 && s.CanAsk(); dryRun || ask {
		for _, run := range runs {
			if err := tellFailed(s, describeFailed(s, run), run); err != nil {
				return err
			}
		}
		if dryRun {
			return nil
		}
		agreed, err := s.Ask("Resume these " + plain.Count(left, "run") + "?")
		if err != nil || !agreed {
			return cmp.Or(err, error(fault.New(fault.Unconfirmed, "you did not confirm to resume the runs").Hint("nothing was run")))
		}
	}
	return resumeFailed(ctx, s, desk, req, runs)
}

// describeFailed returns the document of a run before it is resumed.
func describeFailed(s *session.Session, run app.FailedRun) failedDocument {
	doc := failedDocument{Kind: "failedRun", RunID: run.RunID, FailedAtMs: run.FinishedAtMs, Error: run.Error, Plan: run.Plan}
	if run.Skip != nil {
		doc.Skipped = new(session.DocumentOf(s.Describe(run.Skip)))
	}
	return doc
}

// tellFailed prints what a resume does with a run, or notes why the run is skipped and what to type for it. With --json, it prints doc.
func tellFailed(s *session.Session, doc failedDocument, run app.FailedRun) error {
	switch {
	case s.JSON:
		return s.WriteJSON(doc)
	case doc.Skipped != nil:
		s.Note("skipped run %s: %s", plain.Text(run.RunID), plain.Text(doc.Skipped.Message))
		hint := "`" + fault.CommandLine(arg.Program, "resume", run.RunID) + "` takes it up"
		switch {
		case doc.Skipped.Code == fault.WorkflowChanged:
			hint = strings.Replace(hint, "takes it up", "shows the difference, and asks", 1)
		case doc.Skipped.Code == fault.RunNotResumable && len(doc.Skipped.Hints) > 0:
			hint = doc.Skipped.Hints[0]
		}
		s.Note("  %s", hint)
		return nil
	}
	s.Note("run %s: %s", plain.Text(run.RunID), plain.Text(display.OrEmpty(run.Error)))
	t := requests.PlanTable()
	for _, task := range run.Plan.Tasks {
		requests.AddPlanned(&t, run.RunID+" ", task)
	}
	err := t.Write(s.Terminal)
	s.Note("%s", requests.CountPlanned(run.Plan))
	return err
}

// resumeFailed continues runs one after the other, prints a line for each, and returns the end of the run that ended worst. If ctx ends, no other
// run begins.
func resumeFailed(ctx context.Context, s *session.Session, desk *app.Desk, req app.FailedRequest, runs []app.FailedRun) (worst error) {
	rank := func(err error) int {
		return slices.Index([]fault.Code{fault.RunFailed, fault.RunCancelled, fault.RunWaiting}, fault.CodeOf(err))
	}
	finished, resumed := 0, 0
	for i, run := range runs {
		if ctx.Err() != nil {
			s.Note("stopped: %s left alone", plain.Count(len(runs)-i, "run"))
			worst = cmp.Or(worst, context.Cause(ctx))
			break
		}
		if run.Skip == nil { // the question and the runs before took time
			run.Skip = desk.SkipNow(ctx, run)
		}
		doc := describeFailed(s, run)
		if run.Skip != nil {
			if err := tellFailed(s, doc, run); err != nil {
				return err
			}
			continue
		}
		resumed++
		done, end := desk.Resume(ctx, app.ResumeRequest{Run: run.RunID, Settings: req.Settings})
		switch {
		case end == nil:
			finished++
		case worst == nil || rank(end) < rank(worst):
			worst = end
		}
		if err := tellResumed(s, doc, done, end); err != nil {
			return err
		}
	}
	if resumed == 0 {
		s.Note("nothing was resumed")
		return worst
	}
	s.Note("%d of %s finished", finished, plain.Count(resumed, "resumed run"))
	return worst
}

// tellResumed prints a line about a run that was resumed, or the document doc with how the run stands.
func tellResumed(s *session.Session, doc failedDocument, done *app.ResumeResult, end error) error {
	status, frame, took, why := "not resumed", "", "", ""
	if end != nil {
		why = s.Describe(end).Error()
	}
	if done != nil {
		doc.Result = new(requests.DescribeResult("result", done.Result))
		status, frame, took = doc.Result.Status, strconv.FormatInt(doc.Result.Frame, 10), display.Duration(done.Took)
	} else if end != nil {
		doc.Skipped = new(session.DocumentOf(s.Describe(end)))
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	return s.Printf("%s\t%s\t%s\t%s\t%s\n", plain.Text(doc.RunID), status, frame, took, plain.Text(why))
}
