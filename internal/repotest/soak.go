package repotest

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

// Soaks reports whether this is a long test run, such as `make soak`: the variable SOAK is set and not
// empty.
func Soaks() bool { return os.Getenv("SOAK") != "" }

// Size returns soak in a long test run, and everyday otherwise.
func Size(everyday, soak int) int {
	if Soaks() {
		return soak
	}
	return everyday
}

// fewChecks is the number of checks of an expensive property in an everyday run.
const fewChecks = 15

// Check runs rapid.Check for an expensive property, such as a property that needs a new repository or
// database for each check. An everyday run stops after fewChecks successful checks. A long test run
// makes all checks of rapid.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if Soaks() {
		rapid.Check(t, property)
		return
	}
	passed, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if passed >= fewChecks && !failed {
			return
		}
		// After a failure the property does not return, so failed stays true. rapid then needs more checks to
		// find a smaller example.
		failed = true
		property(rt)
		failed = false
		passed++
	})
}
