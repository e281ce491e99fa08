// Package flock locks files. Processes that lock the same file agree through it.
//
// Everywhere but on Windows, it is github.com/gofrs/flock. On Windows, that package locks the first byte of a file, which keeps every other handle
// from reading and writing the file, and it opens the file so that nobody can remove it. This program writes into files that it has locked, reads
// files that others have locked, and removes files before it unlocks them. So on Windows, this package locks a byte that no file has, and lets
// others remove the file.
package flock
