package search

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxLines = 5   // how many lines with matches a hit has
	maxLine  = 240 // how many bytes of a line
	maxMarks = 50  // how many matches are marked in a line
)

// Hit is a document that has what was searched for, at the first frame of a run that has it.
type Hit struct {
	Kind  Kind   `json:"in"`
	Run   string `json:"runId"`
	Frame int64  `json:"frameNo"`
	AtMs  int64  `json:"atMs"`

	// Part and Key say where in the frame the text is: a collection and the key of a row, the input, the events or, for a file, the task whose own worktree
	// has it, or "", and the path.
	Part  string `json:"part"`
	Key   string `json:"key"`
	Lines []Line `json:"lines"`
	More  int    `json:"moreLines"`               // lines with matches that Lines has not
	Later int    `json:"laterVersions,omitempty"` // versions of a file that came later in the run, and in which no other line matches
}

// Line is a line of a hit.
type Line struct {
	Number int    `json:"number"` // the first line of a text is 1
	Text   string `json:"text"`   // a long line is cut around its first match, with "…" where something was cut off
	// Marks are the parts of Text that match, in bytes. A line without marks is one around a match.
	Marks [][2]int `json:"marks"`
}

// lines returns the lines of a text that have matches, and some around them. If some lines have more of the terms than others, it returns these. more is the
// number of lines with as many terms that were left out.
func lines(text string, all []found, around int) (out []Line, more int) {
	starts := []int{0}
	for i := range len(text) - 1 {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	terms, at := make(map[int]uint32), make(map[int][]found) // by line; a query has at most 32 terms
	most := 0
	for _, f := range all {
		n, exact := slices.BinarySearch(starts, f.start)
		if !exact {
			n--
		}
		for ; n < len(starts) && starts[n] < f.end; n++ {
			terms[n] |= 1 << f.term
			at[n] = append(at[n], f)
			most = max(most, bits.OnesCount32(terms[n]))
		}
	}
	last := -1 // the last line in out
	for shown, n := 0, 0; n < len(starts); n++ {
		if bits.OnesCount32(terms[n]) != most {
			continue
		}
		if shown++; shown > maxLines {
			more++
			continue
		}
		for i := max(last+1, n-around); i < n; i++ {
			out = append(out, lineAt(text, starts[i], i, at[i]))
		}
		out = append(out, lineAt(text, starts[n], n, at[n]))
		for last = n; last < n+around && last+1 < len(starts) && bits.OnesCount32(terms[last+1]) != most; {
			last++
			out = append(out, lineAt(text, starts[last], last, at[last]))
		}
	}
	return out, more
}

// matching returns hashes of the lines of a text that have matches. No match goes on in the next line.
func matching(seed maphash.Seed, text string, all []found) map[uint64]bool {
	out, end := make(map[uint64]bool), 0
	for _, f := range all {
		if f.start < end { // of the same line
			continue
		}
		start := end + strings.LastIndexByte(text[end:f.start], '\n') + 1
		line, _, _ := strings.Cut(text[start:], "\n")
		out[maphash.String(seed, line)], end = true, start+len(line)
	}
	return out
}

// lineAt returns the line of a text that begins at start, with the matches in it.
func lineAt(text string, start, index int, all []found) Line {
	whole, _, _ := strings.Cut(text[start:], "\n")
	whole = strings.TrimSuffix(whole, "\r")
	from, to := 0, len(whole)
	if len(whole) > maxLine {
		if len(all) > 0 {
			from = max(0, min(all[0].start-start-maxLine/4, len(whole)-maxLine))
		}
		to = from + maxLine
		for from > 0 && !utf8.RuneStart(whole[from]) {
			from--
		}
		for to < len(whole) && !utf8.RuneStart(whole[to]) {
			to--
		}
	}
	line := Line{Number: index + 1, Text: whole[from:to], Marks: [][2]int{}}
	least, most, shift := 0, to-from, start+from // of the marks
	if from > 0 {
		line.Text = "…" + line.Text
		least, most, shift = len("…"), most+len("…"), shift-len("…")
	}
	if to < len(whole) {
		line.Text += "…"
	}
	for _, f := range all {
		mark := [2]int{max(f.start-shift, least), min(f.end-shift, most)}
		if mark[0] < mark[1] && len(line.Marks) < maxMarks {
			line.Marks, least = append(line.Marks, mark), mark[1]
		}
	}
	return line
}
