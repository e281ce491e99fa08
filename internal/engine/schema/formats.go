package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// maxFormatSteps is the number of steps after which formats are not looked at any more: schemas of strangers refer to each other.
const maxFormatSteps = 100_000

// CheckFormats checks the texts in a value from DecodeValue against the keyword format of the schemas that apply to them by properties, items,
// allOf and $ref. An error begins with the path from root to the text. Validate does not look at formats.
func (s *Schema) CheckFormats(root string, value any) error {
	var top any
	if json.Unmarshal(s.Text, &top) != nil {
		return nil //nolint:nilerr // Compile has read it
	}
	c := formatCheck{top: top, left: maxFormatSteps}
	return c.value(root, top, value)
}

// formatCheck is a check of the formats in a value.
type formatCheck struct {
	top  any // the whole schema
	left int // the number of steps that may still be made
}

// value checks a value against a schema.
func (c *formatCheck) value(path string, schema, value any) error {
	s, ok := schema.(map[string]any)
	if c.left--; !ok || c.left < 0 {
		return nil
	}
	name, _ := s["format"].(string)
	if text, ok := value.(string); ok && formats[name] != nil && !formats[name](text) {
		err := fmt.Errorf("%s: %s is no %s", path, plain.Cut(strconv.Quote(text), maxError), name)
		if like := likeFormats[name]; like != "" {
			err = fmt.Errorf("%w; write it like %s", err, like)
		}
		return err
	}
	if ref, ok := s["$ref"].(string); ok {
		if err := c.value(path, c.at(ref), value); err != nil {
			return err
		}
	}
	all, _ := s["allOf"].([]any)
	for _, part := range all {
		if err := c.value(path, part, value); err != nil {
			return err
		}
	}
	return c.parts(path, s, value)
}

// parts checks the members or items of a value.
func (c *formatCheck) parts(path string, s map[string]any, value any) error {
	switch v := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if member, ok := v[name]; ok {
				if err := c.value(path+"."+name, properties[name], member); err != nil {
					return err
				}
			}
		}
	case []any:
		for i, item := range v {
			if err := c.value(path+"["+strconv.Itoa(i)+"]", s["items"], item); err != nil {
				return err
			}
		}
	}
	return nil
}

// at returns the schema to which a reference into the schema itself leads, or nil.
func (c *formatCheck) at(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := c.top
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part == "" {
			continue
		}
		members, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}
