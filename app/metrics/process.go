package metrics

import "github.com/git-smithers/git-smithers/timeline"

// OfProcess returns the metrics that a process counts: how long its appends took, and how often a database was busy.
func OfProcess(appends *timeline.Durations, retries int64) []Family {
	buckets, all, sum := appends.Read()
	took := Family{Name: "smithers_snapshot_duration_seconds", Help: "How long this supervisor took to store an entry.", Type: "histogram"}
	for _, b := range buckets {
		took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", format(b.Most.Seconds())}}, float64(b.Count)})
	}
	took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", "+Inf"}}, float64(all)}, Sample{"_sum", nil, sum.Seconds()}, Sample{"_count", nil, float64(all)})
	return []Family{took, {
		Name: "smithers_db_retries_total", Help: "How often this supervisor tried again because the index was busy.", Type: "counter",
		Samples: []Sample{{Value: float64(retries)}},
	}}
}
