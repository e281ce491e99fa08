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
	"time"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/fsx"
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
	Output    io.Writer // gets what the commands print
	FilesTrust
}

// bisection is a bisect at work.
type bisection struct {
	*Desk
	*BisectRequest
	run   string
	line  []lineFrame
	steps []bisectStep // in line, up to the one that is bad
	good  int          // the newest step that is known to be good, or -1
	known map[int]bisect.Verdict
	log   *bisect.Log

	search    *bisect.Search
	scratches []*files.Scratch // of each slot; nil until it is needed
	out       BisectResult

	mu     sync.Mutex      // of agreed, while probes run side by side
	agreed map[string]bool // the runs on whose files the command may run
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
	b := &bisection{Desk: d, BisectRequest: req, good: -1, known: make(map[int]bisect.Verdict), agreed: make(map[string]bool)}
	if err := b.readLine(ctx); err != nil {
		return nil, err
	}
	if err := b.agree(ctx); err != nil {
		return nil, err
	}
	if err := b.openLog(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, timeline.Explain(b.log.Close())) }()
	if b.When == nil {
		if err := files.SweepScratches(ctx, d.Store); err != nil {
			return nil, err
		}
		b.scratches = make([]*files.Scratch, max(req.Parallel, 1))
		defer func() { err = errors.Join(err, b.closeScratches(ctx)) }()
	}
	if err := b.checkNewest(ctx); err != nil {
		return nil, err
	}
	if err := b.find(ctx); err != nil {
		return nil, err
	}
	return b.answer(ctx)
}

// checkNewest makes sure that the last step is bad, and begins the search before it.
func (b *bisection) checkNewest(ctx context.Context) error {
	newest := len(b.steps) - 1
	b.search = bisect.New(b.good, newest)
	if b.Bad != "" {
		return nil
	}
	verdict, had := b.known[newest]
	if !had {
		done, err := b.probe(ctx, 0, newest)
		if err == nil {
			err = b.told(ctx, newest, done)
		}
		if err != nil {
			return err
		}
		verdict = done.verdict
	} else {
		b.out.Known++
	}
	at := b.line[b.steps[newest].last].Address
	switch verdict {
	case bisect.Good:
		return fault.New(fault.NothingBad, "the newest frame %s is good", at).
			Hint("name a frame that is bad: `%s`", fault.CommandLine(fault.Program, "timeline", b.run)).Detail("runId", b.run).Detail("frame", at.Frame)
	case bisect.Bad:
		return nil
	}
	return fault.New(fault.OnlySkipped, "the newest frame %s is %s, so it is unknown whether it is bad", at, verdict).
		Hint("name a frame that is good and one that is bad after the run").Detail("runId", b.run).Detail("frame", at.Frame)
}

// bisectFolder is a folder in the private folder of the store. It has a log for each run and question.
const bisectFolder = "bisect"

// bisectLog returns the path of the log of a run and a question.
func bisectLog(store *timeline.Store, run, question string) string {
	return filepath.Join(store.Private(), bisectFolder, digest(run)+"-"+digest(question)+".log")
}

// digest returns a short name for a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// openLog opens the log of the request, and takes its verdicts and those of Known.
func (b *bisection) openLog() error {
	h := bisect.Header{RunID: b.run, Command: b.Command, Repeat: b.Repeat}
	if b.When != nil {
		h.When = b.When.String()
	}
	var lines []bisect.Line
	if b.Known != nil {
		var err error
		if _, lines, err = bisect.Parse(b.Known); err != nil {
			return fault.New(fault.Usage, "the verdicts cannot be taken: %w", err).Hint("`%s` prints a log", fault.CommandLine(fault.Program, "bisect", b.run, "--log"))
		}
	}
	question := strings.Join(append([]string{h.When, strconv.Itoa(h.Repeat)}, h.Command...), "\x00")
	log, had, err := bisect.Open(bisectLog(b.Store, b.run, question), h, b.Again)
	if errors.Is(err, bisect.ErrBusy) {
		return fault.New(fault.Locked, "the same bisect of run %q is running", b.run).Hint("wait until it has ended, or stop it: its verdicts are kept")
	}
	if err != nil {
		return timeline.Explain(err)
	}
	b.log = log
	steps := make(map[string]int)
	for i, step := range b.steps {
		for at := step.first; at <= step.last; at++ {
			steps[b.line[at].Commit] = i
		}
	}
	for _, line := range append(had, lines...) {
		if step, ok := steps[line.Commit]; ok {
			b.known[step] = line.Verdict
		}
	}
	return nil
}

// find probes until the search is over.
func (b *bisection) find(ctx context.Context) error {
	for {
		steps := b.search.Next(max(b.Parallel, 1))
		if len(steps) == 0 {
			return nil
		}
		told := false
		for _, step := range steps {
			if verdict, ok := b.known[step]; ok && b.search.Wants(step) {
				b.search.Add(step, verdict)
				b.out.Known++
				told = true
			}
		}
		if told {
			continue
		}
		if err := b.round(ctx, steps); err != nil {
			return err
		}
	}
}

// round probes steps side by side. A probe that another one makes needless is stopped.
func (b *bisection) round(ctx context.Context, steps []int) error {
	type end struct {
		slot int
		probed
		err error
	}
	ends := make(chan end)
	stops := make([]context.CancelFunc, len(steps))
	for slot, step := range steps {
		var probing context.Context
		probing, stops[slot] = context.WithCancel(ctx)
		go func() {
			done, err := b.probe(probing, slot, step)
			ends <- end{slot, done, err}
		}()
	}
	var failed error
	for range steps {
		e := <-ends
		step := steps[e.slot]
		if e.err != nil && (ctx.Err() != nil || b.search.Wants(step)) {
			failed = cmp.Or(failed, e.err)
		} else if e.err == nil {
			b.search.Add(step, e.verdict)
			failed = cmp.Or(failed, b.told(ctx, step, e.probed))
		}
		for slot, other := range steps {
			if failed != nil || !b.search.Wants(other) {
				stops[slot]()
			}
		}
	}
	return failed
}

// told keeps the verdict of a step in the log, and notes it.
func (b *bisection) told(ctx context.Context, step int, done probed) error {
	at := b.line[b.steps[step].first]
	b.known[step] = done.verdict
	b.out.Probes++
	b.Teller.Note(ctx, BisectProbeNote{at.Address, done.verdict, b.out.Probes, b.out.Probes + b.search.Left(max(b.Parallel, 1))})
	return timeline.Explain(b.log.Add(bisect.Line{
		Frame: at.String(), Commit: at.Commit, Verdict: done.verdict, Statuses: done.statuses, AtMs: b.Now().UnixMilli(),
	}))
}

// BisectLog returns the newest log of the bisects of a run, which Known takes. Code: usage if there is none.
func (d *Desk) BisectLog(ctx context.Context, run string) ([]byte, error) {
	id, err := d.Store.ResolveRun(ctx, run)
	if err != nil {
		return nil, err
	}
	path, err := newestFile(filepath.Join(d.Store.Private(), bisectFolder), digest(id)+"-", ".log")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if path == "" {
		return nil, fault.New(fault.Usage, "run %q was never bisected here", id).
			Hint("`%s -- COMMAND` does", fault.CommandLine(fault.Program, "bisect", id))
	}
	data, err := bisect.Read(path)
	return data, timeline.Explain(err)
}

// newestFile returns the path of the newest file of a folder whose name has the prefix and the suffix; "" if there is none.
func newestFile(folder, prefix, suffix string) (path string, err error) {
	found, err := filepath.Glob(filepath.Join(fsx.GlobQuote(folder), prefix+"*"+suffix))
	var newest time.Time
	for _, name := range found {
		if info, err := os.Stat(name); err == nil && !info.ModTime().Before(newest) {
			path, newest = name, info.ModTime()
		}
	}
	return path, err
}
