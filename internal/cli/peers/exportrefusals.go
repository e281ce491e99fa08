package peers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// hint notes a hint after a warning. format and args make the text of the hint, as in fmt.Sprintf.
func hint(s *session.Session, format string, args ...any) {
	s.Note("git-smithers: hint: "+format, args...)
}

// warnOfRefusals warns of the exported runs that Smithers would refuse to resume, and notes the commands that make
// Smithers resume these runs. It prints one warning for each reason, with all runs that have this reason. It ignores
// finished runs. If Smithers would refuse no run, it prints nothing.
func warnOfRefusals(s *session.Session, runs []smithers.ExportedRun) {
	var reasons, words []string
	refused := make(map[string][]string)
	accepts := true // every refusal is because a workflow file or its modules have changed
	for _, run := range runs {
		if run.Finished || len(run.Refusals) == 0 {
			continue
		}
		var why []string
		for _, r := range run.Refusals {
			why = append(why, r.Message)
			accepts = accepts && (r.Code == smithers.RefusedWorkflow || r.Code == smithers.RefusedModules)
		}
		reason := strings.Join(why, "; ")
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		refused[reason] = append(refused[reason], run.RunID)
		words = append(words, fault.Word(run.RunID))
	}
	if len(reasons) == 0 {
		return
	}
	for _, reason := range reasons {
		s.Warn(fmt.Errorf("Smithers would refuse to resume %s: %s", display.List(refused[reason]), reason)) //nolint:staticcheck // a name
	}
	if len(words) > 1 {
		// RUN... is a placeholder for the ids of several runs.
		words = []string{"RUN..."}
	}
	hint(s, "`%s export %s --to NEW.db --workflow WORKFLOW.tsx` makes Smithers resume the run with that file", arg.Program, words[0])
	if accepts {
		hint(s, "`smithers up WORKFLOW.tsx --run-id RUN --resume true --accept-workflow-change` accepts the current content of the file")
	}
}
