// Package comparison compares runs with each other: what came of them, what they cost, where they first differ, and which
// is best. It aligns two runs step by step.
package comparison
