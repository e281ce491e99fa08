package telemetry

import (
	"github.com/git-smithers/git-smithers/internal/snapshot/rendered"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
)

// ProcessMetrics returns the metrics that the process of a store counts: how long its appends took, how often the index was busy, and how often the cache of
// rendered trees helped.
func ProcessMetrics(store *timeline.Store, appends *timeline.Durations, retries int64) []Family {
	buckets, all, sum := appends.Read()
	took := Family{Name: "smithers_snapshot_duration_seconds", Help: "How long this supervisor took to store an entry.", Type: "histogram"}
	for _, b := range buckets {
		took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", format(b.Most.Seconds())}}, float64(b.Count)})
	}
	took.Samples = append(took.Samples, Sample{"_bucket", []Label{{"le", "+Inf"}}, float64(all)}, Sample{"_sum", nil, sum.Seconds()}, Sample{"_count", nil, float64(all)})
	counts := store.RenderedCounts()
	count := func(name, help string, value int64) Family {
		return Family{Name: name, Help: help, Type: "counter", Samples: []Sample{{Value: float64(value)}}}
	}
	byEncoding := func(name, help string, value func(rendered.Written) int64) Family {
		f := Family{Name: name, Help: help, Type: "counter"}
		for _, w := range counts.Written {
			f.Samples = append(f.Samples, Sample{Labels: []Label{{"encoding", w.Encoding}}, Value: float64(value(w))})
		}
		return f
	}
	return []Family{
		took,
		count("smithers_db_retries_total", "How often this supervisor tried again because the index was busy.", retries),
		count("smithers_rendered_cache_hits_total", "Rendered trees that the cache of this supervisor had.", counts.Hits),
		count("smithers_rendered_cache_misses_total", "Rendered trees that this supervisor made from the blobs of frames.", counts.Misses),
		byEncoding("smithers_rendered_trees_total", "Rendered trees that this supervisor stored by encoding.", func(w rendered.Written) int64 { return w.Blobs }),
		byEncoding("smithers_rendered_bytes_total", "Bytes of the rendered trees that this supervisor stored by encoding, before compression.", func(w rendered.Written) int64 { return w.Bytes }),
		byEncoding("smithers_rendered_distance_total", "Sum of the distances of these trees to a whole tree by encoding.", func(w rendered.Written) int64 { return w.Distance }),
	}
}

// FileMetrics returns the metrics of the files of a store.
func FileMetrics(sizes prune.FileSizes) Family {
	of := func(name string, size int64) Sample {
		return Sample{Labels: []Label{{"files", name}}, Value: float64(size)}
	}
	return Family{
		Name: "smithers_disk_bytes", Type: "gauge",
		Help:    "Size of files: packs of the repository, with those of the user's own commits, index databases, and other private files.",
		Samples: []Sample{of("packs", sizes.Packs), of("index", sizes.Index), of("private", sizes.Private)},
	}
}
