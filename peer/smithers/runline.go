package smithers

import (
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// runLine is the line of entries that a pass appends to a run, with what the next entry follows from.
type runLine struct {
	series *timeline.Series
	opened bool          // the run has an entry
	now    *kept.Peer    // what is to be stored under ext/smithers
	made   []objstore.ID // the entries of this pass

	journal map[string]snapshot.Attempt // by its key: as the newest entry has it
	logs    map[string]string
	stored  []snapshot.Event
	behind  int // how many of the database's events are stored

	line    []tables.FrameFacts // Smithers' frames, as far as they are stored
	based   *int64              // of the next frame, if it does not follow the run's newest
	before  *workcopy.Moment    // the newest of Smithers' frames; nil for none
	tree    string              // its rendered tree, as Smithers has it; "" for none
	last    source.Row          // its row in _smithers_snapshots
	lastRow source.Row          // the newest row in _smithers_frames

	lastTree string        // our rendered tree at that row
	ours     string        // the rendered tree of the newest entry
	files    *snapshot.VCS // what was captured for the newest frame; nil for nothing

	// Found on the way, so that it is not looked for again with each frame.
	seq       *int64                      // see nextSeq
	byPeer    map[int64]tables.FrameFacts // see hashesOf
	indexed   int                         // how many of the line are in it
	described []int64                     // the frames whose rows in ext were set
}
