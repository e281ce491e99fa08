package plain

import "strings"

// Coloured returns the lines of s as Lines does, and keeps the sequences by which programs colour what they print. All other control
// characters are escaped. A sequence that hides text is left out. A line that has a colour ends with the sequence that ends all colours.
func Coloured(s string) []string {
	if !strings.Contains(s, "\x1b[") {
		return Lines(s)
	}
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = colouredLine(strings.TrimSuffix(line, "\r"))
	}
	return lines
}

// colouredLine returns one line of Coloured.
func colouredLine(line string) string {
	var b strings.Builder
	painted := false
	end := 0
	for _, at := range colours.FindAllStringIndex(line, -1) {
		b.WriteString(escapedLine(line[end:at[0]]))
		if sequence := line[at[0]:at[1]]; !hides(sequence) {
			b.WriteString(sequence)
			painted = true
		}
		end = at[1]
	}
	b.WriteString(escapedLine(line[end:]))
	if painted {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

// escapedLine returns a part of a line as Text does, with its tabs.
func escapedLine(part string) string {
	parts := strings.Split(part, "\t")
	for i := range parts {
		parts[i] = Text(parts[i])
	}
	return strings.Join(parts, "\t")
}

// hides reports whether a colour sequence hides the text after it: ECMA-48 calls parameter 8 "concealed characters". The 8 of an extended
// colour, as in 38;5;8, is no such parameter.
func hides(sequence string) bool {
	params := strings.Split(strings.TrimSuffix(strings.TrimPrefix(sequence, "\x1b["), "m"), ";")
	for i := 0; i < len(params); i++ {
		switch params[i] {
		case "8", "08":
			return true
		case "38", "48", "58":
			if i+1 >= len(params) {
				return false
			}
			i += map[string]int{"5": 2, "2": 4}[params[i+1]]
		}
	}
	return false
}
