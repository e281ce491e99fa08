package engine

import (
	"strings"

	"github.com/git-smithers/git-smithers/timeline"
)

// repositoryVariables locate a repository. git sets them for the programs that it
// starts; a task's own git has to find the repository it stands in by itself.
var repositoryVariables = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_GRAFT_FILE",
	"GIT_SHALLOW_FILE", "GIT_INTERNAL_SUPER_PREFIX",
}

// taskEnv is the environment of an attempt: ours without what locates a
// repository, then the task's own, then what tells the attempt who it is.
func taskEnv(base []string, t *Task, runID string, iteration, attempt int) []string {
	env := make([]string, 0, len(base)+len(t.Env)+5)
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		located := false
		for _, variable := range repositoryVariables {
			located = located || name == variable
		}
		if !located {
			env = append(env, entry)
		}
	}
	env = append(append(env, t.Env...), timeline.AttemptEnv(runID, t.ID, iteration, attempt)...)
	return append(env, "SMITHERS_OUTPUT="+t.Output)
}
