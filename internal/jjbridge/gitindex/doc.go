// Package gitindex reads and writes git's index files. For each working copy it keeps private indexes in a private
// folder. Captures and restores run git on the private indexes, so they never lock or write the user's own index.
//
// An [Index] holds files and the state of each file when git last read it. A [Survey] holds the facts
// about the user's index that a capture needs. A [Folder] is the private folder of one working copy, and
// a [Quarantine] in it holds the new objects of a capture.
package gitindex
