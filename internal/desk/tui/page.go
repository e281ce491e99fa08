package tui

import "strings"

// rowsOf returns by how many rows a key moves a cursor, or 0 for another key. page is how many rows a page is.
func rowsOf(key string, page int) int {
	const far = 1 << 30
	switch key {
	case "j", "down":
		return 1
	case "k", "up":
		return -1
	case "pgdown", "ctrl+d":
		return page
	case "pgup", "ctrl+u":
		return -page
	case "g", "home":
		return -far
	case "G", "end":
		return far
	}
	return 0
}

// moved returns the cursor at one of n rows after a move.
func moved(at, by, n int) int { return max(min(at+by, n-1), 0) }

// listPage draws a screen with n rows and a cursor between its head, which may have a line with the titles of columns, and the lines below. Only
// rows that are shown are made.
func (m *model) listPage(head []line, list *pane, at, n int, row func(i int, chosen bool) line, below []line, width, height int) []string {
	out := []string{head[0].draw(width, m.Dots), m.ruleLine(width)}
	for _, titles := range head[1:] {
		out = append(out, titles.draw(width, m.Dots))
	}
	if height < 12 {
		below = nil
	}
	listed := height - len(out)
	if len(below) > 0 {
		listed = max(listed-len(below)-1, 1)
	}
	list.lines = make([]line, n)
	list.keep(at, listed)
	for i := list.top; i < min(list.top+listed, n); i++ {
		list.lines[i] = row(i, i == at)
	}
	out = append(append(out, list.draw(width, listed, m.Dots)...), m.ruleLine(width))
	for _, ln := range below {
		out = append(out, ln.draw(width, m.Dots))
	}
	return fill(out, width, height, m)
}

// marked returns a line with room for the mark of the cursor before it, or with the mark.
func (m *model) marked(ln line, chosen bool) line {
	mark := "   "
	if chosen {
		mark, ln = " "+m.cursor+" ", ln.whole(m.back)
	}
	ln.spans = append([]span{{mark, m.accent}}, ln.spans...)
	return ln
}

// findFrom returns the first number below n, from the number from on, whose text has a word in any case. If there is none, it says so.
func (m *model) findFrom(word string, from, n int, text func(i int) string) (int, bool) {
	for i := max(from, 0); i < n && word != ""; i++ {
		if strings.Contains(strings.ToLower(text(i)), strings.ToLower(word)) {
			return i, true
		}
	}
	if word != "" {
		m.note = "not found below: " + safe(word)
	}
	return 0, false
}
