package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// folder is a folder in the store's private folder. It has the notices that wait for their command, and what the
	// user was told.
	folder = "notify"
	// maxRuns is the number of runs of which the memory keeps what was told. The run that was told of longest ago is
	// forgotten first.
	maxRuns = 1000
	// maxKeys is the number of keys that the memory keeps of a run, besides those of the newest notice.
	maxKeys = 50
	// lockPoll is the interval at which lock tries again.
	lockPoll = 5 * time.Millisecond
)

// path returns the path of the folder, or of a file in it.
func path(s *timeline.Store, name ...string) string {
	return filepath.Join(append([]string{s.Private(), folder}, name...)...)
}

// lock waits for the lock of the folder's files. The caller closes the lock.
func lock(ctx context.Context, s *timeline.Store) (*flock.Flock, error) {
	if err := os.MkdirAll(path(s), 0o700); err != nil {
		return nil, err
	}
	held := flock.New(path(s, "lock"), flock.SetPermissions(0o600))
	if _, err := held.TryLockContext(ctx, lockPoll); err != nil {
		return nil, errors.Join(fmt.Errorf("the notices cannot be locked: %w", err), held.Close())
	}
	return held, nil
}

// write replaces the content of the file at the path to. It does not wait for stable storage: after a power cut the user is
// told something twice, or not at all.
func write(data []byte, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(to+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// toldRun has the keys of what the user was told about a run, the newest first.
type toldRun struct {
	RunID string   `json:"runId"`
	Keys  []string `json:"keys"`
}

// memory is what the user was told. The run that the user was told of last is the last one.
type memory []toldRun

// readMemory reads the memory. A missing or damaged file is an empty memory: the user is then told something twice.
func readMemory(s *timeline.Store) (memory, error) {
	data, err := os.ReadFile(path(s, "told.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m memory
	if err == nil && json.Unmarshal(data, &m) != nil {
		m = nil
	}
	return m, err
}

// with returns the memory after the user was told the notice n, and marks the waits of n that m does not have as new. If
// m has all of n, told is true, and the result is m.
func (m memory) with(n Notice) (after memory, told bool) {
	var known []string
	i := slices.IndexFunc(m, func(of toldRun) bool { return of.RunID == n.RunID })
	if i >= 0 {
		known = m[i].Keys
	}
	told = true
	keys := n.keys()
	for j, key := range keys {
		fresh := !slices.Contains(known, key)
		told = told && !fresh
		if n.Event == Waits || n.Event == Ready {
			n.Waiting[j].New = fresh
		}
	}
	if told {
		return m, true
	}
	if i >= 0 {
		m = slices.Delete(m, i, i+1)
	}
	older := slices.DeleteFunc(slices.Clone(known), func(key string) bool { return slices.Contains(keys, key) })
	keys = append(keys, older[:min(len(older), maxKeys)]...)
	m = append(m, toldRun{n.RunID, keys})
	return m[max(0, len(m)-maxRuns):], false
}
