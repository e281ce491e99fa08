// Package row declares kinds of rows. A [Kind] is a table of named fields with typed
// accessors, a key and a check. The table defines the stored encoding, its strict inverse
// and the lenient reading of the values that engines hand in.
//
// A stored value is canonical JSON (RFC 8785): members sorted by name, no white space, one
// spelling for every string and number. [Kind.Decode] accepts only what [Kind.Encode] writes.
package row
