package tui

import "github.com/charmbracelet/x/ansi"

// overlay puts the lines of a dialog over those of a screen. A dialog of the whole height replaces the screen, a smaller one stands in its
// middle, and the rest of the screen is dim.
func overlay(under, over []string) []string {
	if len(over) >= len(under) {
		return over
	}
	top := (len(under) - len(over)) / 3
	out := append([]string{}, under...)
	for i, l := range over {
		width, inner := ansi.StringWidth(under[top+i]), ansi.StringWidth(l)
		left := max((width-inner)/2, 0)
		out[top+i] = ansi.Cut(under[top+i], 0, left) + l + ansi.Cut(under[top+i], left+inner, width)
	}
	return out
}
