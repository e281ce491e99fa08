package gitexec

import (
	"slices"
	"strings"
)

// locating returns the variables that tell git where a repository and its parts are. Variables with
// configuration are not among them, because a user who calls `git -c key=value smithers` wants them
// to count.
var locating = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_INTERNAL_SUPER_PREFIX",
}

// PlumbingEnv returns env for a git that is told its repository: without the variables that point
// git at a repository or its parts, with messages in the C locale, and with optional locks off. The
// caller owns it.
func PlumbingEnv(env []string) []string {
	env = slices.DeleteFunc(plainEnv(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(locating, name)
	})
	return append(env, "GIT_OPTIONAL_LOCKS=0")
}

// plainEnv returns env with messages in the C locale. The caller owns it.
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
