package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// tracesFolder is the InPlace name of a folder. It has a file for each run that has ended and whose trace no collector has yet.
const tracesFolder = "traces"

// WaitingTrace is a run whose trace waits for a collector.
type WaitingTrace struct {
	Run string `json:"runId"`
	Tip string `json:"tip"` // the run's tip when it ended
}

// EnqueueTrace notes that the run of head has ended. A later end of the same run replaces the note.
func EnqueueTrace(s *timeline.Store, head *timeline.Head) error {
	path, err := pathOf(s, head.Row().ID)
	if err != nil {
		return err
	}
	note, err := json.Marshal(WaitingTrace{head.Row().ID, head.Entry().ID.String()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return timeline.Explain(err)
	}
	return timeline.Explain(os.WriteFile(path, note, 0o666)) //nolint:gosec // the umask decides who may read the repository
}

// QueuedTraces returns the runs whose traces wait for a collector, in the order of their files. A note that cannot be read is removed.
func QueuedTraces(s *timeline.Store) ([]WaitingTrace, error) {
	at := s.InPlace(tracesFolder)
	files, err := os.ReadDir(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, timeline.Explain(err)
	}
	var out []WaitingTrace
	for _, f := range files {
		note, err := os.ReadFile(filepath.Join(at, f.Name()))
		var w WaitingTrace
		if err == nil && json.Unmarshal(note, &w) == nil && w.Run != "" {
			out = append(out, w)
		} else if err == nil {
			_ = os.Remove(filepath.Join(at, f.Name())) // it was torn by a power cut
		}
	}
	return out, nil
}

// Done removes a note, because a collector has the trace or the run is gone. It leaves the note of a later end.
func (w WaitingTrace) Done(s *timeline.Store) error {
	path, err := pathOf(s, w.Run)
	if err != nil {
		return err
	}
	want, err := json.Marshal(w)
	if err != nil {
		return err
	}
	note, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(note, want) {
		return nil
	}
	if err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(os.Remove(path))
}

// pathOf returns the path of the note of a run.
func pathOf(s *timeline.Store, run string) (string, error) {
	name, err := refs.EscapeRun(run)
	return filepath.Join(s.InPlace(tracesFolder), name), err
}

// HasEnded reports whether a run with a status has a trace to send.
func HasEnded(status snapshot.RunStatus) bool {
	return status == snapshot.RunFinished || status == snapshot.RunFailed || status == snapshot.RunCancelled
}
