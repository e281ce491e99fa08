package cli

import (
	"context"
	"errors"
	"slices"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// travelOptions are what travel takes.
type travelOptions struct {
	request timeline.TravelRequest
	again   againOptions
	yes     bool // remove untracked files without asking
}

// travelDocument is what travel prints with --json.
type travelDocument struct {
	Kind      string  `json:"kind"`
	Success   bool    `json:"success"`
	NodeID    *string `json:"nodeId"` // nil for a travel to a frame
	Iteration int     `json:"iteration"`
	Attempt   int     `json:"attempt"`
	NoDeps    bool    `json:"noDeps"`
	traveledDocument
	Resumed *runResult `json:"resumed,omitempty"`
}

// travelFailed is what travel prints with --json where there is no such attempt. Attempt
// is nil where the newest one was asked for.
type travelFailed struct {
	Kind      string     `json:"kind"`
	Success   bool       `json:"success"`
	RunID     string     `json:"runId"`
	NodeID    string     `json:"nodeId"`
	Iteration int        `json:"iteration"`
	Attempt   *int       `json:"attempt"`
	Code      fault.Code `json:"code"`
	Error     string     `json:"error"`
}

func travelCommand() *command {
	cmd := &command{
		name:    "travel",
		summary: "go back within a run, to a frame or to before an attempt",
		usage: []string{
			"[<workflow>] <run>:<frame> [--no-vcs] [--resume] [--yes]",
			"[<workflow>] <run>[:<frame>] --node N [--iteration I] [--attempt K] [--no-vcs] [--resume] [--yes]",
			"[<workflow>] <run>[:<frame>] --node N [--iteration I] [--attempt K] --no-deps [--resume [--yes]]",
		},
		about: `Takes the run back to a frame, state and files: outputs, loops, approvals, answers and
signals are what they were then. Tasks that started since, or ran then, are pending again;
resume goes on with them. With --node, the frame is the last one before an attempt of that
task started, and what needs the task is pending, too. The attempt is the newest one, or
the newest one by the frame that is named.

Nothing is lost. The state is a new frame; those between are left out of the timeline,
unless --all shows them, and keep their addresses. Attempts since then stay in history,
marked cancelled. What is in the working copy and in no frame yet is captured first; at a
terminal, untracked files that would be removed are listed, and one is asked. Where a file
that was never captured is in the way, nothing is done. undo takes it all back.

With a workflow in front the run goes on with that file as you have it, fitted as replay
does it; the file stays so. --no-vcs leaves all files as they are. --no-deps leaves them,
too, and all of the state but that one task, which is pending again. A run that a live
process is running is left alone.

Prints the address of the new frame; with --resume, the run's id.`,
		maxArgs: 2,
		flags: slices.Concat([]urfave.Flag{
			nodeFlag("go back to before an attempt of the task `ID`"),
			&urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0; without it, 0"},
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `K`, from 1; without it, the newest"},
			&urfave.BoolFlag{Name: "no-deps", Usage: "make the task alone pending, in the state as it is; leave the files"},
			&urfave.BoolFlag{Name: "no-vcs", Usage: "leave the files of the working copy as they are"},
		}, targetFlags(), againFlags(travelYesFlag())),
		changes: true,
		exits:   runs(),
		examples: []example{
			{"go back to frame 6", "git smithers travel triage-1:6"},
			{"go back to before the task fix, and go on with the mended workflow", "git smithers travel triage.yaml triage-1 --node fix --resume"},
			{"go back to before the second time round", "git smithers travel triage-1 --node review --iteration 1"},
			{"do one task again, and nothing else", "git smithers travel triage-1 --node lint --no-deps --resume"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		opts, err := parseTravel(s, cmd, c)
		if err != nil {
			return err
		}
		return s.withStore(ctx, func(store *timeline.Store) error { return runTravel(ctx, s, store, opts) })
	}
	return cmd
}

func parseTravel(s *session, cmd *command, c *urfave.Context) (opts travelOptions, err error) {
	of, err := parseTarget(s, cmd, c)
	if err == nil {
		err = needNode(cmd, c, "no-deps")
	}
	if err != nil {
		return opts, err
	}
	opts.yes = c.Bool("yes")
	opts.request = timeline.TravelRequest{
		Run: of.address, Node: c.String("node"), Iteration: c.Int("iteration"), Attempt: c.Int("attempt"),
		NoDeps: c.Bool("no-deps"), NoFiles: c.Bool("no-vcs"),
	}
	if c.IsSet("attempt") && opts.request.Attempt < 1 {
		return opts, fault.New(fault.Usage, "--attempt does not take %d", opts.request.Attempt).Hint("attempts are counted from 1")
	}
	if opts.request.Iteration < 0 {
		return opts, fault.New(fault.Usage, "--iteration does not take %d", opts.request.Iteration).Hint("iterations are counted from 0")
	}
	opts.again, err = parseAgain(cmd, c, of.workflow, false)
	return opts, err
}

// runTravel goes back and, where that is asked for, on from there.
func runTravel(ctx context.Context, s *session, store *timeline.Store, opts travelOptions) error {
	req := opts.request
	file, err := s.namedWorkflow(ctx, opts.again.workflow)
	if err == nil {
		err = refuseAgain(ctx, store, req.Run, opts.again)
	}
	if err != nil {
		return err
	}
	fit := engine.ReconcileRequest{Workflow: file, NoDeps: req.NoDeps}
	if req.Node != "" {
		fit.Reset = []string{snapshot.Key(req.Node, req.Iteration)}
	}
	req.Redefinition = s.redefinition(store, opts.again, fit)
	over := sync.OnceFunc(s.while("going back"))
	hint := yesRemoves
	if opts.again.resume && file == nil {
		// With --resume, --yes would run commands that nobody has seen yet, too.
		hint = "without --resume, --yes removes them and runs nothing; a frame keeps them"
	}
	req.Confirm = s.confirmRemoval(opts.yes, over, hint)
	done, err := store.Travel(ctx, req)
	over()
	if err != nil {
		return errors.Join(err, s.printTravelFailed(req, err))
	}
	return s.goOn(ctx, store, done, file, opts.again, func(resumed *runResult) any {
		doc := travelDocument{
			Kind: "travel", Success: true, Iteration: done.Op.Iteration, Attempt: done.Op.Attempt,
			NoDeps: done.Op.NoDeps, traveledDocument: describeTraveled(done), Resumed: resumed,
		}
		if req.Node != "" {
			doc.NodeID = &req.Node
		}
		return doc
	})
}

// printTravelFailed says for scripts that there is no such attempt, as data: they ask for
// one to find out whether there is.
func (s *session) printTravelFailed(req timeline.TravelRequest, cause error) error {
	known, ok := errors.AsType[*fault.Error](cause)
	if !ok || !s.json || known.Code != fault.AttemptNotFound {
		return nil
	}
	doc := travelFailed{
		Kind: "travel", RunID: req.Run, NodeID: req.Node, Iteration: req.Iteration, Code: known.Code, Error: known.Msg,
	}
	if req.Attempt != 0 {
		doc.Attempt = &req.Attempt
	}
	if run, ok := known.Details["runId"].(string); ok {
		doc.RunID = run
	}
	return s.writeJSON(doc)
}

// againOptions are what travel and reset take about how the run goes on.
type againOptions struct {
	workflow string // "": as it is
	resume   bool
	engine   engineSettings
}

// againFlags are the flags of travel and reset about how the run goes on. yes is their --yes.
func againFlags(yes urfave.Flag) []urfave.Flag {
	return append([]urfave.Flag{&urfave.BoolFlag{Name: "resume", Usage: "go on at once"}, yes}, engineFlags()...)
}

// travelYesFlag is --yes of travel, which may remove files and may run commands.
func travelYesFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "remove untracked files and, with --resume, run the workflow's commands, without asking"}
}

// parseAgain reads againFlags. yesResumes says that --yes is about resuming alone.
func parseAgain(cmd *command, c *urfave.Context, workflow string, yesResumes bool) (againOptions, error) {
	opts := againOptions{workflow: workflow, resume: c.Bool("resume")}
	if opts.resume {
		var err error
		opts.engine, err = parseEngine(c)
		opts.engine.yes, opts.engine.file = c.Bool("yes"), workflow
		return opts, err
	}
	flags := engineFlags()
	if yesResumes {
		flags = append(flags, confirmFlag())
	}
	for _, flag := range flags {
		if slices.ContainsFunc(flag.Names(), c.IsSet) {
			return opts, cmd.misused("--%s goes with --resume", flag.Names()[0])
		}
	}
	return opts, nil
}

// refuseAgain refuses, before a run goes back, to go on with a run of another engine.
func refuseAgain(ctx context.Context, store *timeline.Store, address string, again againOptions) error {
	if !again.resume && again.workflow == "" {
		return nil
	}
	at, err := store.Load(ctx, address)
	if err != nil {
		return err
	}
	head, err := store.Head(ctx, at.Address.Run)
	if err != nil {
		return err
	}
	return refuseForeign(head)
}

// redefinition fits a run to the workflow file that the command line names, as replay does; the
// file stays as it is. If it names none, the definition that the run is resumed with needs
// consent before the run goes back.
func (s *session) redefinition(store *timeline.Store, again againOptions, fit engine.ReconcileRequest) timeline.Redefinition {
	if fit.Workflow == nil {
		return timeline.Redefinition{Agree: s.agreeAgain(store, again)}
	}
	return timeline.Redefinition{
		Workflow: fit.Workflow.Snapshot(), WorkflowPath: s.storedPath(store, again.workflow), File: s.path(again.workflow),
		Prepare: func(state *snapshot.State) ([]snapshot.Change, error) { return engine.Reconcile(state, fit) },
	}
}

// agreeAgain asks whether the definition that a run keeps may run; nil if nothing is resumed.
func (s *session) agreeAgain(store *timeline.Store, again againOptions) func(*snapshot.Workflow) error {
	if !again.resume {
		return nil
	}
	return func(kept *snapshot.Workflow) error {
		wf, err := engine.Parse("the run's workflow", kept.Definition)
		if err != nil {
			return nil //nolint:nilerr // nothing of it runs: resume says so
		}
		_, err = consent(store, wf, s.asking(again.engine))
		return err
	}
}

// goOn tells what was done to a run and, where that is asked for, resumes it, with the workflow
// file that the command line names, unless that is nil. describe is what --json prints, once, at
// the end.
func (s *session) goOn(ctx context.Context, store *timeline.Store, done *timeline.Traveled, file *engine.Workflow, opts againOptions,
	describe func(resumed *runResult) any,
) error {
	if !opts.resume {
		next, err := afterTravel(ctx, store, done)
		if err != nil {
			return err
		}
		s.tellTraveled(ctx, store, done, next)
		return s.printTraveled(done, describe(nil))
	}
	s.tellTraveled(ctx, store, done, "")
	printed := false
	head, err := store.Head(ctx, done.Run)
	if err == nil {
		err = s.resume(ctx, store, head, file, opts.engine, func(r runResult) any {
			printed = true
			return describe(&r)
		})
	}
	if err == nil || printed || !s.json {
		return err
	}
	return errors.Join(err, s.writeJSON(describe(nil)))
}
