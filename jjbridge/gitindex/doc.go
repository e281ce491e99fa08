// Package gitindex reads and writes git's index files, and keeps an index of our own for each working
// copy in a private folder. git reads files into that index, so the user's own index is never locked
// and never written.
//
// An [Index] is the files and what each looked like when git last read it; its [Trees] are the tree
// objects that git would write of it. A [Folder] is where captures of one working copy keep the index,
// and a [Quarantine] in it holds the new objects of a capture.
package gitindex
