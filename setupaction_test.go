package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// actionFile is action.yml, as far as the tests look at it.
type actionFile struct {
	Name, Description string
	Inputs            map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	ID, If, Uses, Shell, Run string
	Env, With                map[string]string
}

// readYAML reads a YAML file at the top of the checkout.
func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}

// runner runs the steps of the action as GitHub does.
type runner struct {
	t      *testing.T
	dir    string // of the job
	values map[string]string
	cache  map[string]string // the folders that the cache has kept, by their keys
}

var expression = regexp.MustCompile(`\$\{\{ ([a-z0-9._-]+) \}\}`)

// fill replaces expressions by their values. An expression without a value fails the test, except that of a cache that has nothing.
func (r *runner) fill(text string) string {
	filled := expression.ReplaceAllStringFunc(text, func(one string) string {
		name := expression.FindStringSubmatch(one)[1]
		value, ok := r.values[name]
		require.True(r.t, ok || name == "steps.cache.outputs.cache-hit", "there is no %s", name)
		return value
	})
	require.NotContains(r.t, filled, "${{")
	return filled
}

// run runs the action. It returns what the steps printed, and the error of the step that failed.
func (r *runner) run(action *actionFile) (string, error) {
	r.t.Helper()
	var said bytes.Buffer
	for i, step := range action.Runs.Steps {
		switch {
		case step.If == "steps.cache.outputs.cache-hit != 'true'":
			if r.values["steps.cache.outputs.cache-hit"] == "true" {
				continue
			}
		case step.If != "":
			require.Fail(r.t, "the test does not know the condition", step.If)
		}
		if strings.HasPrefix(step.Uses, "actions/cache@") {
			kept, hit := r.cache[r.fill(step.With["key"])]
			if hit {
				require.NoError(r.t, os.CopyFS(r.fill(step.With["path"]), os.DirFS(kept)))
				r.values["steps.cache.outputs.cache-hit"] = "true"
			}
			continue
		}
		require.Equal(r.t, "bash", step.Shell)
		require.NotContains(r.t, step.Run, "${{", "text of others is in variables, where no shell reads it")
		script := filepath.Join(r.dir, fmt.Sprintf("step-%d.sh", i))
		require.NoError(r.t, os.WriteFile(script, []byte(step.Run), 0o666))
		cmd := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		outputs := filepath.Join(r.dir, "outputs")
		require.NoError(r.t, os.WriteFile(outputs, nil, 0o666))
		cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &said, &said
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "NO_PROXY=127.0.0.1", "GITHUB_OUTPUT=" + outputs, "GITHUB_PATH=" + filepath.Join(r.dir, "path")}
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+r.fill(value))
		}
		if err := cmd.Run(); err != nil {
			return said.String(), err
		}
		text, err := os.ReadFile(outputs)
		require.NoError(r.t, err)
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			r.values["steps."+step.ID+".outputs."+name] = value
		}
	}
	return said.String(), nil
}

// releaseOnLoopback serves a release v0.1.2, and counts what is fetched. change changes its files before.
func releaseOnLoopback(t *testing.T, change func(files map[string][]byte)) (address string, fetched *atomic.Int32) {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	program := []byte("#!/bin/sh\necho git-smithers v0.1.2 go1.26.0 here\n")
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "git-smithers-0.1.2/bin/git-smithers", Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR}))
	_, err := files.Write(program)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	served := map[string][]byte{}
	var sums strings.Builder
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		name := "git-smithers_0.1.2_" + platform + ".tar.gz"
		served[name] = archive.Bytes()
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	}
	served["SHA256SUMS"] = []byte(sums.String())
	if change != nil {
		change(served)
	}
	fetched = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := served[strings.TrimPrefix(r.URL.Path, "/v0.1.2/")]
		if fetched.Add(1); !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL, fetched
}

// newRunner returns a runner of a system, as GitHub names it.
func newRunner(t *testing.T, action *actionFile, system, address string, inputs map[string]string) *runner {
	t.Helper()
	dir := t.TempDir()
	name, machine, _ := strings.Cut(system, "-")
	r := &runner{t: t, dir: dir, cache: map[string]string{}, values: map[string]string{
		"runner.os": name, "runner.arch": machine, "runner.temp": filepath.Join(dir, "temp folder"),
	}}
	for input, spec := range action.Inputs {
		r.values["inputs."+input] = spec.Default
	}
	r.values["inputs.releases"] = address
	for input, value := range inputs {
		r.values["inputs."+input] = value
	}
	return r
}

func TestTheSetupActionInstallsARelease(t *testing.T) {
	t.Parallel()
	needsTools(t, "bash", "curl", "tar")
	var action actionFile
	readYAML(t, "action.yml", &action)
	address, fetched := releaseOnLoopback(t, nil)
	for _, system := range []string{"Linux-X64", "Linux-ARM64", "macOS-X64", "macOS-ARM64"} {
		for _, version := range []string{"v0.1.2", "0.1.2"} {
			r := newRunner(t, &action, system, address, map[string]string{"version": version})
			said, err := r.run(&action)
			require.NoError(t, err, said)
			assert.Equal(t, "git-smithers v0.1.2 go1.26.0 here", r.fill(action.Outputs["version"].Value))
			path, err := os.ReadFile(filepath.Join(r.dir, "path"))
			require.NoError(t, err)
			assert.FileExists(t, filepath.Join(strings.TrimSpace(string(path)), "git-smithers"))
		}
	}

	// the second job takes the archive from the cache, and checks it again
	before := fetched.Load()
	first := newRunner(t, &action, "Linux-X64", address, map[string]string{"version": "v0.1.2"})
	_, err := first.run(&action)
	require.NoError(t, err)
	assert.Equal(t, before+2, fetched.Load())
	second := newRunner(t, &action, "Linux-X64", address, map[string]string{"version": "v0.1.2"})
	second.cache["git-smithers_0.1.2_linux_amd64.tar.gz"] = first.values["steps.plan.outputs.folder"]
	_, err = second.run(&action)
	require.NoError(t, err)
	assert.Equal(t, before+2, fetched.Load(), "nothing is fetched")
	assert.Equal(t, "true", second.fill(action.Outputs["cache-hit"].Value))
	require.NoError(t, os.WriteFile(filepath.Join(first.values["steps.plan.outputs.folder"], "git-smithers_0.1.2_linux_amd64.tar.gz"), []byte("other"), 0o666))
	third := newRunner(t, &action, "Linux-X64", address, map[string]string{"version": "v0.1.2"})
	third.cache = second.cache
	said, err := third.run(&action)
	require.Error(t, err)
	assert.Contains(t, said, "has the sum")
}

func TestTheSetupActionInstallsNothingElse(t *testing.T) {
	t.Parallel()
	needsTools(t, "bash", "curl", "tar")
	var action actionFile
	readYAML(t, "action.yml", &action)
	const archive = "git-smithers_0.1.2_linux_amd64.tar.gz"
	for name, c := range map[string]struct {
		system, message string
		inputs          map[string]string
		change          func(map[string][]byte)
	}{
		"another archive":       {"Linux-X64", "has the sum", nil, func(files map[string][]byte) { files[archive] = append([]byte("x"), files[archive]...) }},
		"no sum of the archive": {"Linux-X64", "and not one of SHA256SUMS", nil, func(files map[string][]byte) { files["SHA256SUMS"] = []byte("00  other\n") }},
		"no archive":            {"Linux-X64", archive + " cannot be fetched", nil, func(files map[string][]byte) { delete(files, archive) }},
		"no sums":               {"Linux-X64", "SHA256SUMS cannot be fetched", nil, func(files map[string][]byte) { delete(files, "SHA256SUMS") }},
		"another sum is wanted": {"Linux-X64", "and not " + strings.Repeat("0", 64), map[string]string{"sha256": strings.Repeat("0", 64)}, nil},
		"no version":            {"Linux-X64", "version is not a release", map[string]string{"version": ""}, nil},
		"a command as version":  {"Linux-X64", "version is not a release", map[string]string{"version": "v1$(touch here)"}, nil},
		"a path as version":     {"Linux-X64", "version is not a release", map[string]string{"version": "../v1"}, nil},
		"another system":        {"Linux-X86", "there is no release for Linux-X86", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := releaseOnLoopback(t, c.change)
			r := newRunner(t, &action, c.system, address, map[string]string{"version": "v0.1.2"})
			for input, value := range c.inputs {
				r.values["inputs."+input] = value
			}
			said, err := r.run(&action)
			require.Error(t, err)
			assert.Contains(t, said, "::error::")
			assert.Contains(t, said, c.message)
			assert.NoFileExists(t, filepath.Join(r.dir, "path"), "nothing is on PATH")
			assert.NoDirExists(t, filepath.Join(r.dir, "temp folder", "git-smithers"))
			assert.NoFileExists(t, filepath.Join(r.dir, "here"))
		})
	}
}

func TestTheSetupActionHasTheFormOfAnAction(t *testing.T) {
	t.Parallel()
	var action actionFile
	readYAML(t, "action.yml", &action)
	assert.NotEmpty(t, action.Name)
	assert.NotEmpty(t, action.Description)
	assert.Equal(t, "composite", action.Runs.Using)
	assert.True(t, action.Inputs["version"].Required)
	for name, input := range action.Inputs {
		assert.NotEmpty(t, input.Description, name)
	}
	ids := map[string]bool{}
	for _, step := range action.Runs.Steps {
		assert.NotEqual(t, step.Run == "", step.Uses == "", "a step runs a script or uses an action")
		assert.False(t, step.ID != "" && ids[step.ID], "%s: ids are different", step.ID)
		ids[step.ID] = true
	}
	for name, output := range action.Outputs {
		assert.True(t, ids[strings.Split(expression.FindStringSubmatch(output.Value)[1], ".")[1]], name)
	}
}

// pre-commit reads the file .pre-commit-hooks.yaml of a repository.
func TestTheHookOfPreCommitChecksWorkflows(t *testing.T) {
	t.Parallel()
	var hooks []struct {
		ID, Name, Description, Entry, Language, Files string
		Types                                         []string
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	require.Len(t, hooks, 1)
	hook := hooks[0]
	assert.Equal(t, "golang", hook.Language, "pre-commit builds the program with go install ./...")
	assert.Equal(t, []string{"yaml"}, hook.Types)
	files := regexp.MustCompile(hook.Files)
	assert.True(t, files.MatchString("workflows/triage.yaml"))
	assert.False(t, files.MatchString(".github/workflows/ci.yaml"), "workflows of GitHub are others")
	assert.False(t, files.MatchString("triage.yaml"))

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good.yaml"), []byte("name: good\ntasks: [{id: a, run: x}]\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("name: bad\ntasks: [{id: a, if: x}]\n"), 0o666))
	check := func(files ...string) (string, error) {
		words := append(strings.Fields(hook.Entry), files...)
		require.Equal(t, "git-smithers", words[0])
		cmd := exec.CommandContext(t.Context(), os.Args[0], words[1:]...)
		cmd.Args[0], cmd.Dir = words[0], dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := check("good.yaml")
	require.NoError(t, err, said)
	said, err = check("good.yaml", "bad.yaml")
	require.Error(t, err)
	assert.Contains(t, said, `bad.yaml:2: a task has no key "if"`)
}

// needsTools skips the test where a tool is missing, except in CI.
func needsTools(t *testing.T, tools ...string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the runner's bash is another one there")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			require.NotEqual(t, "true", os.Getenv("CI"), "there is no %s", tool)
			t.Skip("there is no " + tool)
		}
	}
}
