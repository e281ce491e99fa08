package search

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// block is how many documents are chosen from the index at a time. Hits are in the order of time within a block.
const block = 4000

// Search yields the hits of a query in the state of the last Sync, newest first: if more than a few thousand documents may match, then in blocks of those that
// were indexed last. It ends with the first error. Code: usage if the query is invalid.
func (x *Index) Search(ctx context.Context, q Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		m, err := newMatcher(q)
		if err == nil {
			s := searcher{Index: x, matcher: m, query: q, seed: maphash.MakeSeed()}
			if err = s.run(ctx, func(h Hit) bool { return yield(h, nil) }); err != nil && s.hits == 0 {
				// A damaged index is made anew.
				if healed, _ := x.file.Heal(ctx, err); healed {
					if _, err = x.Sync(ctx, nil); err == nil {
						err = s.run(ctx, func(h Hit) bool { return yield(h, nil) })
					}
				}
			}
		}
		if err != nil {
			yield(Hit{}, timeline.Explain(err))
		}
	}
}

// searcher answers one query.
type searcher struct {
	*Index
	*matcher

	query Query
	seed  maphash.Seed
	hits  int // that were yielded
}

// candidate is a place of a document that may match.
type candidate struct {
	Doc         int64
	Kind        Kind
	Hash, Entry []byte
	Run         string
	Frame, At   int64
	Part, Key   string
}

// run yields the hits until yield returns false.
func (s *searcher) run(ctx context.Context, yield func(Hit) bool) error {
	for upto := int64(math.MaxInt64); upto > 0; {
		docs, next, err := s.docs(ctx, upto)
		if err != nil {
			return err
		}
		candidates, err := s.places(ctx, docs)
		if err != nil {
			return err
		}
		seen, older := make(map[int]*match), olderVersions(candidates)
		for i := range candidates {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			m, err := s.match(seen, candidates, i)
			if err != nil {
				return err
			}
			if delete(seen, i); m == nil {
				continue
			}
			var before *match // in which the lines were already
			for j := older[i]; j > 0 && before == nil; j = older[j] {
				if before, err = s.match(seen, candidates, j); err != nil {
					return err
				}
			}
			if before != nil && m.isIn(before) {
				before.Later += m.Later + 1
				continue
			}
			if s.hits++; !yield(m.Hit) || s.hits == s.query.Limit {
				return nil
			}
		}
		upto = next
	}
	return nil
}

// match is a hit with all its lines that match, as hashes; of a file alone.
type match struct {
	Hit

	lines map[uint64]bool
}

// isIn reports whether no line matches but those that match in another version of the file.
func (m *match) isIn(other *match) bool {
	for line := range m.lines {
		if !other.lines[line] {
			return false
		}
	}
	return true
}

// olderVersions returns, for each candidate that is a file, the place of the version before in the same run; 0 for none. The newest candidate comes first.
func olderVersions(candidates []candidate) []int {
	older, last := make([]int, len(candidates)), make(map[[3]string]int)
	for i, c := range slices.Backward(candidates) {
		if key := [3]string{c.Run, c.Part, c.Key}; c.Kind == Code {
			older[i], last[key] = last[key], i
		}
	}
	return older
}

// match returns the match of the candidate at a place, or nil if it has none. seen keeps it.
func (s *searcher) match(seen map[int]*match, candidates []candidate, place int) (*match, error) {
	if m, ok := seen[place]; ok {
		return m, nil
	}
	c := candidates[place]
	text, err := s.text(c)
	if err != nil && !isAbsent(err) { // a text that is gone meanwhile does not match
		return nil, err
	}
	seen[place] = nil
	if all := s.find(c.Kind, text); len(all) > 0 {
		m := &match{Hit: Hit{Kind: c.Kind, Run: c.Run, Frame: c.Frame, AtMs: c.At, Part: c.Part, Key: c.Key}}
		m.Lines, m.More = lines(text, all, s.query.Context)
		if c.Kind == Code {
			m.lines = matching(s.seed, text, all)
		}
		seen[place] = m
	}
	return seen[place], nil
}

// wants reports whether a document of a kind can be a hit.
func (s *searcher) wants(kind Kind) bool {
	return (len(s.query.Kinds) == 0 || slices.Contains(s.query.Kinds, kind)) && (kind == Code || s.prose)
}

// docs returns the documents below a number that may match, at most two blocks, and the number from which on it has looked.
func (s *searcher) docs(ctx context.Context, upto int64) (docs []int64, next int64, err error) {
	for _, from := range []struct {
		table   string
		phrases []string
		of      string // a condition
		want    bool
	}{
		{"code", s.grams, "kind = 6", s.wants(Code)},
		{"words", s.words, "kind < 6", slices.ContainsFunc([]Kind{Outputs, Logs, Prompts, Talk, Calls, Events}, s.wants)},
	} {
		if !from.want {
			continue
		}
		query, args := "SELECT id FROM docs WHERE "+from.of+" AND id < ? ORDER BY id DESC LIMIT ?", []any{upto, block}
		if len(from.phrases) > 0 {
			query = "SELECT rowid FROM " + from.table + " WHERE " + from.table + " MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
			args = []any{strings.Join(from.phrases, " AND "), upto, block}
		}
		list, err := sqliteindex.Rows[int64](ctx, s.file, query, args...)
		if err != nil {
			return nil, 0, err
		}
		if docs = append(docs, list...); len(list) == block {
			next = max(next, list[block-1])
		}
	}
	return slices.DeleteFunc(docs, func(doc int64) bool { return doc < next }), next, nil
}

// places returns the places of documents that the query is for, newest first.
func (s *searcher) places(ctx context.Context, docs []int64) (list []candidate, err error) {
	ids, err := json.Marshal(docs)
	if err != nil {
		return nil, err
	}
	list, err = sqliteindex.Rows[candidate](ctx, s.file, `SELECT d.id, d.kind, d.hash, p.entry, r.run, p.frame, p.at, p.part, p.key FROM json_each(?) AS j
		CROSS JOIN docs AS d ON d.id = j.value CROSS JOIN places AS p ON p.doc = d.id CROSS JOIN runs AS r ON r.id = p.run
		WHERE d.kind BETWEEN 0 AND 6 AND p.at >= ? AND ? IN ('', r.run)`, string(ids), s.query.SinceMs, s.query.Run)
	list = slices.DeleteFunc(list, func(c candidate) bool { return !s.wants(c.Kind) })
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Run, b.Run), cmp.Compare(b.Frame, a.Frame), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Doc, b.Doc))
	})
	return list, err
}

// text reads the text of a document from the repository.
func (s *searcher) text(c candidate) (string, error) {
	of := c.Entry
	if c.Kind == Code {
		of = c.Hash
	}
	id, err := objstore.IDFromBytes(of)
	if err != nil || c.Kind == Code { // what is no id is of no file
		return fileText(s.store.Objects(), id)
	}
	e, err := snapshot.ReadEntry(s.store.Objects(), id)
	if err != nil {
		return "", err
	}
	rows, state, err := rowsOf(e)
	if err != nil {
		return "", err
	}
	switch c.Part {
	case eventsPart:
		events, err := e.Events()
		return bounded(eventsText(events)), err
	case inputPart:
		input, err := state.Input()
		return bounded(flat(input)), err
	}
	run, err := e.RunRow()
	if err != nil || rows[c.Part] == nil {
		return "", err
	}
	value, _, err := rows[c.Part].Get(c.Key)
	if err != nil {
		return "", err
	}
	texts, err := textsOf(c.Part, page.Row{Key: c.Key, Value: value}, dialect.For(run.Workflow))
	return bounded(texts[c.Kind]), err
}
