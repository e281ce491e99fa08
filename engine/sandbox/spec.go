package sandbox

import (
	"strconv"
	"strings"
)

// String returns what the Spec allows and limits, for people, such as "no network, writes .git, at most 100 processes".
func (s *Spec) String() string { return s.text(s.Write) }

// Shown returns what String returns, with the paths to which those of Write lead: see Resolve. History must not name them.
func (s *Spec) Shown() string {
	if s.resolved != nil {
		return s.text(s.resolved)
	}
	return s.String()
}

// Resolve returns a copy of the Spec that shows where the paths of Write lead at a place, or why they will be refused there.
func (s *Spec) Resolve(at Place) *Spec {
	out := *s
	out.resolved = []string{}
	for _, named := range s.Write {
		one := Spec{Write: []string{named}}
		switch grants, err := one.writable(at); {
		case err != nil:
			named += " (refused: " + err.Error() + ")"
		case len(grants) > 0 && grants[0].real != named:
			named += " (" + grants[0].real + ")"
		}
		out.resolved = append(out.resolved, named)
	}
	return &out
}

// text returns the text of String with a list of what it writes.
func (s *Spec) text(write []string) string {
	parts := []string{"no network"}
	if s.Network {
		parts[0] = "network"
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"writes ", write}, {"reads ", s.Read}, {"gets ", s.Env}} {
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
