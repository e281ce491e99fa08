//go:build unix

// Package scripttest is git-smithers as end-to-end tests run it: with a clock that stands still, chance that is the same every time, and
// a death at a chosen moment, if the environment says so.
package scripttest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli"
)

// The environment that has the process kill itself, and count.
const (
	KillVariable  = "KILLED_TEST_KILL"  // "N M": M microseconds after it has asked for the time N times; "N M stop" stops it by SIGTERM
	CountVariable = "KILLED_TEST_COUNT" // a file that gets how often it asked
)

// Main executes the command line of this process as git-smithers does, and ends the process.
func Main() {
	useScriptRandom()
	clock, over := mortal(scriptClock())
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	status := cli.Main(context.Background(), cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Dir: dir, Now: clock,
	}, os.Args[1:])
	over()
	os.Exit(status)
}

// scriptClock stands still at the moment that a script sets, so that ids of commits
// and printed times are the same every time.
func scriptClock() func() time.Time {
	at, err := time.Parse(time.RFC3339, os.Getenv("SCRIPT_NOW"))
	if err != nil {
		return time.Now
	}
	return func() time.Time { return at }
}

// mortal is a clock, and what to do when the process ends by itself. The process asks for
// the time wherever something happens, so that counting that spreads kills over all of a run,
// whatever it does and however fast the machine is.
func mortal(now func() time.Time) (clock func() time.Time, over func()) {
	var mu sync.Mutex
	asked := 0
	var at, micros int
	how := syscall.SIGKILL
	if _, err := fmt.Sscan(os.Getenv(KillVariable), &at, &micros); err != nil {
		at = -1
	}
	if strings.HasSuffix(os.Getenv(KillVariable), "stop") {
		how = syscall.SIGTERM
	}
	clock = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == at {
			time.AfterFunc(time.Duration(micros)*time.Microsecond, func() { _ = syscall.Kill(os.Getpid(), how) })
		}
		return now()
	}
	return clock, func() {
		if file := os.Getenv(CountVariable); file != "" {
			_ = os.WriteFile(file, []byte(strconv.Itoa(asked)), 0o666)
		}
	}
}
