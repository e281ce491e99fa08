// Package smithers imports runs from the databases of Smithers, the TypeScript orchestrator, and exports runs to
// them: Import, Watch and Export.
//
// An imported run is a run like any other. For every table, a function predicts Smithers' rows from the run in the
// repository. The run's entries store the differences between predicted and actual rows under ext/smithers, so that
// Export restores exactly the rows that Import read. docs/smithers.md describes the stored differences to the byte.
package smithers
