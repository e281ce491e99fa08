package telemetry

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

// resource is who sends.
type resource struct {
	Attributes []attribute `json:"attributes"`
}

// scope is the part of the sender that has made the data.
type scope struct {
	Name string `json:"name"`
}

// attribute is a name with a value.
type attribute struct {
	Key   string         `json:"key"`
	Value attributeValue `json:"value"`
}

// attributeValue has one of its fields.
type attributeValue struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
	Yes    *bool   `json:"boolValue,omitempty"`
}

// textAttribute returns an attribute with a text, which is cut if it is long.
func textAttribute(key, of string) attribute {
	return attribute{key, attributeValue{Text: new(shortened(of))}}
}

// shortened returns a text that is not too long for an attribute, and is UTF-8.
func shortened(of string) string {
	for len(of) > maxText || !utf8.ValidString(of) {
		cut := min(len(of)-1, maxText)
		for cut > 0 && !utf8.RuneStart(of[cut]) {
			cut--
		}
		of = of[:cut]
	}
	return of
}

// numberAttribute returns an attribute with a number.
func numberAttribute(key string, of int) attribute {
	return attribute{key, attributeValue{Number: new(strconv.Itoa(of))}}
}

// yesAttribute returns an attribute that is true.
func yesAttribute(key string) attribute { return attribute{key, attributeValue{Yes: new(true)}} }

// nanos returns a time in milliseconds as nanoseconds. Times before 1970 are 1970.
func nanos(ms int64) string { return strconv.FormatInt(max(ms, 0), 10) + "000000" }

// self returns this scope.
func self() scope { return scope{"git-smithers"} }

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

// sender returns what the environment says about the sender: OTEL_RESOURCE_ATTRIBUTES, and OTEL_SERVICE_NAME or git-smithers.
func sender(env []string) resource {
	service := lookup(env, "OTEL_SERVICE_NAME")
	var out []attribute
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
			out = append(out, attribute{key, attributeValue{Text: &of}})
		}
	}
	if service == "" {
		service = "git-smithers"
	}
	return resource{append([]attribute{{"service.name", attributeValue{Text: &service}}}, out...)}
}
