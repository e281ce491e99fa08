// Package sqliteindex is the thin index over run history: one row a run and one
// row a frame, in a SQLite database under the table and column names that
// Smithers uses, so that lists need no walk over commits.
//
// The index is a cache. Refs are the truth: an index that is missing, damaged or
// of another version is made anew, and rebuilding it gives the same answers as
// keeping it up to date. Staleness is judged by the ids of tips alone.
//
// Several processes may use one database. A write names the tip it was read
// against and changes nothing where another process has moved on. A database that
// cannot be written (a read-only repository, a full disk) is replaced by one in
// memory, for this process: slower, with the same answers.
package sqliteindex
