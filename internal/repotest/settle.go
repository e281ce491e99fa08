package repotest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long Settle waits for the processes that a test has left.
const patience = time.Minute

// Settle waits until no git, jj or git-smithers works in dir or below it any more: a process that outlives its command, such as git's
// own maintenance, or whose parent was killed, could remove a pack that git fsck is about to read, or write while dir is removed. It
// waits for at most a minute, and returns the command lines of the processes that still work then. Where there is no /proc, Settle does
// not wait.
func Settle(dir string) (left []string) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if left = workingBelow(dir); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// settle fails the test if processes that it has left in dir do not end.
func settle(t testing.TB, dir string) {
	t.Helper()
	if left := Settle(dir); len(left) > 0 {
		t.Errorf("the test ended, but these go on in its repository:\n%s", strings.Join(left, "\n"))
	}
}

// workingBelow returns the command lines of the processes for which Settle waits.
func workingBelow(dir string) []string {
	var found []string
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()                    //nolint:errcheck // only read
	processes, _ := proc.Readdirnames(-1) // what was read before an error
	for _, process := range processes {   // Glob would list the folder of each process, too
		folder, err := os.Readlink(filepath.Join("/proc", process, "cwd"))
		if err != nil || folder != dir && !strings.HasPrefix(folder, dir+"/") {
			continue // no process, or it has ended, is somebody else's, or works elsewhere
		}
		line, err := os.ReadFile(filepath.Join("/proc", process, "cmdline"))
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if err == nil && slices.Contains([]string{"git", "jj", "git-smithers"}, filepath.Base(args[0])) {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}
