// Package diff compares two snapshots of workflow state and shows what differs.
//
// [States] is pure: it reads the two states and nothing else, and of them only the
// subtrees that differ. Its [Result] has Smithers' field names and is what
// `git smithers diff --json` prints; [Result.Render] is what people see.
package diff
