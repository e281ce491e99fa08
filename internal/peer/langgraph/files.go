package langgraph

import (
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// fileCapture has the files of the working copy for one frame.
type fileCapture struct {
	captured *jjbridge.CapturedFiles // nil if there is no working copy
}

// add adds the files to the draft of an entry. The first entry of a run also says where the run began.
func (f *fileCapture) add(draft *snapshot.Draft) {
	if f.captured == nil {
		return
	}
	v := &f.captured.VCS
	draft.VCS, draft.Objects = v, f.captured.Objects
	edit := draft.Run
	draft.Run = func(row *snapshot.Run) {
		if row.VCSType == "" {
			row.VCSType, row.VCSRoot, row.VCSRevision = v.Type, v.Root, v.Pointer()
		}
		if edit != nil {
			edit(row)
		}
	}
}

// close removes the files that no entry uses. It ignores errors: a later capture removes a folder that stays.
func (f *fileCapture) close() {
	if f.captured != nil {
		_ = f.captured.Close()
	}
}
