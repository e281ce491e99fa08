package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"unicode"

	"github.com/git-smithers/git-smithers/internal/app/report"
)

// lineCost returns the bytes of a line on the page, with what opens and closes the element that it is in.
func lineCost(l *report.Line) int {
	var d drawer
	d.line(l)
	d.within("", "")
	return d.Len()
}

// A drawer writes the lines of a part.
type drawer struct {
	strings.Builder

	open string // the element that lines are in; "" for none
}

// body returns the lines of a part.
func body(p *report.Part) template.HTML {
	var d drawer
	for i := range p.Lines {
		d.line(&p.Lines[i])
	}
	d.within("", "")
	return template.HTML(d.String()) //nolint:gosec // every text is escaped
}

// text writes a stored text.
func (d *drawer) text(text string) {
	pieces(text, func(s string) { d.WriteString(html.EscapeString(s)) }, func(s string) {
		d.WriteString(`<span class="u">` + html.EscapeString(s) + `</span>`)
	})
}

// trimmed returns a line without white space at its end.
func trimmed(line string) string { return strings.TrimRightFunc(line, unicode.IsSpace) }

// more writes how much of a line is left out.
func (d *drawer) more(l *report.Line) {
	if l.Cut > 0 {
		d.WriteString(` <span class="dim">… ` + count(l.Cut, "byte") + ` more</span>`)
	}
}

// within makes sure that the next line is in an element pre with a class, or in none.
func (d *drawer) within(name, class string) {
	if d.open == name {
		return
	}
	if d.open != "" {
		d.WriteString("</pre>\n")
	}
	if name != "" {
		d.WriteString("<pre" + class + ">")
	}
	d.open = name
}

// line writes a line.
func (d *drawer) line(l *report.Line) {
	switch l.Kind {
	case report.TextLine:
		d.within("log", "")
		d.text(trimmed(l.Text))
		d.more(l)
		d.WriteByte('\n')
	case report.BadLine:
		d.within("log", "")
		d.WriteString("<b>")
		d.text(trimmed(l.Text))
		d.WriteString("</b>")
		d.more(l)
		d.WriteByte('\n')
	case report.FileLine:
		d.file(l)
	case report.HunkLine, report.SameLine, report.AddedLine, report.RemovedLine:
		if l.Number == 0 && l.Kind != report.HunkLine {
			d.state(l)
			return
		}
		d.code(l)
	case report.ChangedLine:
		d.state(l)
	case report.HeadLine:
		d.within("", "")
		d.WriteString(`<p class="sub">`)
		d.text(l.Text)
		d.WriteString("</p>\n")
	case report.PromptLine, report.AnswerLine:
		d.said(l)
	case report.CallLine:
		d.call(l)
	case report.OutputLine:
		d.within("out", ` class="out"`)
		d.text(trimmed(l.Text))
		d.more(l)
		d.WriteByte('\n')
	}
}

// file writes the name of a file.
func (d *drawer) file(l *report.Line) {
	d.within("", "")
	d.WriteString(`<p class="file">`)
	d.text(l.Text)
	if l.Tool != "" {
		d.WriteString(` <span class="dim">`)
		d.text(l.Tool)
		d.WriteString("</span>")
	}
	if l.Code.Added > 0 {
		d.WriteString(` <span class="plus">+` + number(l.Code.Added) + "</span>")
	}
	if l.Code.Removed > 0 {
		d.WriteString(` <span class="minus">−` + number(l.Code.Removed) + "</span>")
	}
	d.WriteString("</p>\n")
}

// code writes a line of a file.
func (d *drawer) code(l *report.Line) {
	d.within("code", ` class="d"`)
	element, sign := "span", " "
	switch l.Kind {
	case report.AddedLine:
		element, sign = "ins", "+"
	case report.RemovedLine:
		element, sign = "del", "−"
	case report.HunkLine:
		d.WriteString("<span><i>⋯</i> ")
		d.text(l.Text)
		d.WriteString("</span>")
		return
	default:
	}
	fmt.Fprintf(&d.Builder, "<%s><i>%d</i>%s ", element, l.Number, sign)
	if l.MarkFrom < l.MarkTo && l.MarkTo <= len(l.Text) {
		d.text(l.Text[:l.MarkFrom])
		d.WriteString("<mark>")
		d.text(l.Text[l.MarkFrom:l.MarkTo])
		d.WriteString("</mark>")
		d.text(l.Text[l.MarkTo:])
	} else {
		d.text(l.Text)
	}
	d.more(l)
	d.WriteString("</" + element + ">")
}

// state writes a line of a state.
func (d *drawer) state(l *report.Line) {
	d.within("state", ` class="st"`)
	element, sign := "span", "~"
	switch l.Kind {
	case report.AddedLine:
		element, sign = "ins", "+"
	case report.RemovedLine:
		element, sign = "del", "−"
	default:
	}
	d.WriteString("<" + element + ">" + sign + " ")
	d.text(trimmed(l.Text))
	d.more(l)
	d.WriteString("</" + element + ">")
}

// said writes a prompt or an answer.
func (d *drawer) said(l *report.Line) {
	d.within("", "")
	class, who := "model", "Agent"
	if l.Kind == report.PromptLine {
		class, who = "you", "You"
	}
	d.WriteString(`<p class="` + class + `"><b>` + who + "</b> ")
	lines := strings.Split(l.Text, "\n")
	for i, line := range lines {
		lines[i] = trimmed(line)
	}
	d.text(strings.Join(lines, "\n"))
	d.more(l)
	d.WriteString("</p>\n")
}

// call writes a tool call.
func (d *drawer) call(l *report.Line) {
	d.within("", "")
	look := lookOf(l.State)
	d.WriteString(`<p class="call"><span class="g ` + look.Class + `">` + look.Glyph + "</span>")
	if l.TookMs >= 0 || l.Frame != "" {
		d.WriteString(`<span class="r">`)
		if l.TookMs >= 0 {
			d.WriteString(html.EscapeString(took(l.TookMs)))
		}
		if l.Frame != "" {
			d.WriteString(" ")
			d.text(l.Frame)
		}
		d.WriteString("</span>")
	}
	d.WriteString("<b>")
	d.text(l.Tool)
	d.WriteString("</b>")
	if l.Text != "" {
		d.WriteString("<code>")
		d.text(l.Text)
		d.WriteString("</code>")
	}
	d.WriteString("</p>\n")
}
