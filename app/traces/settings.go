package traces

import (
	"net/url"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Wanted reports whether the environment names a collector, in the variables of OpenTelemetry.
func Wanted(env []string) bool {
	of := func(name string) string { return lookup(env, name) }
	return !strings.EqualFold(of("OTEL_SDK_DISABLED"), "true") && of("OTEL_TRACES_EXPORTER") != "none" &&
		(of("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "")
}

// lookup returns the value of a variable in an environment; "" if it has none.
func lookup(env []string, name string) string {
	value, _ := gitexec.LookupEnv(env, name)
	return value
}

// resourceAttributes returns what the environment says about the sender: OTEL_RESOURCE_ATTRIBUTES, and OTEL_SERVICE_NAME or git-smithers.
func resourceAttributes(env []string) []attribute {
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
			out = append(out, attribute{key, value{Text: &of}})
		}
	}
	if service == "" {
		service = "git-smithers"
	}
	return append([]attribute{{"service.name", value{Text: &service}}}, out...)
}
