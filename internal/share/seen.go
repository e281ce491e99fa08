package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// Seen says at which remote and when a run was last seen as it is here.
type Seen struct {
	Remote string `json:"remote"`
	AtMs   int64  `json:"atMs"`
}

// fetchedFolder is the folder in which each remote has a folder, named by its ref component. There, allFetched has the time of the last
// fetch of all runs, and a file with the name of a run's ref component that of a later fetch of the run. The times are those of the files.
// Without them, only less is said.
func fetchedFolder(s *timeline.Store) string { return filepath.Join(s.Private(), "fetched") }

// allFetched is no ref component of a run.
const allFetched = "_all"

// noteFetch notes that the runs with the given ref components were fetched from a remote just now; nil means all runs. A failure is a
// warning.
func noteFetch(s *timeline.Store, remote string, runs []string) {
	folder := filepath.Join(fetchedFolder(s), remote)
	if runs == nil {
		runs = []string{allFetched}
		_ = os.RemoveAll(folder) // an older time that stays is not used
	}
	err := os.MkdirAll(folder, 0o777)
	for _, run := range runs {
		path := filepath.Join(folder, run)
		err = errors.Join(err, os.WriteFile(path, nil, 0o666), os.Chtimes(path, s.Now(), s.Now()))
	}
	if err != nil {
		s.Warn(fmt.Errorf("the time of the fetch was not noted: %w", err))
	}
}

// LastSeen returns where a run was last fetched as it is here, with the given tip. It returns nil if the run was never fetched, or has
// other entries here than its remotes had then.
func LastSeen(ctx context.Context, s *timeline.Store, run, tip string) *Seen {
	folders, _ := os.ReadDir(fetchedFolder(s)) // missing if nothing was ever fetched
	component, _ := refs.EscapeRun(run)
	var last *Seen
	for _, remote := range folders {
		there, err := s.Refs().Resolve(ctx, refs.Name(refs.RemoteFolder(remote.Name())+component))
		if err != nil || there.String() != tip {
			continue
		}
		for _, name := range []string{component, allFetched} {
			info, err := os.Stat(filepath.Join(fetchedFolder(s), remote.Name(), name))
			if err == nil && (last == nil || info.ModTime().UnixMilli() > last.AtMs) {
				last = &Seen{cmp.Or(remotes.Configured(s)[remote.Name()], addressBook{s}.place(remote.Name())).Shown(), info.ModTime().UnixMilli()}
			}
		}
	}
	return last
}
