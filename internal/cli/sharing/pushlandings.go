package sharing

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
)

// leaveLandings keeps landings out of a push without names. A landing is of this working copy: it has the files before, and
// what only an undo here needs. Groups of courses stay here, too, because people do not expect their prompts to leave the machine.
func leaveLandings(ctx context.Context, s *session.Session, store *timeline.Store, req *share.PushRequest) error {
	if len(req.Runs) > 0 {
		return nil
	}
	runs, err := list.Runs(ctx, store)
	if err != nil {
		return err
	}
	n := 0
	for _, run := range runs {
		if run.WorkflowName == land.Workflow && strings.HasPrefix(run.RunID, land.Prefix) {
			req.Except = append(req.Except, run.RunID)
			n++
		}
		if run.WorkflowName == workflow.CoursesName && !store.Settings().Session.Push {
			req.Except = append(req.Except, run.RunID)
			s.Note("group %s stays here, because it has prompts of a session: name it to push it", plain.Text(run.RunID))
		}
	}
	switch {
	case n == 1:
		s.Note("a landing stays here: name it to push it")
	case n > 1:
		s.Note("%s stay here: name them to push them", plain.Count(n, "landing"))
	}
	return nil
}
