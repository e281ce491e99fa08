// Package langgraph keeps the threads of LangGraph as runs. A thread is a run of the workflow "langgraph", and each put of
// a checkpoint is a frame. docs/langgraph.md says where a frame has the parts of a checkpoint.
//
// LangGraph orders checkpoints by their own ids, which the client chooses. A thread is a tree of checkpoints in each
// namespace, but the run is one chain: the number of a frame says when the checkpoint arrived.
//
// Values are bytes with a type, which a client's serializer has made. This package never decodes them.
package langgraph

// EngineName is the name of the folder in ext/ that has the data of LangGraph, and the workflow of a thread's run.
const EngineName = "langgraph"
