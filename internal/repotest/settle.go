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
	folders, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	for _, link := range folders {
		folder, err := os.Readlink(link)
		if err != nil || folder != dir && !strings.HasPrefix(folder, dir+"/") {
			continue // it has ended, is somebody else's, or works elsewhere
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if err == nil && slices.Contains([]string{"git", "jj", "git-smithers"}, filepath.Base(args[0])) {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}
