package workflow

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// checkout is the top of the checkout.
const checkout = "../../.."

// editorsSchema returns the JSON Schema of workflow files, compiled.
func editorsSchema(t *testing.T) *schema.Schema {
	t.Helper()
	text, err := JSONSchema()
	require.NoError(t, err)
	s, err := schema.Compile(text, &schema.Bounds{})
	require.NoError(t, err)
	assert.Empty(t, s.Doubts)
	return s
}

// fits checks a file as an editor does: its values against the JSON Schema.
func fits(s *schema.Schema, file string) error {
	r := &reader{file: "wf.yaml", strange: map[*yaml.Node]bool{}}
	value := r.json(r.document([]byte(file)), 0)
	if err := r.flawed(); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		return err
	}
	_, decoded, err := schema.DecodeValue(text)
	if err != nil {
		return err
	}
	return s.Check("workflow", decoded)
}

// parsed is the error of the parser. Files that a file calls are found: each has one task.
func parsed(file string) error {
	_, err := Load("wf.yaml", []byte(file), func(string) ([]byte, error) {
		return []byte("name: called\noutputs: {o: {}}\ntasks: [{id: last, run: x, output: o}]\n"), nil
	})
	return err
}

func TestTheJSONSchemaHasEveryKeyOfTheParser(t *testing.T) {
	t.Parallel()
	const strange = "{qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq: 1}"
	for _, m := range mappings {
		run := "run: x, "
		if m.name == "approval" || m.name == "wait_for" || m.name == "human" {
			run = ""
		}
		var flaw *fault.Error
		require.ErrorAs(t, parsed("name: w\ntasks: [{id: a, "+run+m.name+": "+strange+"}]\n"), &flaw)
		assert.Equal(t, []string{"use one of: " + strings.Join(m.keys.names(), ", ")}, flaw.Hints, m.name)
	}
}

// blocks returns the whole workflow files in a page: code blocks, fenced or indented, with a name and tasks.
func blocks(page string) []string {
	var found []string
	var block []string
	fenced := false
	end := func() {
		text := strings.TrimRight(strings.Join(block, "\n"), "\n") + "\n"
		if regexp.MustCompile(`(?m)^name: `).MatchString(text) && regexp.MustCompile(`(?m)^tasks:`).MatchString(text) {
			found = append(found, text)
		}
		block = nil
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		switch code, indented := strings.CutPrefix(line, "    "); {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
		case fenced:
			block = append(block, line)
		case indented || strings.TrimSpace(line) == "" && block != nil:
			block = append(block, code)
		default:
			end()
		}
	}
	end()
	return found
}

// examples returns the example workflow files of the documentation and of the demo, by where they are.
func examples(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	pages, err := filepath.Glob(checkout + "/docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, checkout+"/README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range blocks(string(text)) {
			name := regexp.MustCompile(`(?m)^name: *(\S+)`).FindStringSubmatch(block)[1]
			all[filepath.Base(page)+": "+name+strings.Repeat("'", strings.Count(block, "\n"))] = block
		}
	}
	require.NoError(t, filepath.WalkDir(checkout+"/testdata/demo", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" {
			text, err := os.ReadFile(path)
			all[filepath.Base(path)] = string(text)
			return err
		}
		return err
	}))
	return all
}

func TestExamplesAreValidForEditorsAndNameTheSchema(t *testing.T) {
	t.Parallel()
	s := editorsSchema(t)
	all := examples(t)
	assert.GreaterOrEqual(t, len(all), 11)
	for where, file := range all {
		assert.NoError(t, parsed(file), where)
		assert.NoError(t, fits(s, file), where)
		assert.Equal(t, "# yaml-language-server: $schema="+SchemaAddress, strings.SplitN(file, "\n", 2)[0], where)
	}
}

// Scripts have more workflow files than anybody writes as an example. What the parser takes, editors must not underline.
func TestTheJSONSchemaAcceptsWhateverScriptsRun(t *testing.T) {
	t.Parallel()
	s := editorsSchema(t)
	scripts, err := filepath.Glob(checkout + "/testdata/script/*.txtar")
	require.NoError(t, err)
	valid := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		require.NoError(t, err)
		for _, file := range archive.Files {
			if ext := filepath.Ext(file.Name); (ext == ".yaml" || ext == ".yml") && parsed(string(file.Data)) == nil {
				valid++
				assert.NoError(t, fits(s, string(file.Data)), "%s: %s", script, file.Name)
			}
		}
	}
	assert.Greater(t, valid, 300)
}

// beyond has the faults of TestFaultyFilesAreRefused that no JSON Schema can say: they depend on several places of a file, or on another language.
var beyond = map[string]bool{
	"unknown need": true, "cycle": true, "id twice": true, "undeclared table": true, "condition": true, "placeholder": true, "undeclared table read": true, "loop needs itself": true,
	"branch": true, "two worktrees": true, "pattern of a schema": true, "reference of a schema": true, "scorer twice": true, "long backoff": true,
	"small memory": true, "matrix cell twice": true,
}

func TestFaultyFilesAreRefused(t *testing.T) {
	t.Parallel()
	s := editorsSchema(t)
	task := func(keys string) string {
		return "name: w\noutputs: {a: {}, b: {}}\ntasks:\n  - {id: x, " + keys + "}\n"
	}
	const head = "name: w\ntasks:\n"
	faulty := map[string]string{
		"no name": "tasks: [{id: x, run: y}]\n", "no tasks": "name: w\n", "empty tasks": "name: w\ntasks: []\n", "a list": "- {id: x, run: y}\n",
		"name with a space": "name: a b\ntasks: [{id: x, run: y}]\n", "unknown key": "name: w\njobs: []\ntasks: [{id: x, run: y}]\n",
		"tasks a mapping": "name: w\ntasks: {x: {run: y}}\n", "input a text": "name: w\ninput: string\ntasks: [{id: x, run: y}]\n",
		"table with a dot": "name: w\noutputs: {a.b: {}}\ntasks: [{id: x, run: y}]\n", "unknown type": "name: w\noutputs: {a: {properties: {n: {type: objekt}}}}\ntasks: [{id: x, run: y}]\n",
		"defaults of no command": "name: w\ndefaults: {when: x}\ntasks: [{id: x, run: y}]\n", "env a list": "name: w\nenv: [A]\ntasks: [{id: x, run: y}]\n",
		"no id": head + "  - {run: y}\n", "bad id": head + "  - {id: -x, run: y}\n", "long id": head + "  - {id: " + strings.Repeat("x", 101) + ", run: y}\n",
		"nothing to do": task("label: l"), "two kinds": task("run: y, timer: 1h"), "run a list": task("run: [y]"), "run empty": task("run: ''"),
		"unknown key of a task": task("run: y, if: z"), "x- in a task": task("run: y, x-note: z"),
		"retries a word": task("run: y, retries: many"), "retries below zero": task("run: y, retries: -1"), "retries without max": task("run: y, retries: {backoff: 1s}"),
		"jitter alone": task("run: y, retries: {max: 1, jitter: 0.5}"), "timeout without a unit": task("run: y, timeout: 10"), "no timeout at all": task("run: y, timeout: 0s"),
		"needs a text": task("run: y, needs: z"), "variable with a hyphen": task("run: y, env: {A-B: c}"), "our variable": task("run: y, env: {SMITHERS_X: c}"),
		"tool with a comma": task("run: y, tools: ['a,b']"), "shell": task("run: y, shell: fish"), "cwd outside": task("run: y, cwd: ../z"), "files": task("run: y, files: some"),
		"with without a workflow": task("run: y, with: {a: input.b}"), "fail-fast without a matrix": task("run: y, fail-fast: false"), "axis without values": task("run: y, matrix: {os: []}"),
		"cache a word": task("run: y, cache: maybe"), "cache of files and paths": task("run: y, cache: {files: none, paths: [src]}"),
		"sandbox network": task("run: y, sandbox: {network: maybe}"), "sandbox memory": task("run: y, sandbox: {memory: lots}"), "worktree false": task("run: y, worktree: false"),
		"gate": task("run: y, scorers: [{name: j, run: z, gate: high}]"), "gate and rate": task("run: y, scorers: [{name: j, run: z, gate: '> 1', rate: 0.5}]"), "scorer without a command": task("run: y, scorers: [{name: j}]"),
		"approval with a command's key": task("approval: Go?, env: {A: b}"), "on_deny": task("approval: {title: Go?, on_deny: stop}"), "signal without a name": task("wait_for: {timeout: 1h}"),
		"on_timeout alone": task("wait_for: {signal: s, on_timeout: skip}"), "human without a prompt": task("human: {timeout: 1h}"), "timer a word": task("timer: tomorrow"), "timer without a zone": task("timer: 2026-12-01T09:00:00"),
		"loop without until": head + "  - {loop: l, max: 2, tasks: [{id: x, run: y}]}\n", "loop without max": head + "  - {loop: l, until: 'true', tasks: [{id: x, run: y}]}\n",
		"loop without end": head + "  - {loop: l, until: 'true', max: 0, tasks: [{id: x, run: y}]}\n", "on_max": head + "  - {loop: l, until: 'true', max: 2, on_max: stop, tasks: [{id: x, run: y}]}\n",
		"loop with a command": head + "  - {loop: l, until: 'true', max: 2, run: y, tasks: [{id: x, run: y}]}\n",

		"unknown need": task("run: y, needs: [z]"), "cycle": task("run: y, needs: [x]"), "id twice": head + "  - {id: x, run: y}\n  - {id: x, run: y}\n", "undeclared table": task("run: y, output: c"),
		"condition": task("run: y, when: 1 +"), "undeclared table read": task("run: y, when: outputs.c.ok"), "placeholder": task("approval: 'Go {?'"),
		"loop needs itself": head + "  - {loop: l, until: 'true', max: 2, tasks: [{id: x, run: y, needs: [l]}]}\n",
		"branch":            task("run: y, worktree: {branch: 'a..b'}"), "two worktrees": head + "  - {id: x, run: y, worktree: {branch: b}}\n  - {id: z, run: y, worktree: {branch: b}}\n",
		"pattern of a schema": "name: w\noutputs: {a: {pattern: '('}}\ntasks: [{id: x, run: y}]\n", "reference of a schema": "name: w\noutputs: {a: {$ref: '#/$defs/z'}}\ntasks: [{id: x, run: y}]\n",
		"scorer twice": task("run: y, scorers: [{name: j, run: z}, {name: j, run: z}]"), "long backoff": task("run: y, retries: {max: 1, backoff: 1h}"), "small memory": task("run: y, sandbox: {memory: 1k}"),
		"matrix cell twice": task("run: y, matrix: {os: [a, a]}"),
	}
	assert.GreaterOrEqual(t, len(faulty)-len(beyond), 50)
	for name, file := range faulty {
		assert.Error(t, parsed(file), "%s: check", name)
		err := fits(s, file)
		assert.Equal(t, beyond[name], err == nil, "%s: the JSON Schema says %v", name, err)
	}
}
