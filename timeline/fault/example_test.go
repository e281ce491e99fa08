package fault_test

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An error of the library has a code, which stays, and a message, which may change. The code has the exit status of the command.
func ExampleCodeOf() {
	err := fmt.Errorf("opening the history: %w", fault.New(fault.RunNotFound, "no run is called %q", "triage"))
	fmt.Println(fault.CodeOf(err))
	if known, ok := errors.AsType[*fault.Error](err); ok {
		fmt.Println(known.Exit(), known)
	}
	// Output:
	// run_not_found
	// 10 no run is called "triage"
}

// A hint says what to type. CommandLine and Word quote what a shell would read as more than one word.
func ExampleError_Hint() {
	run := "my run"
	err := fault.New(fault.RunOwned, "another process executes run %q", run).
		Hint("`%s` shows it", fault.CommandLine("git", "smithers", "show", run)).
		Hint("`git smithers cancel %s` ends it", fault.Word(run))
	for _, hint := range err.Hints {
		fmt.Println(hint)
	}
	// Output:
	// `git smithers show 'my run'` shows it
	// `git smithers cancel 'my run'` ends it
}
