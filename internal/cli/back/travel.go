package back

import (
	"context"
	"errors"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// travelFailure is the document of travel --json if the attempt does not exist. Attempt is nil if the command line
// names no attempt.
type travelFailure struct {
	Kind      string     `json:"kind"`
	Success   bool       `json:"success"`
	RunID     string     `json:"runId"`
	NodeID    string     `json:"nodeId"`
	Iteration int        `json:"iteration"`
	Attempt   *int       `json:"attempt"`
	Code      fault.Code `json:"code"`
	Error     string     `json:"error"`
}

func travelCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "travel",
		Summary: "go back within a run, to a frame or to the start of an attempt",
		Usage: []string{
			"[<workflow>] <run>:<frame> [--no-vcs] [--resume] [--yes | --dry-run]",
			"[<workflow>] <run>[:<frame>] --node N [--iteration I] [--attempt K] [--no-vcs] [--resume] [--yes | --dry-run]",
			"[<workflow>] <run>[:<frame>] --node N [--iteration I] [--attempt K] --no-deps [--resume [--yes] | --dry-run]",
		},
		About: `Takes the run back to a frame: state and files, with outputs, loops, approvals, answers and
signals. Tasks that were running at the frame or started later are pending again; resume
continues with them. With --node, travel goes to the last frame before an attempt of that
task started, and tasks that need the task are pending, too. The default is the newest
attempt, or with a frame the newest attempt at that frame. Signals that came since are
dropped, and named; --keep-signals keeps them, so that the run need not wait for them again.

Nothing is lost. The state becomes a new frame; the frames in between are shown only by
timeline --all and keep their addresses. Later attempts stay in the history, marked
cancelled. Unsaved changes are saved as a frame first. At a terminal, travel lists untracked
files that it would remove, and asks before it removes them. If a file that was never
captured is in the way, nothing changes. undo takes the travel back.

If tasks that will run again had effects outside the run, which their tool calls tell,
travel lists them and asks; without a terminal it refuses. --force goes on. --undo-effects
runs the commands that undo them, after the run has gone back.

If you name a workflow file, the run continues with that file, adapted as replay does, and
the file itself is not restored. --no-vcs leaves all files as they are. --no-deps leaves the
files and the state as they are, except for the one task, which is pending again. A run that
a live process is running is refused; so is one that another clone has claimed, until an hour
after its newest entry, unless --force is given.

--dry-run says task by task what resume would do after the travel, and goes nowhere.

Prints the address of the new frame; with --resume, the run's id.`,
		MaxArgs: 2,
		Flags: slices.Concat([]urfave.Flag{
			arg.NodeFlag("go back to before an attempt of the task `ID`"),
			&urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0 (default: 0)"},
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `K`, from 1 (default: the newest)"},
			&urfave.BoolFlag{Name: "no-deps", Usage: "make only this task pending; keep the rest of the state and the files"},
			&urfave.BoolFlag{Name: "no-vcs", Usage: "leave the files of the working copy as they are"},
			keepSignalsFlag(), requests.DryRunFlag(),
		}, arg.TargetFlags(), sequelFlags(travelYesFlag())),
		Changes: true,
		Exits:   arg.Runs(),
		Examples: []arg.Example{
			{"go back to frame 6", "git smithers travel triage-1:6"},
			{"go back to before the task fix, and continue with the fixed workflow", "git smithers travel triage.yaml triage-1 --node fix --resume"},
			{"go back to before the second iteration", "git smithers travel triage-1 --node review --iteration 1"},
			{"see what would run again", "git smithers travel triage-1 --node fix --dry-run"},
			{"repeat one task and nothing else", "git smithers travel triage-1 --node lint --no-deps --resume"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req, err := parseTravel(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if c.Bool("dry-run") {
				req.Settings, req.Sequel.Effects = requests.DryRunSettings(req.Settings, c.Bool("yes")), requests.ConfirmEffects(s, true, false, false)
				plan, err := requests.Open(s, store).PlanTravel(ctx, req)
				return requests.TellPlan(s, plan, err)
			}
			return runTravel(ctx, s, store, req)
		})
	}
	return cmd
}

// parseTravel reads the request from the command line. The error is usage if --iteration, --attempt or --no-deps is
// given without --node, or if a number is invalid. The other errors are those of arg.ParseTarget and parseSequel.
func parseTravel(s *session.Session, cmd *arg.Command, c *urfave.Context) (req app.TravelRequest, err error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err == nil {
		err = arg.NeedNode(cmd, c, "no-deps")
	}
	if err != nil {
		return req, err
	}
	req.Request = travel.Request{
		Run: of.Address, Node: c.String("node"), Iteration: c.Int("iteration"), Attempt: c.Int("attempt"),
		NoDeps: c.Bool("no-deps"), NoFiles: c.Bool("no-vcs"), Force: c.Bool("force"), Signals: c.Bool("keep-signals"),
	}
	if c.IsSet("attempt") && req.Attempt < 1 {
		return req, fault.New(fault.Usage, "--attempt cannot be %d", req.Attempt).Hint("use a number from 1")
	}
	if req.Iteration < 0 {
		return req, fault.New(fault.Usage, "--iteration cannot be %d", req.Iteration).Hint("use a number from 0")
	}
	if req.Sequel, err = parseSequel(s, cmd, c, of.Workflow, false); err != nil {
		return req, err
	}
	hint := requests.YesRemoves
	if req.Resume && req.Workflow == "" {
		// With --resume, --yes also runs commands that were never shown. So the hint offers --yes without --resume.
		hint = "without --resume, --yes saves the files in a frame, removes them and runs nothing"
	}
	req.Confirm = requests.ConfirmRemoval(s, c.Bool("yes"), hint)
	return req, nil
}

// runTravel sets a run back to a frame, or to the state before an attempt. Without --resume, it then prints the address
// of the new frame. With --resume, it continues the run, and prints how the run ended or why it waits. If the attempt
// does not exist, it calls printTravelFailed.
func runTravel(ctx context.Context, s *session.Session, store *timeline.Store, req app.TravelRequest) error {
	done, err := requests.Open(s, store).Travel(ctx, req)
	if done == nil {
		return errors.Join(err, printTravelFailed(s, req.Request, err))
	}
	return tellWentBack(ctx, s, store, done, err, req.Resume, func(resumed *requests.RunDocument) any {
		return term.Document("travel", term.Member("success", true), term.Member("nodeId", display.OrNull(req.Node)), // null for a travel to a frame
			term.Member("iteration", done.Op.Iteration), term.Member("attempt", done.Op.Attempt), term.Member("noDeps", done.Op.NoDeps),
			requests.DescribeTraveled(done.Result), term.Optional("resumed", resumed))
	})
}

// printTravelFailed prints a document on standard output if --json is given and cause is attempt_not_found, because
// scripts may call travel to find out whether an attempt exists. For any other cause, it prints nothing. It returns
// only errors of printing, and never cause.
func printTravelFailed(s *session.Session, req travel.Request, cause error) error {
	known, ok := errors.AsType[*fault.Error](cause)
	if !ok || !s.JSON || known.Code != fault.AttemptNotFound {
		return nil
	}
	doc := travelFailure{
		Kind: "travel", RunID: req.Run, NodeID: req.Node, Iteration: req.Iteration, Code: known.Code, Error: known.Msg,
	}
	if req.Attempt != 0 {
		doc.Attempt = &req.Attempt
	}
	// req.Run may be an address or a prefix; the details of the error have the whole id.
	if run, ok := known.Details["runId"].(string); ok {
		doc.RunID = run
	}
	return s.WriteJSON(doc)
}

// sequelFlags returns the flags with which travel and reset continue the run. The parameter yes is the flag --yes of
// the command, and becomes one of these flags.
func sequelFlags(yes urfave.Flag) []urfave.Flag {
	return append([]urfave.Flag{&urfave.BoolFlag{Name: "resume", Usage: "continue the run at once"}, yes, forceFlag(" or tasks had effects outside it that stay done"), requests.UndoEffectsFlag(), requests.TrustFilesFlag()}, requests.EngineFlags()...)
}

// keepSignalsFlag returns the flag --keep-signals.
func keepSignalsFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "keep-signals", Usage: "keep the signals that the run has received since"}
}

// forceFlag returns the flag --force of a command that goes back in a run. more is what else it goes on in spite of.
func forceFlag(more string) urfave.Flag {
	return &urfave.BoolFlag{Name: "force", Usage: "go on although another clone has claimed the run" + more}
}

// travelYesFlag returns the flag --yes of travel, which may remove files and may run commands.
func travelYesFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "remove untracked files and, with --resume, run the workflow's commands, without asking"}
}

// parseSequel reads the flags of sequelFlags. workflow is the workflow file that the command line names, or "". The
// error is usage if a flag that needs --resume is given without --resume. If yesResumes is true, --yes is one of the
// flags that need --resume.
func parseSequel(s *session.Session, cmd *arg.Command, c *urfave.Context, workflow string, yesResumes bool) (app.Sequel, error) {
	out := app.Sequel{
		Workflow: workflow, Resume: c.Bool("resume"), UndoEffects: c.Bool("undo-effects"),
		Effects: requests.ConfirmEffects(s, c.Bool("force"), c.Bool("undo-effects"), c.Bool("yes")),
	}
	if out.Resume {
		var err error
		out.Settings, err = requests.ParseSettings(s, c)
		return out, err
	}
	flags := append(requests.EngineFlags(), requests.TrustFilesFlag())
	if yesResumes && !out.UndoEffects {
		flags = append(flags, requests.ConfirmFlag())
	}
	for _, flag := range flags {
		if slices.ContainsFunc(flag.Names(), c.IsSet) {
			return out, cmd.Misused("--%s needs --resume", flag.Names()[0])
		}
	}
	return out, nil
}

// tellWentBack prints done, the result of a travel or reset. resumes is true if the command line has --resume. err is
// the error of resuming the run. describe returns the document for --json. The argument of describe is the document of
// the resumed run, or nil if the run was not resumed.
//
// Without --resume, err is nil, and tellWentBack prints the address of the new frame. With --resume, it prints how the
// resumed run ended or why it waits, and returns err. If the run could not be resumed, tellWentBack returns err, and
// prints only the document for --json.
func tellWentBack(ctx context.Context, s *session.Session, store *timeline.Store, done *app.TravelResult, err error, resumes bool,
	describe func(resumed *requests.RunDocument) any,
) error {
	switch {
	case !resumes:
		next, err := requests.AfterTravel(ctx, store, done.Result)
		if err != nil {
			return err
		}
		requests.TellTraveled(ctx, s, store, done.Result, next)
		return requests.PrintTraveled(s, done.Result, describe(nil))
	case done.Resumed != nil:
		resumed := requests.DescribeResult("result", done.Resumed)
		return requests.TellResult(s, done.Resumed, err, describe(&resumed))
	case s.JSON:
		return errors.Join(err, s.WriteJSON(describe(nil)))
	}
	return err
}
