package telemetry

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE: each value counts from the beginning.
const cumulative = 2

type (
	otlpRequest struct {
		ResourceMetrics []otlpResource `json:"resourceMetrics"`
	}
	otlpResource struct {
		Resource     resource    `json:"resource"`
		ScopeMetrics []otlpScope `json:"scopeMetrics"`
	}
	otlpScope struct {
		Scope   scope        `json:"scope"`
		Metrics []otlpMetric `json:"metrics"`
	}
	// otlpMetric has one of Sum, Gauge and Histogram.
	otlpMetric struct {
		Name        string      `json:"name"`
		Description string      `json:"description"`
		Unit        string      `json:"unit,omitempty"`
		Sum         *otlpPoints `json:"sum,omitempty"`
		Gauge       *otlpPoints `json:"gauge,omitempty"`
		Histogram   *otlpPoints `json:"histogram,omitempty"`
	}
	otlpPoints struct {
		DataPoints  []otlpPoint `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality,omitempty"`
		Monotonic   bool        `json:"isMonotonic,omitempty"`
	}
	// otlpPoint has either Value, or the fields after it.
	otlpPoint struct {
		Attributes []attribute `json:"attributes,omitempty"`
		Time       string      `json:"timeUnixNano"`
		Value      *float64    `json:"asDouble,omitempty"`
		Count      string      `json:"count,omitempty"`
		Sum        *float64    `json:"sum,omitempty"`
		Counts     []string    `json:"bucketCounts,omitempty"`
		Bounds     []float64   `json:"explicitBounds,omitempty"`
	}
)

// EncodeMetrics returns an ExportMetricsServiceRequest in OTLP's JSON encoding, with the names of OpenTelemetry: points instead of underscores, and
// milliseconds instead of seconds. env says who sends.
func EncodeMetrics(families []Family, env []string, now time.Time) ([]byte, error) {
	at := nanos(now.UnixMilli())
	all := make([]otlpMetric, 0, len(families))
	for _, f := range families {
		all = append(all, ofFamily(f, at))
	}
	return json.Marshal(otlpRequest{[]otlpResource{{sender(env), []otlpScope{{self(), all}}}}})
}

// ofFamily returns a metric at a time.
func ofFamily(f Family, at string) otlpMetric {
	m := otlpMetric{Name: strings.ReplaceAll(strings.TrimSuffix(f.Name, "_total"), "_", "."), Description: f.Help}
	scale := 1.0
	if name, ok := strings.CutSuffix(m.Name, ".seconds"); ok {
		m.Name, m.Unit, scale = name+"_ms", "ms", 1000
	} else if strings.Contains(m.Name, "bytes") {
		m.Unit = "By"
	}
	if f.Type == "histogram" {
		m.Histogram = &otlpPoints{DataPoints: []otlpPoint{histogramPoint(f.Samples, scale, at)}, Temporality: cumulative}
		return m
	}
	points := &otlpPoints{DataPoints: []otlpPoint{}}
	for _, s := range f.Samples {
		p := otlpPoint{Time: at, Value: new(s.Value * scale)}
		for _, l := range s.Labels {
			p.Attributes = append(p.Attributes, textAttribute(l.Name, l.Value))
		}
		points.DataPoints = append(points.DataPoints, p)
	}
	if f.Type == "counter" {
		points.Temporality, points.Monotonic = cumulative, true
		m.Sum = points
	} else {
		m.Gauge = points
	}
	return m
}

// histogramPoint returns the samples of a histogram as a point. The buckets of samples add up; each bucket of a point counts its own values alone.
func histogramPoint(samples []Sample, scale float64, at string) otlpPoint {
	p := otlpPoint{Time: at}
	before := 0.0
	for _, s := range samples {
		switch s.Suffix {
		case "_bucket":
			p.Counts = append(p.Counts, whole(s.Value-before))
			before = s.Value
			if most, err := strconv.ParseFloat(s.Labels[0].Value, 64); err == nil && !math.IsInf(most, 0) {
				p.Bounds = append(p.Bounds, most*scale)
			}
		case "_sum":
			p.Sum = new(s.Value * scale)
		case "_count":
			p.Count = whole(s.Value)
		}
	}
	return p
}

// whole returns a whole number as a text.
func whole(value float64) string { return strconv.FormatFloat(value, 'f', 0, 64) }
