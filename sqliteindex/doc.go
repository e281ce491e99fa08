// Package sqliteindex is an index of the run history: a SQLite database with one row for each run and one row
// for each frame, and with Smithers' names of tables and columns. With the index, lists need no walk over
// commits. A second database has the details of runs.
//
// The index is a cache, and refs are the truth. An index that is missing, damaged or of another version is
// rebuilt, and a rebuild gives the same answers as incremental updates. Only the ids of tips determine whether
// the index is stale.
//
// Several processes may use one database. A write names the run's indexed tip at the time of reading, and
// changes nothing if another process has updated the run since. If a database cannot be written (a read-only
// repository, a full disk), this process uses a database in memory: slower, with the same answers.
//
// It is not a promised API: any version may change it. docs/index.md says which tables and columns stay.
package sqliteindex
