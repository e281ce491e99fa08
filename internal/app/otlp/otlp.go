// Package otlp has what traces and metrics share in OpenTelemetry's protocol, in its JSON encoding: who sends, what is sent, and whether anybody wants it.
// The source is opentelemetry-proto 1.x; 64-bit numbers are texts.
package otlp

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// maxText is the largest size of an attribute in bytes.
const maxText = 1024

// Signal is a kind of data that collectors take.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
)

// Resource is who sends.
type Resource struct {
	Attributes []Attribute `json:"attributes"`
}

// Scope is the part of the sender that has made the data.
type Scope struct {
	Name string `json:"name"`
}

// Attribute is a name with a value.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Value has one of its fields.
type Value struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
	Yes    *bool   `json:"boolValue,omitempty"`
}

// Text returns an attribute with a text, which is cut if it is long.
func Text(key, of string) Attribute {
	return Attribute{key, Value{Text: new(Cut(of))}}
}

// Cut returns a text that is not too long for an attribute, and is UTF-8.
func Cut(of string) string {
	for len(of) > maxText || !utf8.ValidString(of) {
		cut := min(len(of)-1, maxText)
		for cut > 0 && !utf8.RuneStart(of[cut]) {
			cut--
		}
		of = of[:cut]
	}
	return of
}

// Number returns an attribute with a number.
func Number(key string, of int) Attribute {
	return Attribute{key, Value{Number: new(strconv.Itoa(of))}}
}

// Yes returns an attribute that is true.
func Yes(key string) Attribute { return Attribute{key, Value{Yes: new(true)}} }

// Nanos returns a time in milliseconds as nanoseconds. Times before 1970 are 1970.
func Nanos(ms int64) string { return strconv.FormatInt(max(ms, 0), 10) + "000000" }

// Self returns this scope.
func Self() Scope { return Scope{"git-smithers"} }

// Wanted reports whether the environment names a collector of a signal, in the variables of OpenTelemetry.
func Wanted(env []string, signal Signal) bool {
	of := func(name string) string { return lookup(env, name) }
	name := strings.ToUpper(string(signal))
	return !strings.EqualFold(of("OTEL_SDK_DISABLED"), "true") && of("OTEL_"+name+"_EXPORTER") != "none" &&
		(of("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || of("OTEL_EXPORTER_OTLP_"+name+"_ENDPOINT") != "")
}

// lookup returns the value of a variable in an environment; "" if it has none.
func lookup(env []string, name string) string {
	value, _ := gitexec.LookupEnv(env, name)
	return value
}

// Sender returns what the environment says about the sender: OTEL_RESOURCE_ATTRIBUTES, and OTEL_SERVICE_NAME or git-smithers.
func Sender(env []string) Resource {
	service := lookup(env, "OTEL_SERVICE_NAME")
	var out []Attribute
	for pair := range strings.SplitSeq(lookup(env, "OTEL_RESOURCE_ATTRIBUTES"), ",") {
		key, escaped, ok := strings.Cut(strings.TrimSpace(pair), "=")
		of, err := url.PathUnescape(escaped)
		switch {
		case !ok || key == "" || err != nil:
		case key == "service.name":
			if service == "" {
				service = of
			}
		default:
			out = append(out, Attribute{key, Value{Text: &of}})
		}
	}
	if service == "" {
		service = "git-smithers"
	}
	return Resource{append([]Attribute{{"service.name", Value{Text: &service}}}, out...)}
}
