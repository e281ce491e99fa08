package repotest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long the end of a test waits for the processes that the test has left.
const patience = time.Minute

// settle waits until no git, jj or git-smithers works in dir or below it any more: a process that outlives its command, or whose parent
// was killed, could write while dir is removed. Where there is no /proc, settle does not wait.
func settle(t testing.TB, dir string) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		left := workingBelow(dir)
		switch {
		case len(left) == 0:
			return
		case time.Now().After(end):
			t.Errorf("the test ended, but these go on in its repository:\n%s", strings.Join(left, "\n"))
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// workingBelow returns the command lines of the processes for which settle waits.
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
