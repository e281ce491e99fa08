// Package fsxtest has a file system for tests of failing disks and power cuts. An [FS] writes to the
// real file system, fails at the ops that a test chooses, and records its ops. [FS.Replay] repeats the
// ops on a [Disk], which separates durable content from other content. So a test can cut the power
// after every op.
package fsxtest
