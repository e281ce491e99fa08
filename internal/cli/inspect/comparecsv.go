package inspect

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/app/comparison"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// fixedColumns are the columns that compare --csv always has, in this order. Columns of inputs and outputs follow.
func fixedColumns() []string {
	return []string{
		"run", "label", "workflow", "status", "parent_run", "parent_frame", "depth", "first_differs_at", "best", "failed_attempts",
		"took_ms", "waited_ms", "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "cost_usd",
		"files", "lines_added", "lines_removed",
	}
}

// writeComparisonCSV writes a header and a line for each run as RFC 4180 has it.
func writeComparisonCSV(out io.Writer, c *comparison.Comparison) error {
	w := csv.NewWriter(out)
	header := fixedColumns()
	for _, name := range c.Inputs {
		header = append(header, spreadsheetText("input."+name))
	}
	for _, column := range c.Outputs {
		header = append(header, spreadsheetText("outputs."+column.String()))
	}
	lines := [][]string{header}
	for i := range c.Runs {
		lines = append(lines, csvLine(c, i))
	}
	return w.WriteAll(lines)
}

// csvLine returns the line of the run with index i.
func csvLine(c *comparison.Comparison, i int) []string {
	r := c.Runs[i]
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	label, parentRun, parentFrame := "", "", ""
	if r.Origin != nil {
		parentRun, parentFrame = r.Origin.At.Run, number(r.Origin.At.Frame)
	}
	if r.Row.Parent != nil {
		label = r.Row.Parent.Label
	}
	usage := make([]string, 5)
	if u := r.Usage; u != nil {
		usage = []string{number(u.InputTokens), number(u.OutputTokens), number(u.CacheReadTokens), number(u.CacheCreationTokens), ""}
		if u.CostUSD != 0 {
			usage[4] = strconv.FormatFloat(u.CostUSD, 'f', -1, 64)
		}
	}
	status := string(r.Row.Status)
	if r.Stale {
		status = "stale"
	}
	line := []string{
		spreadsheetText(r.Row.ID), spreadsheetText(label), spreadsheetText(r.Row.Workflow), status, spreadsheetText(parentRun), parentFrame,
		strconv.Itoa(r.Depth), spreadsheetText(firstDiffers(c, r)), strconv.FormatBool(slices.Contains(c.Best, i)),
		strconv.Itoa(r.Failed), number(r.TookMs), number(r.WaitedMs),
	}
	line = append(line, usage...)
	line = append(line, strconv.Itoa(r.Code.Files), number(r.Code.Added), number(r.Code.Removed))
	for _, name := range c.Inputs {
		line = append(line, spreadsheetValue(r.Inputs[name]))
	}
	for _, column := range c.Outputs {
		line = append(line, spreadsheetValue(r.Outputs[column.String()]))
	}
	return line
}

// spreadsheetValue returns a JSON value for a cell: a number, true, false or null as it is stored, a text without its quotes, and
// any other value as JSON.
func spreadsheetValue(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return spreadsheetText(text)
	}
	// JSON that is no text begins with no character of a formula but the sign of a number.
	return plain.Text(string(value))
}

// spreadsheetText returns text for a cell. Spreadsheets take a cell that begins with one of certain characters for a formula, and
// a formula in a stranger's run could send the sheet away; so an apostrophe goes before such a text. The full-width forms of
// the characters count, too. Control characters and line ends are escaped as plain.Text does.
func spreadsheetText(text string) string {
	text = plain.Text(text)
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@|%＝＋－＠", first) {
		return "'" + text
	}
	return text
}
