// Package timeline is the use cases over the history of runs: create, append,
// fork, load, list, capture, verify.
//
// A [Store] is the run history of one repository. A [Head] is the tip of one run
// as this process knows it; [Head.Append] adds an entry on exactly that tip, or
// says that somebody else was first. [Store.Load] finds what an address such as
// "run:7" means. [Store.Fork] makes a child run by copying a ref.
//
// Every error is a [fault.Error] with a stable code.
package timeline
