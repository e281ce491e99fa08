package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// nested is a variable of the command's environment. Nobody is told of what the command itself does: a command that
// runs a workflow would otherwise be run again at the end of its own workflow.
const nested = "GIT_SMITHERS_NOTIFYING"

// maxQueue is the number of notices that wait for their command.
const maxQueue = 100

// queued is the InPlace name of the folder of the notices that wait for their command, the oldest first by name.
const queued = folder + "/queue"

// Wanted reports whether a notice has an effect: a configuration names a command, and this process was not started by
// such a command. It reads nothing, so that callers can leave out the work for a notice.
func Wanted(s *timeline.Store) bool {
	return isSet(s) && !slices.ContainsFunc(s.Env(), func(entry string) bool { return strings.HasPrefix(entry, nested+"=") })
}

// Tell tells the user of the notice n, unless the user was told of the same wait or the same end before. It does not
// wait for the user's command: start must start a process that outlives this one, and calls [Deliver]. A failure is a
// warning of the store, because the run is as it is. Tell also warns of the last failure of the command.
func Tell(ctx context.Context, s *timeline.Store, start func() error, n Notice) {
	if !Wanted(s) {
		return
	}
	WarnOfFailure(s)
	line, ignored, err := command(ctx, s)
	if ignored {
		s.WarnOnce(refusal())
	}
	if err == nil && line != "" {
		var told bool
		if told, err = queue(ctx, s, n); err == nil && !told {
			err = start()
		}
	}
	if err != nil {
		s.Warn(fmt.Errorf("you were not notified of run %s: %w", plain.Text(n.RunID), err))
	}
}

// queue adds the notice to the queue, and returns false. If the user was told everything before, it returns true.
func queue(ctx context.Context, s *timeline.Store, n Notice) (told bool, err error) {
	held, err := lock(ctx, s)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	before, err := readMemory(s)
	if err != nil {
		return false, err
	}
	after, told := before.with(n)
	if told {
		return true, nil
	}
	waiting, err := waitingNotices(s)
	if err != nil {
		return false, err
	}
	if len(waiting) >= maxQueue {
		return false, fault.New(fault.LimitExceeded, "%d notices wait for the command in %s", len(waiting), Setting)
	}
	number := 0
	for _, file := range waiting {
		if n, err := strconv.Atoi(strings.TrimSuffix(file, ".json")); err == nil {
			number = max(number, n)
		}
	}
	data, err := json.Marshal(n)
	if err != nil {
		return false, err
	}
	if err := write(data, filepath.Join(s.InPlace(queued), fmt.Sprintf("%010d.json", number+1))); err != nil {
		return false, err
	}
	if data, err = json.Marshal(after); err != nil {
		return false, err
	}
	return false, write(data, path(s, "told.json"))
}

// waitingNotices returns the names of the files in the queue, the oldest first.
func waitingNotices(s *timeline.Store) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(fsx.GlobQuote(s.InPlace(queued)), "*.json"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(files)
	return files, err
}

// failure is the last failure of the user's command.
type failure struct {
	RunID string `json:"runId"`
	Event Event  `json:"event"`
	Why   string `json:"why"`
}

// failedFile is the file with the last failure of the command.
const failedFile = "failed.json"

// WarnOfFailure warns if the user's command has failed since the last warning.
func WarnOfFailure(s *timeline.Store) {
	data, err := os.ReadFile(path(s, failedFile))
	if err != nil { // mostly, there is none
		return
	}
	var last failure
	if json.Unmarshal(data, &last) == nil {
		s.Warn(fmt.Errorf("the command in %s failed when run %s %s: %s", Setting, plain.Text(last.RunID), words(last.Event), plain.Text(last.Why)))
	}
	_ = os.Remove(path(s, failedFile)) // then it is told again
}

// words returns an event as the verb of a sentence about a run.
func words(event Event) string {
	if event == Cancelled {
		return "was cancelled"
	}
	return plain.Text(string(event))
}
