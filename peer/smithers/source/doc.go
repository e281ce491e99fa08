// Package source reads and writes the databases of Smithers, the TypeScript orchestrator: SQLite files with Smithers'
// own tables, named _smithers_…, and one table for each output of a workflow. It follows version 0.32.0, and accepts
// older and newer versions as far as they have the same tables.
//
// It knows tables, rows, hashes and encodings, but not their meaning in git-smithers. Reading never writes, and holds
// no lock between two calls of Read.
package source
