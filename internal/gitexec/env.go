package gitexec

import (
	"path/filepath"
	"slices"
	"strings"
)

// locating lists the variables that name a repository and its parts. The variables with configuration are not in the
// list, because they carry the settings of `git -c key=value smithers`, which must have their effect.
var locating = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
	"GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_INTERNAL_SUPER_PREFIX",
}

// PlumbingEnv returns an environment for calls of git that name the repository in git's options. It is env without
// the variables that name a repository or its parts, with messages in the C locale, and with optional locks off. The
// caller may change the result.
func PlumbingEnv(env []string) []string {
	return append(WithoutRepository(plainEnv(env)), "GIT_OPTIONAL_LOCKS=0")
}

// WithoutRepository returns a copy of env without the variables that name a repository or its parts, for commands that work in another one. The caller
// may change the result.
func WithoutRepository(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(locating, name)
	})
}

// plainEnv returns a copy of env with messages in the C locale. The caller may change the result.
func plainEnv(env []string) []string {
	return append(slices.Clone(env), "LC_ALL=C", "LANGUAGE=")
}

// AbsolutePaths returns a copy of env whose PATH and LD_LIBRARY_PATH have no relative folders: git would find programs in the working copy, which
// anybody may have written.
func AbsolutePaths(env []string) []string {
	env = slices.Clone(env)
	for i, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); name == "PATH" || name == "LD_LIBRARY_PATH" {
			folders := slices.DeleteFunc(filepath.SplitList(value), func(folder string) bool { return !filepath.IsAbs(folder) })
			env[i] = name + "=" + strings.Join(folders, string(filepath.ListSeparator))
		}
	}
	return env
}

// LookupEnv returns the value of a variable in env. ok is false if env does not have the variable. If
// env has several entries for the variable, the last entry counts, as for a process.
func LookupEnv(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, found := strings.Cut(entry, "="); found && key == name {
			return value, true
		}
	}
	return "", false
}
