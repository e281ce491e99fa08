package metrics

import "github.com/git-smithers/git-smithers/timeline"

// OfProcess returns the metrics that the process of a store counts: how long its appends took, how often the index was busy, and how often the cache of
// rendered trees helped.
func OfProcess(store *timeline.Store, appends *timeline.Durations, retries int64) []Family {
	buckets, all, sum := appends.Read()
	took := Family{Name: "smithers_snapshot_duration_seconds", Help: "How long this supervisor took to store an entry.", Type: "histogram"}
	for _, b := range buckets {
		took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", format(b.Most.Seconds())}}, float64(b.Count)})
	}
	took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", "+Inf"}}, float64(all)}, Sample{"_sum", nil, sum.Seconds()}, Sample{"_count", nil, float64(all)})
	hits, misses := store.RenderedReads()
	count := func(name, help string, value int64) Family {
		return Family{Name: name, Help: help, Type: "counter", Samples: []Sample{{Value: float64(value)}}}
	}
	return []Family{
		took,
		count("smithers_db_retries_total", "How often this supervisor tried again because the index was busy.", retries),
		count("smithers_rendered_cache_hits_total", "Rendered trees that the cache of this supervisor had.", hits),
		count("smithers_rendered_cache_misses_total", "Rendered trees that this supervisor made from the blobs of frames.", misses),
	}
}
