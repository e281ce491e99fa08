// Package page keeps collections of rows as Merkle trees of small pages.
//
// A row is a key and the bytes of one JSON value, kept as they were given. The
// page of a row follows from a hash of its key and the number of rows alone
// (linear hashing, about eight rows a page), so that
//
//   - equal collections have equal ids, whatever edits led to them;
//   - a changed row rewrites one page and the few trees above it;
//   - a row more splits at most one page;
//   - two collections are compared without reading what they share.
//
// A collection of a few short rows is a single page, which is the collection itself.
//
// Values that are large or span lines are stored apart from their row, above
// 16 KiB as a tree of content-defined chunks, so that a value that grows adds
// little more than its growth.
//
// A [Collection] is immutable; [Collection.Edit] makes the next one. Decoding is
// strict: bytes that Edit would not have written are a [*objstore.CorruptError].
// The format is specified to the byte in docs/format.md.
package page
