// Package smithers takes runs out of the databases of Smithers, the TypeScript
// orchestrator, and puts runs into them: Import, Watch and Export.
//
// A run that was imported is a run like any other. What of its rows does not follow from
// the run as we keep it is in its entries under ext/smithers, so that Export gives back
// what Import read: for every table there is a function that predicts Smithers' rows from
// ours, and ext/smithers has what differs from the prediction. docs/smithers.md describes
// it to the byte.
package smithers
