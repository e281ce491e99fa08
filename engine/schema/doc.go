// Package schema checks JSON values against JSON Schemas. The schema library cannot be interrupted, so this package
// limits its work beforehand.
package schema
