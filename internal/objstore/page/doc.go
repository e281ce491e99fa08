// Package page keeps collections of rows as Merkle trees of small pages.
//
// A row is a key and one JSON value, byte for byte as it was given. The page of a row follows from a
// hash of its key and from the number of rows alone (linear hashing, about eight rows a page). So
//
//   - equal collections have equal ids, whatever edits led to them;
//   - a changed row rewrites one page and the few trees above it;
//   - a new row splits at most one page;
//   - two collections are compared without reading the parts that they share.
//
// A collection of a few short rows is a single page, which is the collection itself.
//
// Values that are large or span lines are stored apart from their row. Above 16 KiB they are trees of
// content-defined chunks, so a value that grows adds little more than its growth.
//
// A [Collection] is immutable; [Collection.Edit] makes the next one. Decoding is strict: bytes that
// Edit does not write are a [*objstore.CorruptError]. docs/format.md specifies the format to the byte.
package page
