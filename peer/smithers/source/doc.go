// Package source reads and writes the databases of Smithers, the TypeScript
// orchestrator, as its version 0.32.0 makes them (and older and newer ones, as far as they
// have the same tables): SQLite files with tables of Smithers' own, named _smithers_…, and
// one table for each of a workflow's outputs.
//
// It knows tables, rows, hashes and encodings, but not what git-smithers makes of them.
// Reading never writes, and holds no lock between two calls of Read.
package source
