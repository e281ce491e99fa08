// Package workflow turns a workflow file into a definition: tasks and loops, what they need, their conditions,
// the texts of their requests, and the schemas of input and outputs.
//
// [Parse] reads and checks a file, and reports all of its flaws at once. A [Workflow] knows nothing of runs: the
// caller that evaluates a [Condition] or fills a [Template] hands in the input and the outputs. docs/workflow.md describes the file.
package workflow
