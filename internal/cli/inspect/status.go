package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// statusShown is the largest number of lines in a part of the status. status also reads at most this many running
// runs and this many waiting runs, the newest ones.
const statusShown = 5

func statusCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "status",
		Summary: "show running, waiting and failed runs (the default command)",
		Usage:   []string{"", "--porcelain"},
		About: `Shows the running runs, the commands that killed processes left running, the requests that
wait for you with the commands that answer them, the runs that were answered and are not
resumed, the last failed run and the reason, the newest runs, and the commands to type next. status changes nothing.

It lists at most five running runs and five waiting runs, the newest ones.

With --porcelain, prints one line about the newest run, for a prompt: its id, its status and its newest
frame, with tabs between them. Without a repository or a run, and if the answer is not there
within 250 ms, it prints nothing and succeeds.`,
		Flags: []urfave.Flag{&urfave.BoolFlag{Name: "porcelain", Usage: "print a line for a prompt: run, status, frame"}},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see running, waiting and failed runs", "git smithers"},
			{"count the requests that wait for you", "git smithers status --json | jq '.waiting | length'"},
			{"have the newest run in the prompt of a shell", "git smithers status --porcelain"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		switch porcelain := c.Bool("porcelain"); {
		case porcelain && s.JSON:
			return cmd.Misused("--porcelain and --json exclude each other")
		case porcelain:
			return printPorcelain(ctx, s, porcelainLimit)
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runStatus(ctx, s, store) })
	}
	return cmd
}

// statusDocument is the document of status --json.
type statusDocument struct {
	Kind    string               `json:"kind"`
	Counts  map[string]int       `json:"counts"` // runs by their status
	Running []runningRun         `json:"running"`
	Waiting []waitingLine        `json:"waiting"`
	Failed  *failedRun           `json:"failed"` // the run that failed last
	Left    []claim.LeftCommands `json:"left,omitempty"`
	Newest  []runDocument        `json:"newest"`
	Next    []summary.Command    `json:"next"`

	asOf   map[string]*share.Seen // the runs with an AsOf
	resume string                 // what resume does to the newest run, if this run is pending or cancelled; "" if resume refuses it
}

// waitingLine is something that a run waits for.
type waitingLine struct {
	mail.Document
	Answer *string     `json:"answer"` // the command that answers or, if the wait is ready, that resumes the run; nil for a timer
	AsOf   *share.Seen `json:"asOf,omitempty"`
}

// runningRun is a run whose row says running, and its tasks in progress.
type runningRun struct {
	runDocument
	Tasks   []string    `json:"tasks"`          // the tasks in progress
	AsOf    *share.Seen `json:"asOf,omitempty"` // the fetch that saw the run last; nil if the run is not known from a remote, or a process here runs it
	turn    string      // of a session: its open turn, with the prompt; "" for another run
	foreign bool        // another engine runs the run
	there   bool        // no process here runs the run, and one in another clone may
}

// failedRun is a run that failed, and the reason.
type failedRun struct {
	runDocument
	Error   string   `json:"error"`
	NodeID  *string  `json:"nodeId"` // the node that failed first; nil if no attempt failed
	Log     []string `json:"log"`    // the last lines of the log of its last attempt
	foreign bool     // another engine runs the run
}

// runStatus prints the status of the repository: the running, waiting, failed and newest runs, and the commands to type
// next.
func runStatus(ctx context.Context, s *session.Session, store *timeline.Store) error {
	notify.WarnOfFailure(store)
	doc, waiting, err := gatherStatus(ctx, s, store)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	view := statusView{p: display.NewPainter(ctx, s), now: s.Now(), width: statusWidth, asOf: doc.asOf}
	if s.IsTerminalOut() {
		view.width = max(min(statusWidth, s.Columns()), 40)
		if len(doc.Newest) > 0 { // the view is for people
			doc.Next = append(doc.Next, suggestion(arg.Program+" tui", "looks at the runs in a view that moves along"))
		}
	}
	view.all(doc, waiting)
	return s.Printf("%s", view.String())
}

// gatherStatus returns the document of status, and the inbox lines of the waiting runs, the oldest line first. It first
// reads an overview of the runs. It then reads the newest entries that the overview knows of some runs: the running and
// waiting runs in the overview, the run that failed last, and the newest run. If an entry cannot be read, gatherStatus
// warns, and leaves out the facts that only the entry has.
func gatherStatus(ctx context.Context, s *session.Session, store *timeline.Store) (*statusDocument, []mail.Line, error) {
	overview, err := list.ReadOverview(ctx, store, statusShown)
	if err != nil {
		return nil, nil, err
	}
	doc := &statusDocument{
		Kind: "status", Counts: overview.Counts, Running: []runningRun{}, Waiting: []waitingLine{}, Newest: []runDocument{}, asOf: make(map[string]*share.Seen),
	}
	left, err := claim.FindLeft(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	doc.Left = left
	var waiting []mail.Line
	var failed *runDocument
	for _, run := range overview.Runs {
		one := runDocument{Kind: "run", RunInfo: run, Stale: summary.StaleInfo(store, run), Name: agent.NameOf(store, run)}
		if len(doc.Newest) < statusShown {
			doc.Newest = append(doc.Newest, one)
		}
		switch status := snapshot.RunStatus(run.Status); {
		case status == snapshot.RunRunning || status.Waiting():
			going, lines, err := readGoing(ctx, s, store, one)
			if err != nil {
				s.Warn(err)
			}
			if going.AsOf != nil {
				doc.asOf[run.RunID] = going.AsOf
			}
			if waiting = append(waiting, lines...); status == snapshot.RunRunning {
				doc.Running = append(doc.Running, going)
			}
		case status == snapshot.RunFailed && (failed == nil || endedAt(run) > endedAt(failed.RunInfo)):
			failed = &one
		}
	}
	slices.SortStableFunc(waiting, func(a, b mail.Line) int { return cmp.Compare(a.RequestedAtMs, b.RequestedAtMs) })
	for _, line := range waiting {
		doc.Waiting = append(doc.Waiting, waitingLine{mail.Describe(line), display.OrNull(mail.Settle(line)), doc.asOf[line.RunID]})
	}
	if failed != nil {
		if doc.Failed, err = readFailed(store, *failed); err != nil {
			s.Warn(err)
		}
	}
	if len(doc.Newest) > 0 {
		if doc.resume, err = resumeDoes(store, doc.Newest[0]); err != nil {
			s.Warn(err)
		}
	}
	doc.Next = suggest(doc, waiting)
	return doc, waiting, ctx.Err()
}

// resumeDoes returns what resume does to a pending or cancelled run, for people. It returns "" for any other status, if another engine
// runs the run, as the agent of a session does, and for a cancelled run that git smithers never ran.
func resumeDoes(store *timeline.Store, run runDocument) (string, error) {
	status := snapshot.RunStatus(run.Status)
	if status != snapshot.RunPending && status != snapshot.RunCancelled {
		return "", nil
	}
	head, err := list.HeadOf(store, run.RunInfo)
	if err != nil {
		return "", err
	}
	engine, err := app.ForeignEngine(head)
	switch {
	case err != nil || engine != "":
		return "", err
	case status == snapshot.RunPending:
		return "starts the run's tasks", nil
	case head.Row().Epoch > 0: // git smithers never ran a run with epoch 0
		return "continues the cancelled run", nil
	}
	return "", nil
}

// endedAt returns the time at which a run ended or, if that is unknown, was last updated, in milliseconds since
// 1970.
func endedAt(run list.RunInfo) int64 {
	if run.FinishedAtMs != nil {
		return *run.FinishedAtMs
	}
	return run.UpdatedAtMs
}

// readGoing reads the entry of a running or waiting run that the overview knows. It returns the run with its tasks in progress, and the open
// lines of the inbox for the run, see mail.Open. With an error, the results have only the facts read before the error.
func readGoing(ctx context.Context, s *session.Session, store *timeline.Store, run runDocument) (runningRun, []mail.Line, error) {
	out := runningRun{runDocument: run, Tasks: []string{}}
	head, err := list.HeadOf(store, run.RunInfo)
	if err != nil {
		return out, nil, err
	}
	engine, err := app.ForeignEngine(head)
	if out.foreign = engine != ""; err != nil {
		return out, nil, err
	}
	if row := head.Row(); !store.Owner(row).Live {
		out.there = row.Epoch > 0 && !out.Stale
		out.AsOf = share.LastSeen(ctx, store, run.RunID, run.Tip)
	}
	labels := make(map[string]*string)
	for n, err := range head.State().AllNodes() {
		if err != nil {
			return out, nil, timeline.Explain(err)
		}
		labels[snapshot.Key(n.NodeID, n.Iteration)] = n.Label
		if n.State == snapshot.NodeInProgress {
			out.Tasks = append(out.Tasks, display.AttemptName(n.NodeID, n.Iteration))
			if prompt, _, err := agent.PromptOf(head.State(), n.Iteration); err == nil && run.Name != nil {
				out.turn = fmt.Sprintf("turn %d: %s", n.Iteration, plain.Words(prompt))
			}
		}
	}
	lines, err := mail.Open(ctx, store, head, engine, s.Now())
	for i := range lines {
		lines[i].NodeLabel = labels[snapshot.Key(lines[i].NodeID, lines[i].Iteration)]
	}
	return out, lines, err
}

// readFailed reads the entry of a failed run that the overview knows. It returns the run with its error. If a task failed, the result also
// has the node of the task that failed first, the last lines of the log of its last attempt and, if the run has no error text,
// the error of the attempt. With an error, the result has only the facts read before the error.
func readFailed(store *timeline.Store, run runDocument) (*failedRun, error) {
	out := &failedRun{runDocument: run, Log: []string{}}
	head, err := list.HeadOf(store, run.RunInfo)
	if err != nil {
		return out, err
	}
	out.Error = head.Row().Error
	engine, err := app.ForeignEngine(head)
	if out.foreign = engine != ""; err != nil {
		return out, err
	}
	failed, err := summary.FailedNodes(head.Entry())
	if err != nil || len(failed) == 0 {
		return out, err
	}
	first := failed[0].Attempt
	out.NodeID = &first.NodeID
	out.Error = cmp.Or(out.Error, first.Error)
	log := attemptLog{store: store, run: run.RunID, entry: head.Entry(), row: first}
	text, _, err := log.stored()
	if lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n"); text != "" {
		out.Log = lines[max(0, len(lines)-statusShown):]
	}
	return out, err
}
