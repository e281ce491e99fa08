package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/internal/plain"
)

var (
	uuidForm     = lazyregexp.New(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hostnameForm = lazyregexp.New(`^(?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?)(?:\.[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?)*$`)
)

// formats are the formats that are asserted, with what each takes. Others mean nothing.
var formats = map[string]func(text string) bool{
	"date-time": func(text string) bool { _, err := time.Parse(time.RFC3339, text); return err == nil },
	"date":      func(text string) bool { _, err := time.Parse(time.DateOnly, text); return err == nil },
	"time":      func(text string) bool { _, err := time.Parse("15:04:05Z07:00", text); return err == nil },
	"email":     func(text string) bool { a, err := mail.ParseAddress(text); return err == nil && a.Address == text },
	"uri":       func(text string) bool { u, err := url.Parse(text); return err == nil && u.IsAbs() },
	"uuid":      func(text string) bool { return uuidForm.MatchString(text) },
	"hostname":  func(text string) bool { return len(text) <= 253 && hostnameForm.MatchString(text) },
	"ipv4":      func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a.Is4() },
	"ipv6": func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"regex": func(text string) bool { _, err := regexp.Compile(text); return err == nil },
}

// likeFormats has a text of each format that is not plain from its name.
var likeFormats = map[string]string{
	"date-time": "2026-12-01T09:30:00Z", "date": "2026-12-01", "time": "09:30:00Z", "email": "ann@example.org", "uri": "https://example.org/page",
	"uuid": "123e4567-e89b-12d3-a456-426614174000", "hostname": "host.example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
}

// format checks a text against a format.
func (c *check) format(name, text string) *flaw {
	if !c.formats || formats[name] == nil || formats[name](text) {
		return nil
	}
	f := found("%s is no %s", plain.Cut(strconv.Quote(text), maxError), name)
	if like := likeFormats[name]; like != "" {
		f.format += "; write it like " + like
	}
	f.exact = true
	return f
}
