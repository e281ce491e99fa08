//go:build !unix

package gitexec

import "time"

// markOf returns that nothing is known: git is asked.
func markOf(string) (mark string, changed time.Time, known bool) { return "", time.Time{}, false }

// deviceOf returns that nothing is known.
func deviceOf(string) (device uint64, known bool) { return 0, false }
