// Package smithers imports runs from the databases of Smithers, the TypeScript orchestrator, and exports runs to
// them: Import, Watch and Export.
//
// An imported run is a run like any other. For every table, a function predicts Smithers' rows from our run. The
// differences between predicted and actual rows are stored in the run's entries under ext/smithers, so that Export
// restores exactly what Import read. docs/smithers.md describes them to the byte.
package smithers
