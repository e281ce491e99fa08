package diff_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/snapshot"
)

var update = flag.Bool("update", false, "write testdata/render.txtar anew")

func renderCases() map[string]rows {
	var steps []string
	for i := range 60 {
		steps = append(steps, `"step `+strconv.Itoa(i)+`"`)
	}
	list := "[" + strings.Join(steps, ",") + "]"
	return map[string]rows{
		"no-differences": {},
		"nodes": {
			"nodes new::0": `{"state":"pending"}`, "nodes new::10": `{"state":"pending"}`, "nodes new::9": `{"state":"pending"}`,
			"nodes verify::0": "",
			"nodes plan::0":   `{"state":"pending","outputTable":"plan"}`,
			"nodes write::0":  `{"state":"finished","lastAttempt":2,"outputTable":"text","label":"Write it","needs":["a","b"],"ralphId":"refine"}`,
		},
		"outputs": {
			"outputs/plan plan::0":     `{"steps":4,"note":"added"}`,
			"outputs/draft write::0":   "",
			"outputs/draft write::1":   `{"text":"second","size":9007199254740993}`,
			"outputs/list a::0":        list,
			"outputs/check verify::10": `{"approved":1.0}`,
		},
		"loops-input": {
			"loops refine": `{"iteration":2,"done":true}`, "loops other": `{"iteration":0,"done":false}`,
			"input ": `{"ticket":"T-2","n":1.50}`,
		},
		"mailbox": {
			"approvals ship::0": approved, "approvals again::0": requested, "approvals old::0": "",
			"human-requests ask::0": answered, "human-requests more::0": pending, "human-requests gone::0": "",
			"waits nap::0": fired, "waits listen::0": gotPing, "waits nap::1": waiting, "waits over::0": "",
			"signals pong": pong, "signals ping": ping, "signals old": "",
		},
		"white-space-only": {"outputs/plan plan::0": `{ "steps": 3 }`},
		"long-strings": {
			"outputs/draft write::0": `{"text":"` + strings.Repeat("first ", 200) + `END","size":9007199254740993}`,
			"outputs/plan plan::0":   `"` + strings.Repeat("é", 500) + `"`,
			"outputs/log verify::0":  `"` + strings.Repeat("the same ", 100) + `after` + strings.Repeat(" and more", 100) + `"`,
			"approvals again::0":     `{"attempt":1,"status":"requested","title":"` + strings.Repeat("long ", 100) + `","requestedAtMs":5}`,
		},
		"hostile": {
			"nodes \x1b[31mred::0":      `{"state":"pending"}`,
			"nodes two\nlines::0":       `{"state":"pending"}`,
			"outputs/t\x07 a\u202eb::0": `"\u001b is an escape, ` + "\u009b2J\u202e\u007f" + ` are characters"`,
			"loops l\r":                 `{"iteration":0,"done":false}`,
			"outputs/plan plan::0":      strings.Repeat("[", 500) + strings.Repeat("]", 500),
			"nodes plan::0":             `{"state":"finished","lastAttempt":1,"outputTable":"plan","label":"\u001b[2J"}`,
			"outputs/draft write::0":    `{"` + "\u009b" + `":1}`,
			"outputs/check verify::10":  "\"\u2028\"",
			"approvals ship::0":         `{"attempt":1,"status":"denied","title":"\u001b[2J","requestedAtMs":5,"decidedAtMs":9,"note":"\u202e"}`,
			"approvals \x1b[31mred::0":  `{"attempt":1,"status":"requested","title":"\u001b[2J","requestedAtMs":5}`,
			"human-requests more::0":    `{"attempt":1,"kind":"ask","status":"pending","prompt":"two\nlines","requestedAtMs":5}`,
			"waits listen::0":           `{"attempt":1,"kind":"signal","status":"waiting","signal":"p\u0007ng","startedAtMs":5}`,
			"signals ping":              `{"seq":1,"name":"p\u0007ng","correlationId":"\u009b","payload":"` + "\u202e" + `","receivedAtMs":7}`,
		},
	}
}

// shownRows are baseRows with a mailbox.
func shownRows() rows {
	return baseRows().with(mailRows()).with(rows{
		"approvals old::0": requested, "waits over::0": waiting, "signals ping": "", "signals old": `{"seq":0,"name":"old","payload":[1,2],"receivedAtMs":7}`,
	})
}

func render(t *testing.T, edit rows, options diff.RenderOptions) string {
	t.Helper()
	var store objstoretest.Memory
	result, err := diff.Snapshots(
		diff.Snapshot{State: state(t, &store, shownRows())},
		diff.Snapshot{State: state(t, &store, shownRows().with(edit))})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, result.Render(&out, options))
	return out.String()
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "render.txtar")
	archive, err := txtar.ParseFile(path)
	require.NoError(t, err)
	cases := renderCases()
	require.Len(t, cases, len(archive.Files))
	written := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		require.Contains(t, cases, f.Name)
		text := render(t, cases[f.Name], diff.RenderOptions{})
		written.Files = append(written.Files, txtar.File{Name: f.Name, Data: []byte(text)})
		for _, r := range text {
			require.True(t, r == '\n' || strconv.IsPrint(r), "%s: %q reaches the terminal", f.Name, r)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, txtar.Format(written), 0o600))
		return
	}
	assert.Equal(t, string(txtar.Format(archive)), string(txtar.Format(written)))
}

func TestColoursOnlyAccompanyTheSigns(t *testing.T) {
	t.Parallel()
	for name, edit := range renderCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			coloured := render(t, edit, diff.RenderOptions{Colors: true})
			bare := strings.NewReplacer("\x1b[32m", "", "\x1b[31m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(coloured)
			assert.Equal(t, render(t, edit, diff.RenderOptions{}), bare)
			if name == "nodes" {
				assert.Contains(t, coloured, "\x1b[32m  + new::0\x1b[0m\n")
				assert.Contains(t, coloured, "\x1b[31m  - verify::0\x1b[0m\n")
			}
		})
	}
}

func TestFullShowsValuesWhole(t *testing.T) {
	t.Parallel()
	text := render(t, renderCases()["long-strings"], diff.RenderOptions{Full: true})
	assert.Contains(t, text, strings.Repeat("first ", 200)+"END")
	text = render(t, renderCases()["outputs"], diff.RenderOptions{Full: true})
	assert.Contains(t, text, `"step 59"`)
}

func TestTheSidesOfAValueStandBesideEachOther(t *testing.T) {
	t.Parallel()
	side := func(text string, _ int) []string {
		runes := []rune(text + strings.Repeat(" ", 20))
		return []string{string(runes[:20])}
	}
	for name, edit := range renderCases() {
		text := render(t, edit, diff.RenderOptions{Side: side})
		for _, r := range text {
			require.True(t, r == '\n' || strconv.IsPrint(r), "%s: %q reaches the terminal", name, r)
		}
		if name == "loops-input" {
			assert.Contains(t, text, "Input changed\n"+
				"      {                      {\n"+
				"    ~   \"ticket\": \"T-1\"        \"ticket\": \"T-2\"\n"+
				"    +                          \"n\": 1.50\n"+
				"      }                      }\n")
		}
	}
}

func TestRenderShowsTheVCSPointer(t *testing.T) {
	t.Parallel()
	result, err := diff.Snapshots(diff.Snapshot{State: snapshot.EmptyState()},
		diff.Snapshot{State: snapshot.EmptyState(), VCS: &snapshot.VCS{Type: "git", CommitID: "abc"}})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, result.Render(&out, diff.RenderOptions{}))
	assert.Equal(t, "VCS pointer changed\n  ~ none -> abc\n", out.String())
}

func TestRenderReportsTheErrorsOfItsWriter(t *testing.T) {
	t.Parallel()
	result, err := diff.States(snapshot.EmptyState(), snapshot.EmptyState())
	require.NoError(t, err)
	require.ErrorIs(t, result.Render(brokenWriter{}, diff.RenderOptions{}), errBroken)
}

var errBroken = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
