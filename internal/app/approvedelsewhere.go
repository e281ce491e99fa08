package app

import (
	"os"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ApprovedElsewhereNote notes that a run which this clone has not executed before has an approval. Its commands come next.
type ApprovedElsewhereNote struct {
	Run string
	snapshot.Approval
}

func (ApprovedElsewhereNote) note() {}

// approvedElsewhere returns notes of the approvals of a run that this clone has neither recorded nor executed before: somebody else may have given
// them. The note that a run was executed is gone once the run has ended.
func approvedElsewhere(head *timeline.Head) ([]ApprovedElsewhereNote, error) {
	row := head.Row()
	here, err := head.Store().Executed().Folder(row.ID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if _, err := os.Lstat(here.Path()); err == nil {
		return nil, nil
	}
	if origin, err := head.Store().Origin(head.Entry()); err != nil || origin == timeline.Recorded {
		return nil, timeline.Explain(err)
	}
	var out []ApprovedElsewhereNote
	for a, err := range head.State().AllApprovals() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if a.Status == snapshot.ApprovalApproved {
			out = append(out, ApprovedElsewhereNote{row.ID, a})
		}
	}
	return out, nil
}
