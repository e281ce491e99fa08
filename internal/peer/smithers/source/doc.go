// Package source reads and writes the databases of Smithers, the TypeScript orchestrator: SQLite files with Smithers'
// own tables, named _smithers_…, and one table for each output of a workflow. It follows version 0.32.0, and accepts
// older and newer versions as far as they have the same tables.
//
// The package handles tables, rows, hashes and encodings, and ignores their meaning in git-smithers. Reading changes no
// database, and holds no lock between two calls of Read.
package source
