package repotest

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram makes a file that can be executed at once. A process that another test
// starts while the file is being written would inherit it open for writing, and
// executing it would fail (ETXTBSY) until that process executes something itself.
func WriteProgram(t testing.TB, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(content), 0o777)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
