package plain

// Nearest returns the candidate that is most similar to name. This is the first candidate with the fewest edits, see
// edits. A candidate with more edits than a third of the length of name is too different, but one edit is always
// allowed. If all candidates are too different, Nearest returns "" and false.
func Nearest(name string, candidates []string) (string, bool) {
	best, found := max(1, len(name)/3)+1, ""
	for _, candidate := range candidates {
		if d := len(candidate) - len(name); max(d, -d) >= best {
			continue // at least so many edits
		}
		if d := edits(name, candidate); d < best {
			best, found = d, candidate
		}
	}
	return found, found != ""
}

// edits returns the distance between the texts a and b: the smallest number of edits that turn a into b. An edit
// inserts, removes or replaces one byte, or swaps two neighbouring bytes.
func edits(a, b string) int {
	// row[j] is the distance between the first i+1 bytes of a and the first j bytes of b. last is the row for one byte
	// less of a, and before is the row for two bytes less.
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1) // a swap
			}
		}
	}
	return row[len(b)]
}
