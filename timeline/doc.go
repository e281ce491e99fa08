// Package timeline is the core of run history: it creates, appends to, forks, loads and seals runs. The packages in its
// folder build on it.
//
// A [Store] is the run history of one repository. A [Head] is the tip of one run as this process knows it;
// [Head.Append] adds an entry on exactly that tip, or returns a conflict if another process was first. [Store.Load]
// reads the entry of an address such as "run:7". [Store.Fork] makes a child run by copying a ref.
//
// Every error is a [fault.Error] with a stable code.
package timeline
