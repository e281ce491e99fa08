// Package workflow turns a workflow file into a definition: tasks and loops, their needs and conditions, the texts
// of requests, and the schemas of input and outputs.
//
// [Parse] reads and checks a file, and reports all flaws of the file at once. A [Workflow] has no data of runs: the
// caller that evaluates a [Condition] or fills a [Template] passes the input and the outputs. docs/workflow.md
// describes the file.
package workflow
