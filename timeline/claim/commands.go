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

	"github.com/git-smithers/git-smithers/internal/procgroup"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// commandsFolder holds a folder for each run of which commands are at work on this
	// machine, and in it a file for each of them, under the store's private one.
	commandsFolder = "commands"
	// commandAttempts bounds the making of a file against others that remove the folder
	// because it is empty.
	commandAttempts = 10
)

// Commands are the commands of a run that are at work on this machine, as files in the
// store's private folder, so that whoever takes the run over can end those that outlive the
// process that started them. Attempts are named by their keys, see snapshot.AttemptKey.
// Safe for concurrent use.
type Commands struct {
	run    string
	folder string
}

// CommandsOf are those of a run.
func CommandsOf(s *timeline.Store, run string) *Commands {
	return &Commands{run, filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, commandsFolder, fileName(run))}
}

// commandNote is what the file of a command says. It is for this machine alone.
type commandNote struct {
	Attempt string         `json:"attempt"`
	Group   procgroup.Mark `json:"group"`
}

func (c *Commands) path(attempt string) string { return filepath.Join(c.folder, fileName(attempt)) }

// Began notes that the command of an attempt leads a process group, by the process id of
// the leader, which has not been waited for. Where groups cannot be known again it does
// nothing.
func (c *Commands) Began(attempt string, leader int) error {
	mark, err := procgroup.Of(leader)
	if errors.Is(err, procgroup.ErrUnsupported) {
		return nil
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(commandNote{attempt, mark})
	}
	for try := 0; err == nil && try < commandAttempts; try++ {
		if err = os.MkdirAll(c.folder, 0o777); err != nil {
			break
		}
		err = os.WriteFile(c.path(attempt), data, 0o666)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return timeline.Explain(err)
}

// Ended forgets a command of which nothing is left.
func (c *Commands) Ended(attempt string) {
	_ = os.Remove(c.path(attempt)) // what stays is found to be gone by EndLeft
	_ = os.Remove(c.folder)        // another command in it keeps it
}

// EndLeft ends what is left of all commands of the run on this machine, whoever started
// them: it asks them to end, and kills them after the grace, or when ctx ends. It returns
// how many processes that were, when none is left. It is for the run's owner. An error
// says what is left all the same.
func (c *Commands) EndLeft(ctx context.Context, grace time.Duration) (int, error) {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	ended := 0
	for _, entry := range entries {
		n, endErr := c.endLeft(ctx, entry.Name(), grace)
		ended, err = ended+n, errors.Join(err, endErr)
	}
	_ = os.Remove(c.folder)
	return ended, timeline.Explain(err)
}

// endLeft ends what is left of one command.
func (c *Commands) endLeft(ctx context.Context, name string, grace time.Duration) (int, error) {
	path := filepath.Join(c.folder, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var note commandNote
	err = json.Unmarshal(data, &note)
	node, iteration, number, keyErr := snapshot.SplitAttemptKey(note.Attempt)
	if err != nil || keyErr != nil { // a command waits for its file: one without a whole one never began
		return 0, os.Remove(path)
	}
	ended, err := note.Group.End(ctx, AttemptEnv(c.run, node, iteration, number), grace)
	if err != nil {
		return ended, fmt.Errorf("the command of %s: %w", note.Attempt, err)
	}
	return ended, os.Remove(path)
}

// AttemptEnv is what tells an attempt's command, and everything that it starts, which
// attempt it is: entries of its environment.
func AttemptEnv(run, node string, iteration, attempt int) []string {
	return []string{
		"SMITHERS_RUN_ID=" + run,
		"SMITHERS_NODE_ID=" + node,
		"SMITHERS_ITERATION=" + strconv.Itoa(iteration),
		"SMITHERS_ATTEMPT=" + strconv.Itoa(attempt),
	}
}

// CommandGrace is how long what a dead process left at work is given to end.
const CommandGrace = 5 * time.Second
