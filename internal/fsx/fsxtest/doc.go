// Package fsxtest is a file system for tests of failing disks and power cuts. An [FS] writes to the
// real file system, fails where a test wants it to, and records its ops. [FS.Replay] repeats them
// on a [Disk] that knows what an fsync has made durable, so that the power can be cut after every
// op.
package fsxtest
