package report_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/web/report"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// calls is the number of tool calls of the large session.
const calls = 5000

// browser returns the folder for what the tests leave for people to look at, and skips the test unless BROWSER is set.
func browser(t *testing.T) string {
	t.Helper()
	if os.Getenv("BROWSER") == "" {
		t.Skip("`make look` looks at reports in a browser")
	}
	repotest.Chromium(t)
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".tests", "report"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// chromium runs Chromium without a window on a file, and returns what it prints.
func chromium(t *testing.T, file string, args ...string) string {
	t.Helper()
	ctx, over := context.WithTimeout(t.Context(), 2*time.Minute)
	defer over()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir()}, args...)
	cmd := exec.CommandContext(ctx, "chromium", append(args, "file://"+file)...)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	require.NoError(t, err, talk.String())
	return string(out)
}

// tallest is the height in pixels of the largest picture.
const tallest = 6000

// screenshots keeps pictures of a whole page: at 900 pixels, and at 375 in a frame, because no window of Chromium is so narrow.
func screenshots(t *testing.T, page string) {
	t.Helper()
	name := strings.TrimSuffix(page, ".html")
	picture(t, page, name+"-900.png", 900)
	narrow := filepath.Join(t.TempDir(), "narrow.html")
	require.NoError(t, os.WriteFile(narrow, fmt.Appendf(nil, `<!DOCTYPE html><body style="margin:0"><iframe src="file://%s" style="width:375px;height:%dpx;border:0"></iframe>`, page, tallest), 0o644))
	picture(t, narrow, name+"-375.png", 375)
}

// picture keeps a picture of a page, as high as what the page shows.
func picture(t *testing.T, page, to string, width int, args ...string) {
	t.Helper()
	const narrowest = 500 // of a window of Chromium
	chromium(t, page, append(args, fmt.Sprintf("--window-size=%d,%d", max(width, narrowest), tallest), "--screenshot="+to)...)
	file, err := os.Open(to)
	require.NoError(t, err)
	whole, err := png.Decode(file)
	require.NoError(t, errors.Join(err, file.Close()))
	empty := func(y int) bool {
		for x := range width {
			if whole.At(x, y) != whole.At(0, tallest-1) {
				return false
			}
		}
		return true
	}
	height := tallest
	for height > 1 && empty(height-1) {
		height--
	}
	assert.Greater(t, height, 100, "the picture shows something")
	cut := image.NewRGBA(image.Rect(0, 0, width, min(height+16, tallest)))
	draw.Draw(cut, cut.Bounds(), whole, image.Point{}, draw.Src)
	file, err = os.Create(to)
	require.NoError(t, err)
	require.NoError(t, errors.Join(png.Encode(file, cut), file.Close()))
}

// A word is a word on a printed page, in points.
type word struct {
	XMin float64 `xml:"xMin,attr"`
	XMax float64 `xml:"xMax,attr"`
	Text string  `xml:",chardata"`
}

// printed prints a page with everything in it opened to A4, and returns the words, a list a page.
func printed(t *testing.T, page string) [][]word {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	open := filepath.Join(t.TempDir(), "open.html")
	require.NoError(t, os.WriteFile(open, []byte(strings.ReplaceAll(string(text), "<details>", "<details open>")), 0o644))
	pdf := strings.TrimSuffix(page, ".html") + ".pdf"
	chromium(t, open, "--no-pdf-header-footer", "--print-to-pdf="+pdf)
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-bbox", pdf, "-").Output()
	require.NoError(t, err)
	var pages [][]word
	d := xml.NewDecoder(strings.NewReader(string(out)))
	d.Strict = false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return pages
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		switch {
		case ok && start.Name.Local == "page":
			pages = append(pages, nil)
		case ok && start.Name.Local == "word":
			var w word
			require.NoError(t, d.DecodeElement(&w, &start))
			pages[len(pages)-1] = append(pages[len(pages)-1], w)
		}
	}
}

// beyond returns the words that are not between the margins of a page of A4, which are 14 mm.
func beyond(pages [][]word) []word {
	const point = 72 / 25.4
	const left, right, slack = 14 * point, (210 - 14) * point, 1.0
	var out []word
	for _, words := range pages {
		for _, w := range words {
			if w.XMin < left-slack || w.XMax > right+slack {
				out = append(out, w)
			}
		}
	}
	return out
}

// writeReport writes the report of runs as a page for people to look at.
func (d *desk) writeReport(dir, name string, runs ...string) string {
	d.t.Helper()
	page := filepath.Join(dir, name+".html")
	d.call(fault.ExitOK, append([]string{"report", "--force", "-o", page}, runs...)...)
	return page
}

// slug makes the run fix-212 that fails, and a fork of it in which it goes better. It returns the id of the fork.
func (d *desk) slug() string {
	d.t.Helper()
	require.NoError(d.t, os.CopyFS(d.Dir, os.DirFS(filepath.Join("testdata", "slug"))))
	d.Git("add", "-A")
	d.Git("commit", "-q", "-m", "slug")
	d.call(fault.ExitFailed, "run", "fix.yaml", "--run-id", "fix-212", "--input", `{"issue":"#212 doubled dashes","style":"strict","model":"opus-5"}`)
	d.call(fault.ExitWaiting, "replay", "fix.yaml", "fix-212:15", "--input", `{"style":"relaxed"}`, "--label", "relaxed")
	var fork struct{ RunID string }
	out := d.call(fault.ExitOK, "branches", "fix-212", "--json")
	require.NoError(d.t, json.Unmarshal([]byte(out), &fork), out)
	return fork.RunID
}

// session makes the session claude-s1 with many calls.
func (d *desk) session() {
	d.t.Helper()
	var lines strings.Builder
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	say := func(kind string, content any) {
		at = at.Add(3 * time.Second)
		data, err := json.Marshal(map[string]any{"type": kind, "timestamp": at.Format(time.RFC3339), "sessionId": "s1", "message": map[string]any{"role": kind, "content": content}})
		require.NoError(d.t, err)
		lines.Write(append(data, '\n'))
	}
	prompts := []string{"Fix #212: doubled dashes in slugs", "trim the ends too, and an empty title must give an empty string", "now make the tests pass", "why is trim() there?"}
	inputs := []map[string]string{
		{"file_path": "src/slug.js"}, {"pattern": "slug("}, {"command": "npm test -- --grep 'trims the ends' && git status"}, {"file_path": "src/slug.js", "new_string": "b"},
	}
	tools := []string{"Read", "Grep", "Bash", "Edit"}
	for i := range calls {
		if i%100 == 0 {
			say("user", prompts[i/100%len(prompts)])
		}
		id, kind := fmt.Sprint("toolu_", i), i%len(tools)
		use := map[string]any{"type": "tool_use", "id": id, "name": tools[kind], "input": inputs[kind]}
		result := map[string]any{"type": "tool_result", "tool_use_id": id, "content": "fine"}
		if i%20 == 2 {
			result["is_error"], result["content"] = true, "not ok 5 - \"\"\n  expected: \"\"\n  actual: \"-\"\nError: 2 of 6 failed"
		}
		content := []any{use}
		if i%10 == 0 {
			content = []any{map[string]string{"type": "text", "text": "I will look at the function and its tests first."}, use}
		}
		say("assistant", content)
		say("user", []any{result})
		if i%100 == 99 && i/100 != 7 { // in one turn the user interrupts the agent
			say("assistant", []any{map[string]string{"type": "text", "text": "Done: the dashes are single now."}})
		}
	}
	d.Write("s1.jsonl", lines.String())
	d.call(fault.ExitOK, "session", "import", "claude", "s1.jsonl")
}

// wide makes the run wide, whose names have no place to break.
func (d *desk) wide() {
	d.t.Helper()
	var tasks strings.Builder
	for i := range 60 {
		fmt.Fprintf(&tasks, "  - {id: %s_%d, run: echo %s}\n", strings.Repeat("long", 20), i, strings.Repeat("x", 300))
	}
	d.Write("wide.yaml", "name: wide\ntasks:\n"+tasks.String())
	d.call(fault.ExitOK, "run", "wide.yaml", "--run-id", "wide")
}

func TestReportsAreLookedAtInABrowser(t *testing.T) {
	t.Parallel()
	dir := browser(t)
	d := newDesk(t)
	fork := d.slug()
	d.session()
	d.hostileRun()
	d.wide()
	pages := map[string]string{
		"failed":  d.writeReport(dir, "failed", "fix-212"),
		"several": d.writeReport(dir, "several", "fix-212", fork, "claude-s1"),
		"session": d.writeReport(dir, "session", "claude-s1"),
		"fork":    d.writeReport(dir, "fork", fork),
		"hostile": d.writeReport(dir, "hostile", "r", "c", "claude-s"),
		"wide":    d.writeReport(dir, "wide", "wide"),
	}

	t.Run("html-validate finds nothing", func(t *testing.T) {
		t.Parallel()
		config := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(config, []byte(`{"root":true,"extends":["html-validate:recommended"]}`), 0o644))
		args := []string{"--config", config}
		for _, page := range pages {
			args = append(args, page)
		}
		out, err := exec.CommandContext(t.Context(), repotest.HTMLValidate(t), args...).CombinedOutput()
		require.NoError(t, err, string(out))
		bad := filepath.Join(t.TempDir(), "bad.html")
		require.NoError(t, os.WriteFile(bad, []byte("<!DOCTYPE html><html lang=\"en\"><head><title>x</title></head><body><p><div></div></p></body></html>"), 0o644))
		require.Error(t, exec.CommandContext(t.Context(), repotest.HTMLValidate(t), "--config", config, bad).Run(), "it finds what is wrong")
	})
	for name, page := range pages {
		t.Run("no table is cut off on paper: "+name, func(t *testing.T) {
			t.Parallel()
			words := printed(t, page)
			assert.NotEmpty(t, words)
			assert.Empty(t, beyond(words))
		})
	}
	t.Run("a table that is cut off is noticed", func(t *testing.T) {
		t.Parallel()
		page := filepath.Join(t.TempDir(), "cut.html")
		require.NoError(t, os.WriteFile(page, []byte(`<!DOCTYPE html><style>@page{size:A4;margin:14mm}td{min-width:500px}</style><table><tr><td>one<td>two<td>three</table>`), 0o644))
		words := printed(t, page)
		total := 0
		for _, p := range words {
			total += len(p)
		}
		assert.True(t, len(beyond(words)) > 0 || total < 3, "%v", words)
	})
	t.Run("a session of many calls opens", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, calls, strings.Count(chromium(t, pages["session"], "--dump-dom"), `<p class="call">`))
		info, err := os.Stat(pages["session"])
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(report.MaxBytes))
	})
	t.Run("pictures", func(t *testing.T) {
		t.Parallel()
		for _, page := range pages {
			screenshots(t, page)
		}
		axis := filepath.Join(dir, "failed.svg")
		d.call(fault.ExitOK, "report", "fix-212", "--format", "svg", "--force", "-o", axis)
		picture(t, axis, filepath.Join(dir, "failed-light.png"), 900)
		picture(t, axis, filepath.Join(dir, "failed-dark.png"), 900, "--blink-settings=preferredColorScheme=0")
	})
}
