package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxLines is how many lines with matches a hit shows.
	maxLines = 5
	// maxLine is how many bytes of a line a hit shows.
	maxLine = 240
	// maxMarks is how many matches are marked in a line.
	maxMarks = 50
)

// Hit is a document that has what was searched for, at the first frame of a run that has it.
type Hit struct {
	Kind  Kind
	Run   string
	Frame int64
	AtMs  int64

	// Part and Key say where in the frame the text is: a collection and the key of a row, the input, the events or, for a file, the task whose own worktree
	// has it, or "", and the path.
	Part, Key string
	Lines     []Line
	More      int // lines with matches that Lines has not
}

// Line is a line of a hit.
type Line struct {
	Number int    `json:"number"` // the first line of a text is 1
	Text   string `json:"text"`   // a long line is cut around its first match, with "…" where something was cut off
	// Marks are the parts of Text that match, in bytes. A line without marks is one around a match.
	Marks [][2]int `json:"marks"`
}

// lines returns the lines of a text that have matches, and those around them. If some lines have more of the terms than others, these are told. more is the
// number of lines with as many terms that were left out.
func lines(text string, all []found, around int) (out []Line, more int) {
	starts := lineStarts(text, all[len(all)-1].end, around)
	terms := make(map[int]uint32) // by line; a query has at most 32 terms
	at := make(map[int][]found)
	most := 0
	for _, f := range all {
		for n := lineOf(starts, f.start); n < len(starts) && starts[n] < max(f.end, f.start+1); n++ {
			terms[n] |= 1 << f.term
			at[n] = append(at[n], f)
			most = max(most, ones(terms[n]))
		}
	}
	var best []int
	for n := range terms {
		if ones(terms[n]) == most {
			best = append(best, n)
		}
	}
	slices.Sort(best)
	if more = len(best) - maxLines; more > 0 {
		best = best[:maxLines]
	}
	next := 0
	for _, n := range best {
		for i := max(next, n-around); i <= n+around && i < len(starts); i++ {
			if i > n && slices.Contains(best, i) {
				break
			}
			out = append(out, lineAt(text, starts[i], i, at[i]))
			next = i + 1
		}
	}
	return out, max(more, 0)
}

// ones counts the bits of a number.
func ones(n uint32) (count int) {
	for ; n != 0; n &= n - 1 {
		count++
	}
	return count
}

// lineStarts returns where the lines of a text begin, up to the line that has the byte before end, and some lines after it.
func lineStarts(text string, end, after int) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] != '\n' || i+1 == len(text) {
			continue
		}
		if i >= end {
			if after--; after < 0 {
				break
			}
		}
		starts = append(starts, i+1)
	}
	return starts
}

// lineOf returns the index of the line that has the byte at a place.
func lineOf(starts []int, place int) int {
	n, exact := slices.BinarySearch(starts, place)
	if exact {
		return n
	}
	return n - 1
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
		for ; to < len(whole) && !utf8.RuneStart(whole[to]); to-- {
		}
	}
	line := Line{Number: index + 1, Text: whole[from:to], Marks: [][2]int{}}
	shift := start + from
	if from > 0 {
		line.Text = "…" + line.Text
		shift -= len("…")
	}
	end := len(line.Text)
	if to < len(whole) {
		line.Text += "…"
	}
	last := min(from, 1) * len("…")
	for _, f := range all {
		mark := [2]int{max(f.start-shift, last), min(f.end-shift, end)}
		if mark[0] < mark[1] && len(line.Marks) < maxMarks {
			line.Marks = append(line.Marks, mark)
			last = mark[1]
		}
	}
	return line
}
