package gitexec

import (
	"slices"
	"strings"
)

// locating are the variables by which git is told where a repository and its
// parts are. Configuration handed over in variables is not among them: whoever
// says `git -c key=value smithers` means it.
var locating = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_INTERNAL_SUPER_PREFIX",
}

// PlumbingEnv is env for a git that is told where its repository is: without the
// variables that point git at a repository or its parts, with messages in the C locale,
// and git takes no lock it can do without. The caller owns it.
func PlumbingEnv(env []string) []string {
	env = slices.DeleteFunc(plainEnv(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(locating, name)
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0")
}

// plainEnv is env with messages in the C locale. The caller owns it.
func plainEnv(env []string) []string {
	return append(slices.Clone(env), "LC_ALL=C", "LANGUAGE=")
}

// LookupEnv returns the value of a variable in env. As for every process, its last entry counts.
func LookupEnv(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, found := strings.Cut(entry, "="); found && key == name {
			return value, true
		}
	}
	return "", false
}
