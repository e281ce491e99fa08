package report

import (
	"fmt"
	"html"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/app/summary"
)

// The measures of the image in pixels.
const (
	svgWidth  = 900
	svgLabels = 230 // the width of the names
	svgTimes  = 90  // the width of the durations
	svgHead   = 34
	svgRow    = 19
	svgBar    = 13
	svgFoot   = 26
	svgName   = 30  // characters of a name
	svgRows   = 100 // rows of a run
)

const svgStyle = `text{font:12px system-ui,sans-serif;fill:#1d2025}.h{font-weight:600;font-size:14px}.d{fill:#646b76;font-size:11px}.n{text-anchor:end}` +
	`.p{fill:#fff}.s{fill:#f3f3f0}.ok{fill:#1c7040}.fail{fill:#b3261e}.run{fill:#1d62c4}.wait{fill:#7d5200}.off{fill:#5d646f}.idle{fill:none;stroke:#7d5200;stroke-dasharray:3 2}` +
	`@media (prefers-color-scheme:dark){text{fill:#e5e7ea}.d{fill:#8d96a1}.p{fill:#191d21}.s{fill:#101315}.ok{fill:#63c488}.fail{fill:#ff8d83}.run{fill:#82b1ff}.wait{fill:#e2b456}.off{fill:#949da8}.idle{stroke:#e2b456}}`

// SVG returns the time axes of the runs as one image, with text as text, for light and dark pages.
func SVG(r *report.Report) []byte {
	height := 0
	for _, run := range r.Runs {
		height += svgHead + svgRow*len(report.FoldRows(run.Rows, svgRows)) + svgFoot
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`+"\n",
		svgWidth, height, svgWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<style>%s</style>\n<rect class=\"p\" width=\"100%%\" height=\"100%%\"/>\n", escapeXML(title(r)), svgStyle)
	y := 0
	for _, run := range r.Runs {
		y = drawAxis(&b, run, y)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// drawAxis draws the axis of a run below y, and returns where the next one begins.
func drawAxis(b *strings.Builder, r *report.Run, y int) int {
	name := r.ID
	if r.Name != "" {
		name = r.Name
	}
	ours, stored := verdict(r)
	fmt.Fprintf(b, `<text class="h" x="12" y="%d">%s %s</text>`+"\n", y+21, lookOf(r.State).Glyph, escapeXML(cutName(name+" "+ours+stored, 3*svgName)))
	y += svgHead
	rows := report.FoldRows(r.Rows, svgRows)
	left, width := float64(svgLabels), float64(svgWidth-svgLabels-svgTimes)
	for _, row := range rows {
		drawRow(b, row, r.Session, y, left, width/summary.Whole)
		y += svgRow
	}
	fmt.Fprintf(b, `<text class="d" x="%d" y="%d">0 s</text><text class="d n" x="%d" y="%d">%s</text>`+"\n",
		svgLabels, y+14, svgWidth-svgTimes, y+14, escapeXML(took(r.Axis.ToMs-r.Axis.FromMs)))
	for _, g := range r.Axis.Gaps {
		fmt.Fprintf(b, `<text class="d" x="%.1f" y="%d">⋯ %s</text>`+"\n", left+width*float64(g.At)/summary.Whole, y+14, escapeXML(took(g.ToMs-g.FromMs)))
	}
	return y + svgFoot
}

// drawRow draws a row at y. turns reports whether rows are turns of a session. unit is the length of the axis' unit in pixels.
func drawRow(b *strings.Builder, row report.Row, turns bool, y int, left, unit float64) {
	if row.Folded > 0 {
		fmt.Fprintf(b, `<text class="d" x="30" y="%d">⋯ %s more</text>`+"\n", y+13, count(row.Folded, "row"))
		return
	}
	look := lookOf(row.State)
	name := row.Step
	switch {
	case turns:
		name = fmt.Sprintf("%s %d", row.Step, row.Iteration)
	case row.Loop:
		name = fmt.Sprintf("%s iteration %d", row.Step, row.Iteration)
	}
	if row.Attempt > 1 {
		name += fmt.Sprintf(", attempt %d", row.Attempt)
	}
	fmt.Fprintf(b, `<text class="%s" x="12" y="%d">%s</text><text x="30" y="%d">%s<title>%s: %s</title></text>`,
		look.Class, y+13, look.Glyph, y+13, escapeXML(cutName(name, svgName)), escapeXML(name), look.Word)
	fmt.Fprintf(b, `<rect class="s" x="%.1f" y="%d" width="%.1f" height="%d"/>`, left, y+3, unit*summary.Whole, svgBar)
	if row.Long > 0 {
		class := look.Class
		if row.Wait {
			class = "idle"
		}
		fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`, class, left+unit*float64(row.Bar), y+3, unit*float64(row.Long), svgBar)
		fmt.Fprintf(b, `<text class="d n" x="%d" y="%d">%s</text>`, svgWidth-12, y+13, escapeXML(took(row.TookMs)))
	}
	b.WriteByte('\n')
}

// cutName cuts a name to most characters, as they are shown.
func cutName(name string, most int) string { return middle(shown(name), most) }

// escapeXML returns a stored text for XML.
func escapeXML(text string) string { return html.EscapeString(shown(text)) }
