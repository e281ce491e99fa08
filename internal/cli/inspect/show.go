package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/runpage"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/owner"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// showOptions has the options of show.
type showOptions struct {
	address  string
	attempts bool
	patch    bool
	state    bool // show the state of a run as that of a frame
	tree     bool // show the rendered tree
}

func showCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "show",
		Summary: "show how a run stands, its state at a frame, or the changes of the frame",
		Usage:   []string{"<run>", "<run>[:<frame>] [--state | --attempts]", "<run>[:<frame>] --patch", "<run>[:<frame>] --tree"},
		About: `At a terminal, and without a frame, shows how the run stands: the step that failed, with the
end of its output and the last change of files before it; what the run waits for, and how to
answer; its steps with times, tries and changed lines, or the turns of a session; its forks;
and what to type next.

Of a sweep, and without a frame or --state, shows its variants: the run of each, its status, the
members of the input in which they differ, the value of --by, time, tokens and cost.

With a frame or --state, and where no person reads, shows the run's row, the revision of the
working copy and the captured files, its nodes and their waits, outputs, loops, approvals,
requests and input at the frame. Without a frame, shows the current state and the process that
runs the run. For failed attempts, shows the reason and the end of the log. --json prints the
whole state and, without a frame, how the run stands.

--tree shows the rendered tree of the workflow at the frame, with the state of each task.

--patch shows the changes of the frame: the differences in state and files from the frame
before it. For frame 0 of a fork, that is the frame from which the run was forked. With
--json, the member patch holds the changes.

In place of :<frame>, @<id> names the newest frame with that id, which a program gave it in
a capture. The frame may be one of the run's parent, from before the fork.

For a run imported from Smithers, <frame> may be smithers/ and Smithers' own number of the
frame; it stands for the newest frame in the run's timeline with that number. show prints
the number, and any damage that the import found in Smithers' data of the frame.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "attempts", Aliases: []string{"a"}, Usage: "show every attempt with its whole log"},
			&urfave.BoolFlag{Name: "patch", Aliases: []string{"p"}, Usage: "show the changes of the frame, in state and code"},
			&urfave.BoolFlag{Name: "state", Usage: "at a terminal: show the current state, and not how the run stands"},
			&urfave.BoolFlag{Name: "tree", Usage: "show the rendered tree of the workflow"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"see how a run stands", "git smithers show triage-1"},
			{"see the state of frame 3", "git smithers show triage-1:3"},
			{"see the changes of frame 6", "git smithers show -p triage-1:6"},
			{"see the frame that Smithers calls 7", "git smithers show run-a:smithers/7"},
			{"read one output of frame 3", `git smithers show triage-1:3 --json | jq '.state.outputs[] | select(.table == "analysis")'`},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := showOptions{c.Args().First(), c.Bool("attempts"), c.Bool("patch"), c.Bool("state"), c.Bool("tree")}
		if opts.attempts && opts.patch && !s.JSON {
			return cmd.Misused("--attempts and --patch do not go together")
		}
		if opts.tree && (opts.attempts || opts.patch || opts.state) {
			return cmd.Misused("--tree goes with no other flag")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runShow(ctx, s, store, opts) })
	}
	return cmd
}

// showDocument is the document of show --json. State is the whole state, in the form that capture reads.
type showDocument struct {
	Kind        string       `json:"kind"`
	RunID       string       `json:"runId"`
	Frame       int64        `json:"frame"`
	Commit      string       `json:"commit"`
	ContentHash string       `json:"contentHash"`
	CreatedAtMs int64        `json:"createdAtMs"`
	Subject     string       `json:"subject"`
	IDs         []string     `json:"ids,omitempty"`   // the ids that the frame's writer gave it, sorted
	Newer       bool         `json:"newer,omitempty"` // the entry is not a frame; it came after the newest frame
	Stale       bool         `json:"stale,omitempty"` // the run's row says running, and no live process owns the run
	Run         snapshot.Run `json:"run"`
	// Cancelled says who has cancelled the run; left out if the run is not cancelled, and of a frame.
	Cancelled *list.Cancelled `json:"cancelled,omitempty"`
	// SteppedOver names the frame that dropped this frame from the timeline; nil if the timeline has this frame.
	SteppedOver *timeline.SteppedOver `json:"steppedOver,omitempty"`
	// Engines has the frame's counterpart in each engine from which the run was imported.
	Engines []timeline.PeerFrame `json:"engines,omitempty"`
	// Untold has the answers that were given in this repository, and of which the run's engine was not told.
	Untold mail.UntoldAnswers `json:"untold,omitempty"`
	// Late has the decisions since the newest frame that came too late, newest first; nil if the address names a frame.
	Late   []lateDecision `json:"lateDecisions,omitempty"`
	VCS    *snapshot.VCS  `json:"vcs"`
	VCSTag *jjbridge.Tag  `json:"vcsTag"`
	// BehindState describes the files that are older than the state, by working copy. The key is the task that has
	// its own worktree, or "" for the working copy of the run.
	BehindState map[string]*files.Behind `json:"filesBehind,omitempty"`
	// SharedWith has the runs and sessions that were at work in the same folder when the files of the working copy were made.
	SharedWith []string          `json:"sharedWith,omitempty"`
	State      json.RawMessage   `json:"state"`
	Attempts   []attemptDocument `json:"attempts,omitempty"`
	Patch      *patchDocument    `json:"patch,omitempty"`
	// Summary says how the run stands; nil if the address names a frame.
	Summary *summary.Summary `json:"summary,omitempty"`
	// Group has the variants of a sweep; nil for any other run, and if the address names a frame.
	Group *group.Group `json:"group,omitempty"`
}

// attemptDocument is an attempt in show --attempts --json.
type attemptDocument struct {
	snapshot.Attempt
	Inherited bool `json:"inherited,omitempty"` // the attempt ended before the run was forked
	// SharedWith has the runs and sessions that were at work in the same folder: the changed files may be theirs.
	SharedWith []string `json:"sharedWith,omitempty"`
}

// runShow prints the state at opts.address. With --patch, it prints the changes of this frame instead. With --json, it
// prints a document that has the state in both cases, and the changes only with --patch.
func runShow(ctx context.Context, s *session.Session, store *timeline.Store, opts showOptions) error {
	at, err := store.Load(ctx, opts.address)
	if err != nil {
		return err
	}
	if opts.tree {
		return showTree(ctx, s, store, at)
	}
	if at.Bare && !s.JSON && !opts.attempts && !opts.patch && !opts.state {
		g, err := groupAt(ctx, s, store, at)
		if err != nil {
			return err
		}
		if g != nil {
			return s.Paged(ctx, func() error { return printGroup(ctx, s, g) })
		}
	}
	if at.Bare && s.IsTerminalOut() && !s.JSON && !opts.attempts && !opts.patch && !opts.state {
		return showPage(ctx, s, store, at)
	}
	var changed *patch
	if opts.patch {
		if changed, err = patchOf(ctx, s, store, at); err != nil {
			return err
		}
		if !s.JSON {
			return changed.print(ctx, s)
		}
	}
	standing, err := standingOf(ctx, store, at)
	if err != nil {
		return err
	}
	if standing.engines, err = timeline.PeerFrames(ctx, store, at); err != nil {
		s.Warn(err) // the other facts are still shown
	}
	if at.Bare {
		head, err := store.HeadOf(at)
		if err != nil {
			return err
		}
		standing.untold = mail.Untold(ctx, s, store, head)
	}
	if standing.behind, err = filesBehind(ctx, store, at); err != nil {
		return err
	}
	if standing.shared, err = files.SharedWith(ctx, store, at.Entry); err != nil {
		return err
	}
	if s.JSON {
		doc, err := describeEntry(ctx, store, at, opts.attempts)
		if err != nil {
			return err
		}
		doc.Stale, doc.SteppedOver, doc.Engines, doc.Late = standing.stale, standing.over, standing.engines, standing.late
		doc.Untold, doc.BehindState, doc.SharedWith = standing.untold, standing.behind, standing.shared
		if at.Bare {
			if doc.Cancelled, err = list.CancelledBy(ctx, store, doc.Run); err != nil {
				s.Warn(err) // the other facts are still shown
			}
		}
		if changed != nil {
			if doc.Patch, err = changed.document(ctx, s); err != nil {
				return err
			}
		}
		if at.Bare {
			if doc.Summary, err = readPage(ctx, s, store, at); err != nil {
				return err
			}
			if doc.Group, err = groupAt(ctx, s, store, at); err != nil {
				return err
			}
		}
		return s.WriteJSON(doc)
	}
	row, err := at.Entry.RunRow()
	if err != nil {
		return err
	}
	standing.origin = list.OriginOf(ctx, store, row)
	if standing.frame, err = subjectBefore(ctx, store, at); err != nil {
		return err
	}
	if standing.before, err = forkedCopies(ctx, store, row); err != nil {
		return err
	}
	return s.Paged(ctx, func() error {
		sharedWith := func(a snapshot.Attempt) ([]string, error) { return files.AttemptSharedWith(ctx, store, row.ID, a) }
		view := stateView{sharedWith: sharedWith, p: display.NewPainter(ctx, s), attempts: opts.attempts, standing: standing}
		if err := view.entry(at.Address, at.Entry); err != nil {
			return err
		}
		return s.Printf("%s", view.String())
	})
}

// readPage reads how a run stands at its newest entry.
func readPage(ctx context.Context, s *session.Session, store *timeline.Store, newest *timeline.LoadedEntry) (*summary.Summary, error) {
	head, err := store.HeadOf(newest)
	if err != nil {
		return nil, err
	}
	return runpage.Read(ctx, store, head, s.Now())
}

// showPage prints how a run stands, for people. If stored data failed verification, the page says in which part, and the error is
// that of the part.
func showPage(ctx context.Context, s *session.Session, store *timeline.Store, newest *timeline.LoadedEntry) error {
	done := s.While("reading the run")
	sum, err := readPage(ctx, s, store, newest)
	done()
	if err != nil {
		return err
	}
	style := runpage.Style{Painter: s.Painter(ctx), Glyphs: display.GlyphsOf(s.Terminal), Columns: s.Columns()}
	err = s.Paged(ctx, func() error { return s.Printf("%s", runpage.Text(sum, s.Now(), style)) })
	return errors.Join(err, runpage.Damage(sum))
}

// standing has the facts that show prints about an entry, and that the entry itself does not store.
type standing struct {
	owner string         // the process that owns the run, in words; "" if unknown or the address names a frame
	stale bool           // the run's row says running, and no live process owns the run; false for a frame
	next  string         // what to type if the run has failed; "" for a frame
	late  []lateDecision // the decisions since the newest frame that came too late, newest first; nil for a frame
	frame string         // the subject of the newest frame if the entry is newer, else ""
	// over names the frame that dropped this frame from the timeline; nil if the timeline has this frame.
	over *timeline.SteppedOver
	// untold has the answers of which the run's engine was not told; nil for a frame.
	untold mail.UntoldAnswers
	// engines has the frame's counterpart in each engine from which the run was imported.
	engines []timeline.PeerFrame
	// origin is the fork's parent, or nil if the run is not a fork or the output does not show it.
	origin *list.Origin
	// behind describes the files that are older than the state, as filesBehind returns them.
	behind map[string]*files.Behind
	// shared has the runs and sessions that were at work in the same folder when the files were made.
	shared []string
	// before has the working copies that a fork began with.
	before []forkedCopy
}

// standingOf returns facts about the loaded entry at and its run, for show. If the address of at names only the run,
// these are the owner of the run, whether the run is stale, and the hint after a failure. If the address names a frame,
// the only fact is the frame that dropped this frame from the timeline, if there is one. The caller must set the other
// fields.
func standingOf(ctx context.Context, store *timeline.Store, at *timeline.LoadedEntry) (standing, error) {
	if !at.Bare {
		over, err := timeline.FindSteppedOver(ctx, store, at.Address)
		return standing{over: over}, err
	}
	head, err := store.HeadOf(at)
	if err != nil {
		return standing{}, err
	}
	row := head.Row()
	owner := store.Owner(row)
	is := standing{stale: summary.Stale(store, row, at.Entry)}
	if is.stale || owner.Live || owner.Elsewhere {
		is.owner = describeOwner(row, owner)
	}
	if is.next, err = app.AfterFailure(store, head); err == nil {
		is.late, err = lateDecisions(store, at.Entry)
	}
	return is, err
}

// entriesSinceFrame is the largest number of entries in which lateDecisions looks.
const entriesSinceFrame = 100

// lateDecision is an entry that notes a late decision. Rows has the payloads of its events.
type lateDecision struct {
	Subject string            `json:"subject"`
	AtMs    int64             `json:"atMs"`
	Rows    []json.RawMessage `json:"rows"`
}

// lateDecisions returns the late decisions that the entries since the newest frame note, newest first.
func lateDecisions(store *timeline.Store, tip *snapshot.Entry) (late []lateDecision, err error) {
	seen := 0
	for entry, err := range store.Chain(tip) {
		if seen++; err != nil || entry.Frame != snapshot.NoFrame || seen > entriesSinceFrame {
			return late, timeline.Explain(err)
		}
		events, err := entry.Events()
		if err != nil {
			return late, timeline.Explain(err)
		}
		one := lateDecision{Subject: entry.Subject, AtMs: entry.AtMs}
		for _, e := range events {
			if e.Type == mailbox.EventLate {
				one.Rows = append(one.Rows, e.Payload)
			}
		}
		if one.Rows != nil {
			late = append(late, one)
		}
	}
	return late, nil
}

// subjectBefore returns the subject of the newest frame of the run if the entry at is not a frame, but came after this
// frame. It returns "" if the entry is a frame.
func subjectBefore(ctx context.Context, store *timeline.Store, at *timeline.LoadedEntry) (string, error) {
	if !isNewer(at.Entry) {
		return "", nil
	}
	frame, err := store.Load(ctx, at.Address.String())
	if err != nil {
		return "", err
	}
	return frame.Entry.Subject, nil
}

// describeOwner returns a text for people about the process that executes a run. If no live process executes the run
// and its status is running, the text says so. describeOwner returns "" if the run does not run, and if the engine of
// the run claims no runs, because it is then unknown whether a process executes the run.
func describeOwner(row snapshot.Run, owner owner.Owner) string {
	switch {
	case row.Epoch == 0: // the run of an engine that claims no runs
		return ""
	case owner.Live && owner.PID != 0:
		return fmt.Sprintf("a live process, %d", owner.PID)
	case owner.Live:
		return "a live process"
	case row.Status == snapshot.RunRunning && owner.Elsewhere:
		return "a process in another clone, which has claimed the run; whether it is alive is not known here"
	case row.Status == snapshot.RunRunning:
		return "no live process: `git smithers resume " + fault.Word(row.ID) + "` continues the run"
	}
	return ""
}

// describeEntry returns the document of show --json for a loaded entry: its run, its working copy's revision and its
// state, and also its attempts if attempts is true. The caller must set the members that the entry does not store.
func describeEntry(ctx context.Context, store *timeline.Store, at *timeline.LoadedEntry, attempts bool) (*showDocument, error) {
	entry := at.Entry
	doc := &showDocument{
		Kind: "snapshot", RunID: at.Address.Run, Frame: at.Address.Frame, Commit: entry.ID.String(),
		ContentHash: entry.ContentHash.String(), CreatedAtMs: entry.AtMs, Subject: entry.Subject, IDs: entry.IDs, Newer: isNewer(entry),
	}
	var err error
	if doc.Run, err = entry.RunRow(); err != nil {
		return nil, err
	}
	if doc.VCS, err = entry.VCSRevision(); err != nil {
		return nil, err
	}
	doc.VCSTag = jjbridge.TagOf(doc.VCS)
	state, err := entry.State()
	if err != nil {
		return nil, err
	}
	if doc.State, err = snapshot.DumpState(state); err != nil {
		return nil, err
	}
	if attempts {
		doc.Attempts, err = describeAttempts(ctx, store, at)
	}
	return doc, err
}

// describeAttempts returns the documents of the attempts in the journal of a loaded entry, in the order of their keys.
func describeAttempts(ctx context.Context, store *timeline.Store, at *timeline.LoadedEntry) ([]attemptDocument, error) {
	attempts, err := listAttempts(at.Entry)
	if err != nil {
		return nil, err
	}
	head, err := store.Head(ctx, at.Address.Run) // frame 0 of a fork may be its parent's, and does not tell of the fork
	if err != nil {
		return nil, err
	}
	inherited, err := list.InheritedBy(store, head.Row())
	if err != nil {
		return nil, err
	}
	docs := make([]attemptDocument, len(attempts))
	for i, a := range attempts {
		docs[i].Attempt = a
		if docs[i].Inherited, err = inherited.Has(a); err != nil {
			return nil, err
		}
		if docs[i].SharedWith, err = files.AttemptSharedWith(ctx, store, at.Address.Run, a); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// listAttempts returns the attempts in the journal of an entry, in the order of their keys. If there is no error, the
// result is not nil.
func listAttempts(entry *snapshot.Entry) ([]snapshot.Attempt, error) {
	list := []snapshot.Attempt{}
	for a, err := range entry.AllAttempts() {
		if err == nil {
			a, err = entry.Renumber(a)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
