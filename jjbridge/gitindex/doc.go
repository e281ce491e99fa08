// Package gitindex reads and writes git's index files, and keeps a private index for each working copy in a
// private folder. git reads files into the private index, so the user's index is never locked and never written.
//
// An [Index] lists files, with the size, the times and the content of each file when git last read it. Its [Trees]
// are the tree objects that git would write from it. Captures of one working copy keep their index in a [Folder]. A
// [Quarantine] in the folder holds the new objects of one capture.
package gitindex
