// Package smithers imports runs from the databases of Smithers, the TypeScript orchestrator, and exports runs to
// them: Import, Watch and Export.
//
// An imported run is a run like any other. Its entries keep the rows of Smithers under ext/smithers, so that Export
// restores exactly the rows that Import read. docs/smithers.md describes the kept rows to the byte.
package smithers
