package repotest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// LookJJ returns the path of the jj to test with: the jj of `make tools`, or otherwise the jj on PATH.
// If there is no jj, it skips the test, or fails the test if CI=true. It skips the test if jj
// does not read the repositories that New makes.
func LookJJ(t testing.TB) string {
	t.Helper()
	if path := FindJJ(); path != "" {
		if !JJReads(path) {
			t.Skip("this jj does not read such repositories")
		}
		return path
	}
	missing(t, "there is no jj", "make tools")
	return ""
}

// JJReads reports whether the jj at path reads the repositories that New makes. jj before 0.46 reads sha1 objects only, and
// no jj reads reftables.
func JJReads(path string) bool {
	return RefFormat() == "files" && (ObjectFormat() == "sha1" || jjVersion(path) >= 46)
}

// jjVersion returns the second number of the version of the jj at path, whose first number is 0; 0 if jj does not print its version.
func jjVersion(path string) (minor int) {
	out, err := exec.Command(path, "--version").Output()
	if _, scanned := fmt.Sscanf(string(out), "jj 0.%d.", &minor); err != nil || scanned != nil {
		return 0
	}
	return minor
}

// FindJJ returns the path of the jj that LookJJ returns, or "" if there is no jj. JJ_TOOL=newer-jj in the environment
// chooses the newer jj of `make tools`.
func FindJJ() string {
	fetched := filepath.Join(toolsDir(), cmp.Or(os.Getenv("JJ_TOOL"), "jj"), "bin", "jj")
	if _, err := os.Stat(fetched); err == nil {
		return fetched
	}
	path, err := exec.LookPath("jj")
	if err != nil {
		return ""
	}
	return path
}

// NewerGit returns the folder of the git that FindNewerGit returns. If the folder is missing, it skips the test, or fails the test
// if CI=true.
func NewerGit(t testing.TB) string {
	t.Helper()
	if dir := FindNewerGit(); dir != "" {
		return dir
	}
	missing(t, "there is no newer git", "make tools")
	return ""
}

// FindNewerGit returns the folder of the git that `make tools` builds, with which jj can fetch and push, or "" if the folder is missing.
func FindNewerGit() string {
	dir := filepath.Join(toolsDir(), "newer-git", "bin")
	if _, err := os.Stat(filepath.Join(dir, "git")); err != nil {
		return ""
	}
	return dir
}

// UseNewerGit changes Env so that the git of NewerGit comes first on PATH, and makes Git run it.
func (r *Repo) UseNewerGit() {
	r.t.Helper()
	dir := NewerGit(r.t)
	r.Env, r.newer = prependPath(r.Env, dir), filepath.Join(dir, "git")
}

// WithJJ returns env with jj on PATH, if there is a jj, and with settings that make jj behave the same
// on every machine. These are fixed names, and the only configuration is the file jj.toml in home,
// which does not exist yet. The caller may change the result.
func WithJJ(env []string, home string) []string {
	onPath, _ := exec.LookPath("jj")
	if found := FindJJ(); found != onPath {
		env = prependPath(env, filepath.Dir(found))
	}
	return slices.Concat(env, []string{
		"JJ_CONFIG=" + filepath.Join(home, "jj.toml"),
		"COLUMNS=80", // else jj runs tput twice
		"JJ_USER=A U Thor", "JJ_EMAIL=author@example.invalid",
		"JJ_OP_USERNAME=author", "JJ_OP_HOSTNAME=example.invalid",
	})
}

// Smithers returns the folder node_modules with the real Smithers. The program is .bin/smithers in this
// folder, and needs .bin on PATH. If the folder is missing, Smithers skips the test, or fails the test
// if CI=true.
func Smithers(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(toolsDir(), "smithers", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, ".bin", "smithers")); err == nil {
		return dir
	}
	missing(t, "there is no Smithers", "make test-smithers")
	return ""
}

// LangGraph returns the folder node_modules with LangGraph, its tests for savers, TypeScript and vitest. tool is
// "langgraph" or "langgraph-newest". If the folder is missing, LangGraph skips the test, or fails the test if CI=true.
func LangGraph(t testing.TB, tool string) string {
	t.Helper()
	dir := filepath.Join(toolsDir(), tool, "node_modules")
	if _, err := os.Stat(filepath.Join(dir, ".bin", "vitest")); err == nil {
		return dir
	}
	missing(t, "there is no LangGraph", "make test-langgraph")
	return ""
}

// missing ends a test that needs a tool. what says which tool is missing; makes is the command that
// gets the tool. It skips the test, or fails the test if CI=true.
func missing(t testing.TB, what, makes string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what + ": run `" + makes + "`")
	}
	t.Skip(what + ": run `" + makes + "`")
}

// toolsDir returns the folder .tools of the module, in which make links the tools, or "" outside of a
// module. It finds the module from the working directory: go test starts a test in its package's
// folder. It keeps the first result, because a test may change the working directory later.
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

// prependPath returns a copy of env with dir first on PATH. The caller may change the result.
func prependPath(env []string, dir string) []string {
	env = slices.Clone(env)
	for i, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			env[i] = "PATH=" + dir + string(filepath.ListSeparator) + path
		}
	}
	return slices.Clip(env)
}

// Chromium skips the test if Chromium or pdftotext is missing, or fails it if CI=true.
func Chromium(t testing.TB) {
	t.Helper()
	for _, program := range []string{"chromium", "pdftotext"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "there is no "+program, "apt-get install chromium poppler-utils")
		}
	}
}

// HTMLValidate returns the path of html-validate. If it is missing, HTMLValidate skips the test, or fails it if CI=true.
func HTMLValidate(t testing.TB) string {
	t.Helper()
	program := filepath.Join(toolsDir(), "html-validate", "node_modules", ".bin", "html-validate")
	if _, err := os.Stat(program); err != nil {
		missing(t, "there is no html-validate", "tools/html-validate.sh")
	}
	return program
}
