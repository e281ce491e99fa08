package engine

import (
	"encoding/json"
	"errors"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/redact"
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
	if text == nil {
		return nil, nil
	}
	value, err := reveal(at, page.AppendString(nil, *text))
	if fault.CodeOf(err) == fault.SecretMissing && err != nil {
		return text, nil //nolint:nilerr // the placeholder says enough
	}
	if err != nil {
		return nil, err
	}
	out := new(string)
	return out, timeline.Explain(json.Unmarshal(value, out))
}

// checkSecrets returns the error secret_missing if the stored input of an unfinished task has a secret that this clone does not
// have. The message names the task and the secret.
func (d *dataReader) checkSecrets() error {
	for _, t := range d.wf.Tasks {
		n, ok := d.nodes[workflow.NodeKey{ID: t.ID, Iteration: d.iteration(t)}]
		if ok && (over(n.State) || waitsAsBefore(t, n)) {
			continue // it needs no input any more
		}
		for _, id := range d.wf.Needs(t) {
			need := d.wf.Task(id)
			_, err := d.value(need, d.iteration(need))
			if fault.CodeOf(err) == fault.SecretMissing && err != nil {
				return missingFor(t, err)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// missingFor returns the error secret_missing with the task that needs the secret.
func missingFor(t *workflow.Task, err error) error {
	out := fault.New(fault.SecretMissing, "task %s needs a secret: %w", t.ID, err).Detail("nodeId", t.ID)
	if known, ok := errors.AsType[*fault.Error](err); ok {
		out.Hints = known.Hints
		for key, value := range known.Details {
			out = out.Detail(key, value)
		}
	}
	return out
}
