package sandbox

import (
	"strconv"
	"strings"
)

// String returns what the Spec allows and limits, for people, such as "no network, writes .git, at most 100 processes".
func (s *Spec) String() string {
	parts := []string{"no network"}
	if s.Network {
		parts[0] = "network"
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"writes ", s.Write}, {"reads ", s.Read}, {"gets ", s.Env}} {
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
