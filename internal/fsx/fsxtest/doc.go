// Package fsxtest is a file system for tests of what goes wrong with one. An [FS]
// writes to the real one, fails where a test wants it to, and records what is done.
// [FS.Replay] does it again on a [Disk] that knows what an fsync has made durable, so
// that the power can be cut after every step.
package fsxtest
