package share

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/place"
)

// Seen says at which remote and when a run was last seen as it is here.
type Seen struct {
	Remote string `json:"remote"`
	AtMs   int64  `json:"atMs"`
}

// fetchTimes has the times of the last fetches from a remote, in milliseconds since 1970: under "" that of the last fetch of all runs,
// and under ref components those of later fetches of named runs. It is a file of this clone, without which only less is said.
type fetchTimes map[string]int64

// fetchedFolder is the folder of the files with fetchTimes, each named by its remote's ref component.
func fetchedFolder(s *timeline.Store) string { return filepath.Join(s.Private(), "fetched") }

// readFetchTimes returns the times of a remote; it is empty if no fetch has noted a readable file.
func readFetchTimes(s *timeline.Store, remote string) fetchTimes {
	times := make(fetchTimes)
	if data, err := os.ReadFile(filepath.Join(fetchedFolder(s), remote)); err != nil || json.Unmarshal(data, &times) != nil {
		return make(fetchTimes)
	}
	return times
}

// noteFetch notes that the runs with the given ref components were fetched from a remote just now; nil means all runs. A failure is a
// warning.
func noteFetch(s *timeline.Store, remote string, runs []string) {
	now, times := s.Now().UnixMilli(), fetchTimes{}
	if runs == nil {
		times[""] = now
	} else {
		times = readFetchTimes(s, remote)
	}
	for _, run := range runs {
		times[run] = now
	}
	data, err := json.Marshal(times)
	if err == nil {
		err = os.MkdirAll(fetchedFolder(s), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(fetchedFolder(s), remote), append(data, '\n'), 0o666)
	}
	if err != nil {
		s.Warn(fmt.Errorf("the time of the fetch was not noted: %w", err))
	}
}

// LastSeen returns where a run was last fetched as it is here, with the given tip. It returns nil if the run was never fetched, or has
// other entries here than its remotes had then.
func LastSeen(ctx context.Context, s *timeline.Store, run, tip string) *Seen {
	remotes, _ := os.ReadDir(fetchedFolder(s)) // missing if nothing was ever fetched
	var last *Seen
	for _, remote := range remotes {
		name, err := refs.Remote(remote.Name(), run)
		var there objstore.ID
		if err == nil {
			there, err = s.Refs().Resolve(ctx, name)
		}
		if err != nil || there.String() != tip {
			continue
		}
		times := readFetchTimes(s, remote.Name())
		component, _ := refs.EscapeRun(run)
		if at := max(times[component], times[""]); at > 0 && (last == nil || at > last.AtMs) {
			from := cmp.Or(place.Configured(s)[remote.Name()], addressBook{s}.place(remote.Name()))
			last = &Seen{from.Shown(), at}
		}
	}
	return last
}
