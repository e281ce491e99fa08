// Package gitindex reads and writes git's index files, and keeps indexes of our own for each working
// copy in a private folder. git runs on those, so the user's own index is never locked and never
// written.
//
// An [Index] is files and what each looked like when git last read it. A [Survey] is what a capture
// must know about the user's index. A [Folder] is where captures of one working copy keep indexes,
// and a [Quarantine] in it holds the new objects of a capture.
package gitindex
