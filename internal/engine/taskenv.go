package engine

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// repositoryVariables lists the environment variables that locate a repository. git sets the variables for the
// programs that git starts, but a git in a task must find the repository of its own folder.
var repositoryVariables = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_GRAFT_FILE",
	"GIT_SHALLOW_FILE", "GIT_INTERNAL_SUPER_PREFIX",
}

// taskEnv returns the environment of an attempt: base without repositoryVariables, then the task's own variables,
// then the variables that identify the attempt and those of files and, unless callFile is "", SMITHERS_TOOL_CALLS with that path. If a variable occurs twice, the later value wins.
func taskEnv(base []string, t *workflow.Task, runID string, key workflow.NodeKey, attempt int, callFile string, files resultFiles) []string {
	env := withoutRepository(base)
	env = append(append(env, t.Env...), claim.AttemptEnv(runID, key.ID, key.Iteration, attempt)...)
	env = append(append(env, files.env()...), t.Told()...)
	if callFile != "" {
		env = append(env, callsVariable+"="+callFile)
	}
	return env
}

// colourEnv returns FORCE_COLOR for an attempt whose output a person sees in colour. A task whose stdout becomes a value does not get it, nor
// one whose environment has a rule for colours. See https://force-color.org and https://no-color.org.
func (j *job) colourEnv() []string {
	if !j.opts.Colour || j.schema != nil {
		return nil
	}
	for _, entry := range slices.Concat(j.opts.Env, j.task.Env) {
		if name, value, _ := strings.Cut(entry, "="); value != "" && (name == "FORCE_COLOR" || name == "NO_COLOR") {
			return nil
		}
	}
	return []string{"FORCE_COLOR=1"}
}

// scorerEnv returns the environment of a scorer that runs after the fact: base without repositoryVariables, and the variables that
// identify the attempt.
func scorerEnv(base []string, run string, of snapshot.Attempt) []string {
	return append(withoutRepository(base), claim.AttemptEnv(run, of.NodeID, of.Iteration, of.Attempt)...)
}

// withoutRepository returns a copy of the environment base without repositoryVariables.
func withoutRepository(base []string) []string {
	env := make([]string, 0, len(base)+8)
	for _, entry := range base {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(repositoryVariables, name) {
			env = append(env, entry)
		}
	}
	return env
}
