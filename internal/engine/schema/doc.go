// Package schema checks JSON values against JSON Schemas. The schema library cannot be interrupted, so this package
// limits the library's work beforehand.
package schema
