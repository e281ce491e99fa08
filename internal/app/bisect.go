package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/files"
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
	good  int          // the newest step that is known to be good, or -1
	known map[int]bisect.Verdict
	log   *bisect.Log

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
		err = cmp.Or(b.agree(), files.SweepScratches(ctx, d.Store))
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
	at := b.line[len(b.line)-1].Address()
	switch err := b.keep(ctx, newest, done); {
	case err != nil || done.verdict == bisect.Bad:
		return err
	case done.verdict == bisect.Good:
		return fault.New(fault.NothingBad, "the newest frame %s is good", at).
			Hint("name a good frame and a bad one: `%s` shows them", fault.CommandLine(fault.Program, "timeline", b.run)).Detail("frame", at.Frame)
	}
	return fault.New(fault.OnlySkipped, "the newest frame %s is %s, so it is unknown whether it is bad", at, done.verdict).
		Hint("name a good frame and a bad one").Detail("frame", at.Frame)
}

// LogOf returns the log of a request, which Known takes; empty if there is none.
func (d *Desk) LogOf(ctx context.Context, req *BisectRequest) ([]byte, error) {
	b := &bisection{Desk: d, BisectRequest: req}
	if err := b.readRun(ctx); err != nil {
		return nil, err
	}
	path, _ := b.question()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return data, timeline.Explain(err)
}

// bisectFolder is a folder in the private folder of the store. It has a log for each question about a run.
const bisectFolder = "bisect"

// question returns the path of the log of the request, and its first line.
func (b *bisection) question() (path string, asked bisect.Line) {
	asked = bisect.Line{RunID: b.run, Command: b.Command, Repeat: b.Repeat, AtMs: b.Now().UnixMilli()}
	if b.When != nil {
		asked.When = b.When.String()
	}
	words := append([]string{b.run, asked.When, strconv.Itoa(b.Repeat)}, b.Command...)
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return filepath.Join(b.Store.Private(), bisectFolder, hex.EncodeToString(sum[:16])+".log"), asked
}

// openLog opens the log of the request, and takes its verdicts and those of Known.
func (b *bisection) openLog() error {
	lines, err := bisect.Parse(b.Known)
	if err != nil {
		return fault.New(fault.Usage, "the verdicts cannot be taken: %w", err).Hint("the same command with --log prints a log")
	}
	path, asked := b.question()
	log, had, err := bisect.Open(path, asked, b.Again)
	if errors.Is(err, bisect.ErrBusy) {
		return fault.New(fault.Locked, "the same bisect of run %q is running", b.run).Hint("wait until it has ended, or stop it: its verdicts are kept")
	}
	if err != nil {
		return timeline.Explain(err)
	}
	b.log = log
	for _, line := range append(had, lines...) {
		for step, at := range b.steps {
			if b.line[at.first].Commit == line.Commit || b.line[at.last].Commit == line.Commit {
				b.known[step] = line.Verdict
			}
		}
	}
	return nil
}

// find probes until the search is over.
func (b *bisection) find(ctx context.Context) error {
	for steps := b.search.Next(b.Parallel); len(steps) > 0; steps = b.search.Next(b.Parallel) {
		if err := b.round(ctx, steps); err != nil {
			return err
		}
	}
	return nil
}

// round probes steps side by side.
func (b *bisection) round(ctx context.Context, steps []int) (err error) {
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
