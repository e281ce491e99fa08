package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// signalsVariable names the file from which a command reads the signals of its run. docs/workflow-reference.md describes the lines.
const signalsVariable = "SMITHERS_SIGNALS"

// maxEarlier is the size in bytes of the signals with which the file of an attempt begins. Older signals are left out; the newest one is not.
const maxEarlier = 1 << 20

// steering has the signals of a run as lines. It reads each signal once.
type steering struct {
	read    *page.Collection // the signals that were read
	earlier []byte           // the newest lines, up to maxEarlier bytes
}

// update returns the lines of the signals at the tip of rec that it has not read before, in the order of their arrival. If it returns an error, it
// does not read these signals again.
func (s *steering) update(rec Recorder) (fresh []byte, err error) {
	before, now := s.read, rec.State().Signals()
	if before.ID() == now.ID() {
		return nil, nil
	}
	s.read = now
	var arrived []snapshot.Signal
	for delta, err := range page.Diff(before, now) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		signal, err := snapshot.DecodeSignal(page.Row{Key: delta.Key, Value: delta.To}) // signals are only added
		if err != nil {
			return nil, timeline.Explain(err)
		}
		arrived = append(arrived, signal)
	}
	slices.SortFunc(arrived, func(a, b snapshot.Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, signal := range arrived {
		line, err := lineOf(signal, rec.Reveal)
		if err != nil {
			return nil, err
		}
		fresh = append(append(fresh, line...), '\n')
	}
	s.keep(fresh)
	return fresh, nil
}

// keep adds lines to the earlier ones, and drops the oldest of these above maxEarlier.
func (s *steering) keep(lines []byte) {
	s.earlier = append(s.earlier, lines...)
	for len(s.earlier) > maxEarlier {
		_, newer, _ := bytes.Cut(s.earlier, []byte("\n"))
		if len(newer) == 0 {
			return
		}
		s.earlier = newer
	}
}

// lineOf returns a signal as a line, with its secrets. A secret that this clone does not have stays a placeholder.
func lineOf(s snapshot.Signal, reveal snapshot.Reveal) ([]byte, error) {
	at := snapshot.Place{Collection: snapshot.CollectionSignals, Key: s.Digest()}
	payload, by := at, at
	payload.Member, by.Member = "payload", "receivedBy"
	whole, err := reveal(payload, s.Payload)
	if err == nil {
		s.Payload = whole
	} else if fault.CodeOf(err) != fault.SecretMissing {
		return nil, err
	}
	if s.ReceivedBy, err = revealText(reveal, by, s.ReceivedBy); err != nil {
		return nil, err
	}
	line, err := jsontext.Encode(struct {
		snapshot.Signal
		ReceivedAt string `json:"receivedAt"` // as mailbox.ShowTime returns it
	}{s, mailbox.ShowTime(s.ReceivedAtMs)})
	return line, timeline.Explain(err)
}

// steer appends the signals that have arrived since the last time to the files of the commands that run. Signals that cannot be read are a
// warning, because no command must read them.
func (r *runner) steer() {
	fresh, err := r.steering.update(r.rec)
	if err != nil {
		r.opts.Warn(fmt.Errorf("running tasks miss signals: %w", err))
	}
	for _, a := range r.running {
		if a.launched && len(fresh) > 0 {
			r.tellSignals(a.job, fresh)
		}
	}
}

// openSignals makes the file from which the attempt's command reads signals, with those that the run has. If it cannot be made, the command
// has none.
func (r *runner) openSignals(j *job) {
	if r.opts.Logs == nil {
		return
	}
	r.steer()
	var err error
	if j.signals, err = r.opts.Logs.Signals(snapshot.AttemptKey(j.key.ID, j.key.Iteration, j.attempt)); err != nil {
		r.opts.Warn(fmt.Errorf("task %s: signals are missing: %w", j.key.Name(j.task), err))
	}
	r.tellSignals(j, r.steering.earlier)
}

// tellSignals appends lines to the file of an attempt, if it has one. After an error, which leaves half a line, the file gets no more.
func (r *runner) tellSignals(j *job, lines []byte) {
	// A file that is closed is of a command that has ended.
	if _, err := j.signals.Write(lines); err != nil && j.signals != nil && !errors.Is(err, os.ErrClosed) {
		_ = j.signals.Close()
		r.opts.Warn(fmt.Errorf("task %s: signals are missing: %w", j.key.Name(j.task), err))
	}
}

// signalsEnv returns the variable that names the file of signals; it is empty if there is none.
func (j *job) signalsEnv() string {
	if j.signals == nil {
		return signalsVariable + "="
	}
	return signalsVariable + "=" + j.signals.Name()
}
