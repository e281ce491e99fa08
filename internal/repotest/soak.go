package repotest

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

// Soaks reports whether this is a long test run, as by `make soak`: the environment has SOAK.
func Soaks() bool { return os.Getenv("SOAK") != "" }

// Size returns a size for a test: everyday, or soak in a long test run.
func Size(everyday, soak int) int {
	if Soaks() {
		return soak
	}
	return everyday
}

// fewChecks is the number of checks of an expensive property in an everyday run.
const fewChecks = 25

// Check is rapid.Check for a property that makes a repository or a database for each check.
// An everyday run stops after 25 checks; a long test run makes all of rapid's.
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
		failed = true // until the property returns; after a failure, rapid looks for a smaller one
		property(rt)
		failed = false
		passed++
	})
}
