package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/report"
)

// The measures of a graph in pixels.
const (
	graphWidth  = 150 // of a task
	graphHeight = 26
	graphColumn = 186 // from a task to the next in its row
	graphRow    = 36
	graphName   = 18   // characters
	graphFits   = 1200 // the widest graph that is made smaller, so that all of it is seen
)

// graph returns the graph of a run as an image, or "" if a list says as much: a run with fewer than three tasks, or with a row of tasks of
// which each needs the one before.
func graph(r *report.Run) template.HTML {
	g := r.Graph
	if g == nil || len(g.Nodes) < 3 || g.Layers == len(g.Nodes) {
		return ""
	}
	tall := 0
	for _, n := range g.Nodes {
		tall = max(tall, n.Place+1)
	}
	var b strings.Builder
	width, height := (g.Layers-1)*graphColumn+graphWidth+2, (tall-1)*graphRow+graphHeight+2
	class := "graph"
	if width <= graphFits {
		class += " fit"
	}
	fmt.Fprintf(&b, `<svg class="%s" role="img" width="%d" height="%d" viewBox="0 0 %d %d"><title>%s</title>`, class, width, height, width, height,
		html.EscapeString(fmt.Sprintf("%s in %s; the table of steps says the same", count(len(g.Nodes), "task"), count(g.Layers, "layer"))))
	at := func(i int) (x, y int) { return g.Nodes[i].Layer*graphColumn + 1, g.Nodes[i].Place*graphRow + 1 }
	for i, n := range g.Nodes {
		x, y := at(i)
		for _, need := range n.Needs {
			fromX, fromY := at(need)
			fromX, fromY = fromX+graphWidth, fromY+graphHeight/2
			middle := (fromX + x) / 2
			fmt.Fprintf(&b, `<path class="edge" d="M%d %dC%d %d %d %d %d %d"></path>`, fromX, fromY, middle, fromY, middle, y+graphHeight/2, x, y+graphHeight/2)
		}
	}
	for i, n := range g.Nodes {
		x, y := at(i)
		l := lookOf(n.State)
		class := "node " + l.Class
		if n.State == report.Pending {
			class += " open"
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"></rect>`, class, x, y, graphWidth, graphHeight)
		name := cutName(n.Name, graphName)
		fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d">%s</text><text class="name" x="%d" y="%d">`, l.Class, x+8, y+17, l.Glyph, x+24, y+17)
		pieces(name, func(s string) { b.WriteString(html.EscapeString(s)) }, func(s string) { b.WriteString(html.EscapeString(s)) })
		b.WriteString("</text>")
		if n.Loop {
			fmt.Fprintf(&b, `<text class="again" x="%d" y="%d" text-anchor="end">↻ %d</text>`, x+graphWidth-7, y+17, n.Iteration)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // every text is escaped
}
