// Package diff compares two snapshots of workflow state and shows their differences.
//
// [States] is pure: it reads only the two states, and only those subtrees of
// them that differ. The fields of a [Result] have the JSON names of Smithers.
// `git smithers diff --json` prints a Result as JSON, and [Result.Render]
// writes a Result as text for people.
package diff
