package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/procgroup"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// commandsFolder is a folder in the store's private folder. It has a folder for each run with running commands on
	// this machine, and in that folder a file for each command.
	commandsFolder = "commands"
	// commandAttempts is the largest number of times that Began tries to write its file. Another process may
	// remove the empty folder.
	commandAttempts = 10
)

// Commands are the running commands of a run on this machine, as files in the store's private folder. With these
// files, a process that takes the run over can end commands that outlived the process that started them.
// Attempts are named by their keys; see snapshot.AttemptKey. Commands are safe for concurrent use.
type Commands struct {
	run    string
	folder string
}

// CommandsOf returns the Commands of the run with the id run. It reads and writes no file.
func CommandsOf(s *timeline.Store, run string) *Commands {
	return &Commands{run, filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, commandsFolder, fileName(run))}
}

// commandNote is the content of a command's file. Only this machine reads the file.
type commandNote struct {
	Attempt string         `json:"attempt"` // the key of the attempt, or of the score if the command is a scorer
	Group   procgroup.Mark `json:"group"`   // identifies the command's process group
	Place   string         `json:"place"`   // the fsx.Mark of the private folder; "" of an earlier version
}

// place returns the fsx.Mark of the private folder.
func (c *Commands) place() string { return fsx.Mark(filepath.Dir(filepath.Dir(c.folder))) }

// path returns the path of the file for the command of an attempt.
func (c *Commands) path(attempt string) string { return filepath.Join(c.folder, fileName(attempt)) }

// Began writes the file for the command of an attempt, so that EndLeft can find the command's process group later.
// attempt is the attempt's key. leader is the process id of the group's leader; the caller must not have waited
// for the leader yet. On systems that cannot recognize a group later, Began does nothing and returns nil.
func (c *Commands) Began(attempt string, leader int) error {
	mark, err := procgroup.Of(leader)
	if errors.Is(err, procgroup.ErrUnsupported) {
		return nil
	}
	// Another process may remove the empty folder between the two steps (see Ended), so try again.
	for try := 0; err == nil && try < commandAttempts; try++ {
		if err = os.MkdirAll(c.folder, 0o777); err != nil {
			break
		}
		data, _ := json.Marshal(commandNote{attempt, mark, c.place()}) //nolint:errchkjson // encodes always; the place is one only now
		err = os.WriteFile(c.path(attempt), data, 0o666)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return timeline.Explain(err)
}

// Ended removes the file for the command of an attempt. attempt is the attempt's key. The caller calls Ended after
// all processes of the command have ended. Errors are ignored.
func (c *Commands) Ended(attempt string) {
	_ = os.Remove(c.path(attempt)) // if the file stays, EndLeft finds no process and removes it
	_ = os.Remove(c.folder)        // the removal fails, as it should, if the folder has another command
}

// EndLeft ends the remaining processes of all commands of the run on this machine, including commands that other
// processes started. It asks the processes to end, and kills them after grace or when ctx ends. EndLeft returns the
// number of processes that it signaled. If a command's file is unreadable, or if some processes of a command stay,
// EndLeft continues with the other commands and returns all errors joined. Only the run's owner may call EndLeft.
func (c *Commands) EndLeft(ctx context.Context, grace time.Duration) (int, error) {
	noted, err := c.noted()
	ended, endErr := c.end(ctx, noted, grace)
	return ended, timeline.Explain(errors.Join(err, endErr))
}

// end ends the remaining processes of the noted commands as EndLeft does.
func (c *Commands) end(ctx context.Context, noted []notedCommand, grace time.Duration) (ended int, err error) {
	for _, one := range noted {
		n, endErr := one.group.End(ctx, one.env, grace)
		if ended += n; endErr == nil {
			endErr = os.Remove(one.path)
		}
		if endErr != nil && !errors.Is(endErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("cannot end the command of attempt %s: %w", one.name, endErr))
		}
	}
	// The removal fails, as it should, if a command's file stays.
	_ = os.Remove(c.folder)
	return ended, err
}

// notedCommand is a command that has a file.
type notedCommand struct {
	path, name string // name is the key with which Began was called; "" if the note is incomplete
	env        []string
	group      procgroup.Mark
}

// noted returns the commands of the run that have a file. A command starts after its file is complete. So the command of an
// incomplete file never started: its group is zero. The same holds for a file that came with a copy of the repository.
func (c *Commands) noted() ([]notedCommand, error) {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []notedCommand
	for _, entry := range entries {
		one := notedCommand{path: filepath.Join(c.folder, entry.Name())}
		data, readErr := os.ReadFile(one.path)
		if errors.Is(readErr, fs.ErrNotExist) { // the command has ended meanwhile
			continue
		}
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		var note commandNote
		if json.Unmarshal(data, &note) == nil && (note.Place == "" || note.Place == c.place()) {
			if env, ok := commandEnv(c.run, note.Attempt); ok {
				one.name, one.env, one.group = note.Attempt, env, note.Group
			}
		}
		out = append(out, one)
	}
	return out, err
}

// commandEnv returns the variables of a command's attempt, as AttemptEnv does. name is the key of the attempt or, for the command of
// a scorer, of the score.
func commandEnv(run, name string) ([]string, bool) {
	node, iteration, number, err := snapshot.SplitAttemptKey(name)
	if err != nil {
		node, iteration, number, _, _, err = snapshot.SplitScoreKey(name)
	}
	return AttemptEnv(run, node, iteration, number), err == nil
}

// AttemptEnv returns the environment variables that name an attempt to its command, and to all processes that
// the command starts.
func AttemptEnv(run, node string, iteration, attempt int) []string {
	return []string{
		runVariable + "=" + run,
		"SMITHERS_NODE_ID=" + node,
		"SMITHERS_ITERATION=" + strconv.Itoa(iteration),
		"SMITHERS_ATTEMPT=" + strconv.Itoa(attempt),
	}
}
