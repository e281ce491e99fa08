package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// LookJJ returns the jj to test with: the one that `make tools` fetches, or the one on PATH.
// Without a jj, the test is skipped, or fails if CI=true.
func LookJJ(t testing.TB) string {
	t.Helper()
	if path := FindJJ(); path != "" {
		return path
	}
	missing(t, "there is no jj", "make tools")
	return ""
}

// FindJJ is LookJJ outside of a test. It returns "" if there is no jj.
func FindJJ() string {
	fetched := filepath.Join(toolsDir(), "jj", "bin", "jj")
	if _, err := os.Stat(fetched); err == nil {
		return fetched
	}
	path, err := exec.LookPath("jj")
	if err != nil {
		return ""
	}
	return path
}

// NewerGit returns the folder of a git with which jj fetches and pushes: the one that `make tools`
// builds. Without it, the test is skipped, or fails if CI=true.
func NewerGit(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(toolsDir(), "newer-git", "bin")
	if _, err := os.Stat(filepath.Join(dir, "git")); err == nil {
		return dir
	}
	missing(t, "there is no newer git", "make tools")
	return ""
}

// UseNewerGit puts the git of NewerGit first on PATH in Env.
func (r *Repo) UseNewerGit() {
	r.t.Helper()
	r.Env = prependPath(r.Env, NewerGit(r.t))
}

// WithJJ returns env with jj on PATH, if there is one, and with settings that make jj behave the
// same everywhere: no configuration but the file jj.toml in home, which does not exist yet, and
// fixed names. The caller owns it.
func WithJJ(env []string, home string) []string {
	onPath, _ := exec.LookPath("jj")
	if found := FindJJ(); found != onPath {
		env = prependPath(env, filepath.Dir(found))
	}
	return slices.Concat(env, []string{
		"JJ_CONFIG=" + filepath.Join(home, "jj.toml"),
		"JJ_USER=A U Thor", "JJ_EMAIL=author@example.invalid",
		"JJ_OP_USERNAME=author", "JJ_OP_HOSTNAME=example.invalid",
	})
}

// Smithers returns the folder node_modules with the real Smithers, which is run as .bin/smithers in
// it, with .bin on PATH. Without it, the test is skipped, or fails if CI=true.
func Smithers(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(toolsDir(), "smithers", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, ".bin", "smithers")); err == nil {
		return dir
	}
	missing(t, "there is no Smithers", "make test-smithers")
	return ""
}

// missing ends a test that needs something that make would fetch.
func missing(t testing.TB, what, makes string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what + ": run `" + makes + "`")
	}
	t.Skip(what + ": `" + makes + "` gets it")
}

// toolsDir returns the folder in which make links the tools, in the module of the test: go test
// starts in its package's folder. The path follows no link, so a test that changes the working
// directory later finds the same tools.
var toolsDir = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".tools")
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
})

// prependPath returns env with dir first on PATH. The caller owns it.
func prependPath(env []string, dir string) []string {
	env = slices.Clone(env)
	for i, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	return slices.Clip(env)
}
