// Package diff compares two snapshots of workflow state and shows what differs.
//
// [States] is pure: it reads only the two states, and in them only the
// subtrees that differ. Its [Result] has Smithers' field names;
// `git smithers diff --json` prints it, and [Result.Render] shows it to people.
package diff
