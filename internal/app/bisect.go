package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// BisectRequest asks for the frame at which a run broke. Either Command or When is set.
type BisectRequest struct {
	Run       string // an id or a unique prefix
	Good, Bad string // numbers of frames, turn:N or addresses; "" for unknown
	Command   []string
	When      *stateexpr.Expression
	Parallel  int       // probes at once, at least 1
	Repeat    int       // executions of the command for each probe, at least 1
	Again     bool      // forget the verdicts of an interrupted bisect
	Known     []byte    // a log whose verdicts are taken first; nil for none
	Output    io.Writer // gets what the commands print; safe for concurrent use
	FilesTrust
}

// bisection is a bisect at work.
type bisection struct {
	*Desk
	*BisectRequest
	run   string
	line  []BisectFrame
	steps []bisectStep // of line
	from  int          // the place in the line of the first frame in question
	good  int          // the newest step that is known to be good, or -1
	known map[int]bisect.Verdict
	log   *bisect.Log

	// confined is true if smithers.sandbox is required and this clone has not recorded a frame in question. Ignored files stay in a worktree from probe to probe, so all
	// probes then run in sandboxes: what a sandbox has left must not run outside, nor see the ignored files that were brought.
	confined bool

	search    *bisect.Search
	scratches []*files.Scratch // of each slot; nil until it is needed
	out       BisectResult
}

// BisectProbeNote notes the verdict of a probe. About is the likely number of probes.
type BisectProbeNote struct {
	Frame       timeline.Address
	Verdict     bisect.Verdict
	Done, About int
}

func (BisectProbeNote) note() {}

// Bisect finds the first frame of a run's line that is bad, if all frames before it are good. It follows the line into the parents of a fork. It writes nothing
// but a log of the verdicts, with which the same request goes on after an interruption.
//
// With the error only_skipped the result is valid: one of its suspects is the first bad frame. Other codes: those of Load, usage, nothing_bad, probe_failed,
// untrusted_files, locked, and those of files.OpenScratch.
func (d *Desk) Bisect(ctx context.Context, req *BisectRequest) (_ *BisectResult, err error) {
	b := &bisection{Desk: d, BisectRequest: req, good: -1, known: make(map[int]bisect.Verdict), scratches: make([]*files.Scratch, req.Parallel)}
	if err = b.readLine(ctx); err == nil && b.When == nil {
		err = b.agree()
		if err == nil {
			_, err = files.SweepScratches(ctx, d.Store, false)
		}
	} else if err == nil {
		err = b.checkOutputs(ctx)
	}
	if err == nil {
		err = b.openLog()
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.closeScratches(ctx), timeline.Explain(b.log.Close())) }()
	if err = b.checkNewest(ctx); err == nil {
		err = b.find(ctx)
	}
	if err != nil {
		return nil, err
	}
	return b.answer(ctx)
}

// checkNewest begins the search, after a probe that the last step is bad, unless that was said.
func (b *bisection) checkNewest(ctx context.Context) error {
	newest := len(b.steps) - 1
	b.search = bisect.New(b.good, newest)
	if b.Bad != "" {
		return nil
	}
	done := b.ask(ctx, 0, newest)
	at := b.line[b.steps[newest].first].Address() // the one that was probed
	switch err := b.keep(ctx, newest, done); {
	case err != nil || done.verdict == bisect.Bad:
		return err
	}
	code := fault.OnlySkipped
	if done.verdict == bisect.Good {
		code = fault.NothingBad
	}
	return fault.New(code, "the newest frame %s is %s", at, done.verdict).
		Hint("name a good frame and a bad one: `%s` shows them", fault.CommandLine(fault.Program, "timeline", b.run)).Detail("frame", at.Frame)
}

// bisectFolder is a folder in the private folder of the store. It has a log for each question about a run.
const bisectFolder = "bisect"

// BisectLog returns the log of the newest bisect of a run, as BisectRequest.Known takes it. Code: usage if there is none.
func (d *Desk) BisectLog(ctx context.Context, run string) ([]byte, error) {
	run, err := agent.Session(ctx, d.Store, run)
	if err == nil {
		run, err = d.Store.ResolveRun(ctx, run)
	}
	if err != nil {
		return nil, err
	}
	data, err := bisect.Last(filepath.Join(d.Store.Private(), bisectFolder), run)
	if err == nil && data == nil {
		err = fault.New(fault.Usage, "no bisect of run %q has left a log", run).Hint("`%s` makes one", fault.CommandLine(fault.Program, "bisect", run, "--", "COMMAND"))
	}
	return data, timeline.Explain(err)
}

// openLog opens the log of the request, and takes its verdicts and those of Known. Each question about a run has a log of its own.
func (b *bisection) openLog() error {
	lines, err := bisect.Parse(b.Known)
	if err != nil {
		return fault.New(fault.Usage, "the verdicts cannot be taken: %w", err).Hint("the answer of a bisect names its log")
	}
	asked := bisect.Line{RunID: b.run, Command: b.Command, Repeat: b.Repeat, AtMs: b.Now().UnixMilli()}
	if b.When != nil {
		asked.When = b.When.String()
	}
	words := append([]string{b.run, asked.When, strconv.Itoa(b.Repeat)}, b.Command...)
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b.out.Log = filepath.Join(b.Store.Private(), bisectFolder, hex.EncodeToString(sum[:8])+".log")
	log, had, err := bisect.Open(b.out.Log, asked, b.Again)
	if errors.Is(err, bisect.ErrBusy) {
		return fault.New(fault.Locked, "the same bisect of run %q is running", b.run).Hint("wait until it has ended, or stop it: its verdicts are kept")
	}
	if err != nil && b.When != nil { // it is quick to evaluate again
		b.out.Log = ""
		b.Teller.Warn(fmt.Errorf("the verdicts are not kept: %w", err))
		err = nil
	}
	if err != nil {
		return timeline.Explain(err)
	}
	b.log = log
	for _, line := range had {
		b.out.KnownAtMs = max(b.out.KnownAtMs, line.AtMs)
	}
	for _, line := range append(had, lines...) {
		for step, at := range b.steps {
			if b.line[at.first].Commit == line.Commit || b.line[at.last].Commit == line.Commit {
				b.known[step] = line.Verdict
			}
		}
	}
	return nil
}

// find probes until the search is over, in rounds of probes that run side by side.
func (b *bisection) find(ctx context.Context) (err error) {
	for steps := b.search.Next(b.Parallel); err == nil && len(steps) > 0; steps = b.search.Next(b.Parallel) {
		ends := make([]probed, len(steps))
		var working sync.WaitGroup
		for slot, step := range steps {
			working.Go(func() { ends[slot] = b.ask(ctx, slot, step) })
		}
		working.Wait()
		for slot, step := range steps {
			if ends[slot].err == nil {
				b.search.Add(step, ends[slot].verdict)
			}
			err = cmp.Or(err, b.keep(ctx, step, ends[slot]))
		}
	}
	return err
}

// keep keeps the verdict of a step in the log, and notes it, unless the verdict is from the log. It returns the error of the probe.
func (b *bisection) keep(ctx context.Context, step int, done probed) error {
	switch {
	case done.err != nil:
		return timeline.Explain(done.err)
	case done.had:
		b.out.Known++
		return nil
	}
	at := b.line[b.steps[step].first]
	b.known[step] = done.verdict
	b.out.Probes++
	b.Teller.Note(ctx, BisectProbeNote{at.Address(), done.verdict, b.out.Probes, b.out.Probes + b.search.Left(b.Parallel)})
	return timeline.Explain(b.log.Add(bisect.Line{
		Frame: at.Address().String(), Commit: at.Commit, Verdict: done.verdict, Statuses: done.statuses, AtMs: b.Now().UnixMilli(),
	}))
}

// The exit statuses of the commands of probes, as git bisect run has them. git tries a known good commit if the first probe ends with those of a shell that
// could not run the command.
const (
	exitSkip     = 125
	exitNotRun   = 126
	exitNotFound = 127 // more end the search, too
)

// probed is the result of a probe.
type probed struct {
	verdict  bisect.Verdict
	statuses []int
	had      bool // the log had it
	err      error
}

// agree asks for consent to run the command on the files of each run of the line, up to the newest of the frames in question, before anything runs.
func (b *bisection) agree() error {
	agreed := make(map[string]bool)
	for place := len(b.line) - 1; place >= b.from; place-- {
		entry, err := b.entryOf(place)
		if err != nil {
			return timeline.Explain(err)
		}
		if run := entry.Stored().Run; !agreed[run] {
			agreed[run] = true
			check := &filesCheck{Desk: b.Desk, FilesTrust: b.FilesTrust, entry: entry, brought: true}
			if err := check.agreeToFiles([]command{{Command: b.shellLine()}}); err != nil {
				return err
			}
			// A clone that has recorded the newest frame of a run has recorded them all.
			b.confined = b.confined || b.Store.Settings().SandboxRequired && check.origin != timeline.Recorded
		}
	}
	return nil
}

// shellLine returns the command for sh. A single word is a line for the shell.
func (b *bisection) shellLine() string {
	if len(b.Command) == 1 {
		return b.Command[0]
	}
	words := make([]string, len(b.Command))
	for i, word := range b.Command {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// ask returns the verdict of a step that the log has, or probes it in the worktree of a slot. A frame without files is skipped.
func (b *bisection) ask(ctx context.Context, slot, step int) (out probed) {
	if out.verdict, out.had = b.known[step]; out.had {
		return out
	}
	at := b.line[b.steps[step].first]
	entry, err := b.entryOf(b.steps[step].first)
	var state *stateexpr.Values
	var stdin []byte
	if err == nil {
		state, err = stateexpr.Of(at.Address(), entry)
	}
	if err == nil {
		stdin, err = jsontext.Encode(state)
	}
	switch {
	case err != nil:
		return probed{err: err}
	case b.When != nil:
		bad, err := b.When.Holds(state)
		if out = (probed{verdict: bisect.Good, err: err}); bad {
			out.verdict = bisect.Bad
		}
		return out
	case at.Tree().IsZero():
		return probed{verdict: bisect.Skip}
	}
	return b.probe(ctx, slot, entry, engine.Probe{Run: at.RunID, Frame: at.FrameNo, Line: b.shellLine(), Stdin: append(stdin, '\n'), Output: b.Output})
}

// probe runs the command on the files of an entry, until the results differ, or as often as was asked.
func (b *bisection) probe(ctx context.Context, slot int, entry *snapshot.Entry, run engine.Probe) (out probed) {
	opts, err := b.besideOptions(entry)
	if err != nil {
		return probed{err: err}
	}
	opts.SandboxRequired = b.confined
	var said []bisect.Verdict
	for len(said) < b.Repeat && out.verdict != bisect.Flaky {
		if run.Dir, err = b.filesAt(ctx, slot, entry); err != nil {
			return probed{err: err}
		}
		status, signal, err := run.Execute(ctx, opts)
		if err != nil {
			return probed{err: err}
		}
		verdict := bisect.Bad
		switch {
		case status >= exitNotRun || signal != "":
			return probed{err: probeFailed(run, status, signal)}
		case status == exitSkip:
			verdict = bisect.Skip
		case status == 0:
			verdict = bisect.Good
		}
		out.statuses, said = append(out.statuses, status), append(said, verdict)
		out.verdict = bisect.Of(said)
	}
	return out
}

// probeFailed returns the error of a probe that says nothing of its frame.
func probeFailed(run engine.Probe, status int, signal string) error {
	how, hint := fmt.Sprintf("ended with status %d", status), "0 is good, 125 skips the frame, other statuses below 126 are bad; the verdicts are kept, and the same command goes on"
	switch {
	case signal != "":
		how = "was ended by the signal " + signal
	case status == exitNotFound:
		how += " (not found)"
	case status == exitNotRun:
		how += " (cannot be executed)"
	}
	if status == exitNotFound || status == exitNotRun {
		hint = "if that tells of the frame, end with another status: `-- 'COMMAND || exit 1'` for a bad frame, and 125 to skip it"
	}
	return fault.New(fault.ProbeFailed, "the command %s at %s:%d, so the bisect ends", how, run.Run, run.Frame).Hint("%s", hint).
		Detail("runId", run.Run).Detail("frame", run.Frame).Detail("status", status)
}

// filesAt puts the files of a frame into the worktree of a slot, and returns its folder. If there is no worktree, or what a command has left there is in the
// way, it makes and equips a new one.
func (b *bisection) filesAt(ctx context.Context, slot int, entry *snapshot.Entry) (dir string, err error) {
	old := b.scratches[slot]
	if old != nil && old.Become(ctx, entry) == nil {
		return old.Root(), nil
	}
	if old != nil {
		if err := old.Close(ctx); err != nil {
			return "", err
		}
	}
	b.scratches[slot], err = files.OpenScratch(ctx, b.Store, entry)
	if err != nil {
		return "", err
	}
	_, err = b.Equip(ctx, b.scratches[slot].WorkingCopy, files.Equipment{Confined: b.confined})
	return b.scratches[slot].Root(), err
}

// closeScratches removes the worktrees.
func (b *bisection) closeScratches(ctx context.Context) (err error) {
	for _, scratch := range b.scratches {
		if scratch != nil {
			err = errors.Join(err, scratch.Close(ctx))
		}
	}
	return err
}
