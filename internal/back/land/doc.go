// Package land merges what a run changed onto the commit that is checked out, and takes that back.
//
// A landing is a run of its own: frame 0 has the files before, its input says what is landed, and an op says that it is
// done. The landed run stays as it is, so it can be landed again elsewhere.
package land
