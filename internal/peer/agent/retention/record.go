package retention

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// record is what retention remembers in the store's private folder. If it is lost, pruned sessions stay until prune --collect.
type record struct {
	RoundAtMs int64            `json:"roundAtMs"` // when the newest round began
	Pruned    map[string]int64 `json:"pruned"`    // when a round has pruned a run that is not collected yet, in milliseconds since 1970
}

// folder returns the folder of the record.
func folder(s *timeline.Store) string { return filepath.Join(s.Private(), "sessions") }

// recordPath returns the path of the record in the private folder of a store.
func recordPath(private string) string { return filepath.Join(private, "sessions", "retention.json") }

// readRecord returns the record, or an empty one. A file that is not a record is like a lost one.
func readRecord(s *timeline.Store) (*record, error) {
	rec := new(record)
	data, err := os.ReadFile(recordPath(s.Private()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, timeline.Explain(err)
	}
	if json.Unmarshal(data, rec) != nil || rec.Pruned == nil {
		rec.Pruned = make(map[string]int64)
	}
	return rec, nil
}

// write replaces the record.
func (r *record) write(s *timeline.Store) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("note what was pruned: %w", err)
	}
	if err := fsx.Replace(recordPath(s.Private()), append(data, '\n'), 0o600); err != nil {
		return fault.New(fault.WriteFailed, "note what was pruned: %w", err)
	}
	return nil
}

// Due reports whether a round is due: none has begun for a day. private is the private folder of a store. It reads no history.
func Due(private string, now time.Time) bool {
	info, err := os.Stat(recordPath(private))
	return err != nil || now.Sub(info.ModTime()) >= roundEvery
}
