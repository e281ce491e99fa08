package repotest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes an executable file that can be run at once, and ends the test if the write fails.
// It holds syscall.ForkLock while the file is open for writing: otherwise a process that another test
// starts meanwhile inherits the open file, and the program cannot run (ETXTBSY) until this process
// executes another program.
func WriteProgram(t testing.TB, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(content), 0o777)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
