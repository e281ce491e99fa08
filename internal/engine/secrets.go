package engine

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Masker takes secrets out of texts for people who look at a running command. *vault.Book is a Masker. It is safe for
// concurrent use.
type Masker interface {
	// Mask returns text without its secrets. If an error is returned, the result has no secrets all the same.
	Mask(text []byte) ([]byte, error)
	// MaskStream returns a stream that passes text on to emit without its secrets.
	MaskStream(emit func([]byte)) *redact.Stream
}

// revealText returns a text member of a row with its secrets. text is the member as the row has it; nil stays nil. If this clone
// does not have a secret, revealText returns text as it is: a command may see the placeholder in what is told about an
// earlier attempt.
func revealText(reveal snapshot.Reveal, at snapshot.Place, text *string) (*string, error) {
	whole, err := wholeText(reveal, at, text)
	if err != nil && fault.CodeOf(err) == fault.SecretMissing {
		return text, nil // the placeholder says enough
	}
	return whole, err
}

// wholeText is revealText for a text that a task reads: the error is secret_missing if this clone does not have a secret of the text.
func wholeText(reveal snapshot.Reveal, at snapshot.Place, text *string) (*string, error) {
	if text == nil {
		return nil, nil
	}
	value, err := reveal(at, page.AppendString(nil, *text))
	if err != nil {
		return nil, err
	}
	out := new(string)
	return out, timeline.Explain(json.Unmarshal(value, out))
}

// MissingSecret is a stored text whose secrets this clone does not have, and the task that needs it.
type MissingSecret struct {
	Task   string // "" for the run's input, which every task needs
	Reason *vault.MissingError
}

// Explain returns the error secret_missing about a text of a run.
func (m MissingSecret) Explain(run string) error {
	err := m.Reason.Explain(run)
	if m.Task == "" {
		return err
	}
	return missingFor(m.Task, err)
}

// MissingSecrets returns the texts that the run needs to go on and whose secrets this clone does not have: its input, unless
// opts.Input replaces the secrets, what unfinished tasks read, and what people and signals have said to waiting tasks. It changes nothing.
func MissingSecrets(rec Recorder, wf *workflow.Workflow, opts Options) ([]MissingSecret, error) {
	var all []MissingSecret
	if _, err := changedInput(rec, opts.Input); err != nil {
		gone, ok := errors.AsType[*vault.MissingError](err)
		if !ok {
			return nil, err
		}
		all = append(all, MissingSecret{"", gone})
	}
	m, err := loadModel(rec.State())
	if err != nil {
		return nil, err
	}
	d := &dataReader{model: m, rec: rec, wf: wf, runID: rec.Row().ID}
	err = d.unreadable(func(t *workflow.Task, err error) error {
		gone, ok := errors.AsType[*vault.MissingError](err)
		if !ok {
			return err
		}
		if !slices.ContainsFunc(all, func(m MissingSecret) bool { return m.Reason.At == gone.At }) {
			all = append(all, MissingSecret{t.ID, gone})
		}
		return nil
	})
	return all, err
}

// checkSecrets returns the error secret_missing if an unfinished task reads an output, or what ends its wait, with a secret that this clone
// does not have. The message names the task and the secret.
func (d *dataReader) checkSecrets() error {
	return d.unreadable(func(t *workflow.Task, err error) error {
		if fault.CodeOf(err) == fault.SecretMissing {
			return missingFor(t.ID, err)
		}
		return err
	})
}

// unreadable calls failed with each error of reading an output that an unfinished task needs, or what ends its wait. It stops at the first error that
// failed returns, and returns this error.
func (d *dataReader) unreadable(failed func(t *workflow.Task, err error) error) error {
	for _, t := range d.wf.Tasks {
		key := d.newest(d.wf, t)
		n, ok := d.nodes[key]
		if ok && waitsAsBefore(t, n) {
			if err := d.readEnd(t, n); err != nil {
				if err = failed(t, err); err != nil {
					return err
				}
			}
			continue // it needs no input any more
		}
		if ok && over(n.State) {
			continue
		}
		read := func(from *workflow.Task, limit int) error {
			if _, err := d.value(from, limit); err != nil {
				return failed(t, err)
			}
			return nil
		}
		for _, id := range d.wf.Needs(t) {
			need := d.wf.Task(id)
			if err := read(need, math.MaxInt); err != nil {
				return err
			}
		}
		if t.Loop == "" || key.Iteration == 0 {
			continue
		}
		for _, sibling := range d.wf.Loop(t.Loop).Tasks {
			if err := read(sibling, key.Iteration-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnd reads what the mailbox has for the waiting node n of t.
func (d *dataReader) readEnd(t *workflow.Task, n snapshot.Node) error {
	if n.LastAttempt == nil {
		return nil
	}
	w := waitEnd{next: newDraft(d.runID, time.Time{}), state: d.rec.State(), signals: mailbox.NewSignalBook(), reveal: d.rec.Reveal}
	_, _, err := w.of(t, snapshot.Attempt{NodeID: n.NodeID, Iteration: n.Iteration, Attempt: *n.LastAttempt})
	return err
}

// missingFor returns the error secret_missing with the task that needs the secret.
func missingFor(task string, err error) error {
	out := fault.New(fault.SecretMissing, "task %s needs a secret: %w", task, err).Detail("nodeId", task)
	if known, ok := errors.AsType[*fault.Error](err); ok {
		out.Hints = known.Hints
		for key, value := range known.Details {
			out = out.Detail(key, value)
		}
	}
	return out
}
