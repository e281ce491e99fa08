package sandbox

import (
	"strconv"
	"strings"
)

// String returns what the Spec allows and limits, for people, such as "no network, writes .git, at most 100 processes".
func (s *Spec) String() string { return s.text(s.Write, s.Read) }

// Shown returns what String returns, with the paths to which those of Write and Read lead: see Resolve. History must not name them.
func (s *Spec) Shown() string {
	if s.shown != "" {
		return s.shown
	}
	return s.String()
}

// Resolve returns a copy of the Spec that shows where its paths lead at a place, or why they will be refused there.
func (s *Spec) Resolve(at Place) *Spec {
	resolve := func(names []string, write bool) []string {
		var out []string
		for _, named := range names {
			switch grants, err := at.grants([]string{named}, write); {
			case err != nil:
				named += " (refused: " + err.Error() + ")"
			case len(grants) > 0 && grants[0].real != named:
				named += " (" + grants[0].real + ")"
			}
			out = append(out, named)
		}
		return out
	}
	out := *s
	out.shown = s.text(resolve(s.Write, true), resolve(s.Read, false))
	return &out
}

// text returns the text of String with lists of what it writes and reads.
func (s *Spec) text(write, read []string) string {
	parts := []string{"no network"}
	if s.Network {
		parts[0] = "network"
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"writes ", write}, {"reads ", read}, {"gets ", s.Env}} {
		if len(list.names) > 0 {
			parts = append(parts, list.what+strings.Join(list.names, " "))
		}
	}
	if s.Memory > 0 {
		parts = append(parts, "at most "+number(s.Memory>>20)+" MiB")
	}
	if s.Processes > 0 {
		parts = append(parts, "at most "+number(int64(s.Processes))+" processes")
	}
	if s.CPU > 0 {
		parts = append(parts, "at most "+strconv.FormatFloat(s.CPU, 'f', -1, 64)+" processors")
	}
	return strings.Join(parts, ", ")
}
