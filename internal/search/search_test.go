package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// find returns the places of the hits of some texts, newest first.
func (w *world) find(x *search.Index, texts ...string) (places []string) {
	w.t.Helper()
	for _, h := range hits(w.t, x, search.Query{Texts: texts}) {
		places = append(places, fmt.Sprintf("%s %s:%d", h.Kind, h.Run, h.Frame))
	}
	return places
}

func TestAFileThatRunsBeginWithIsFoundOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.create(fmt.Sprintf("run-%d", i), change{name: "f", file: "shared text"})
	}
	w.append("run-2", change{name: "f", file: "other text"})
	w.append("run-2", change{name: "f", file: "shared text"})
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	assert.Equal(t, []string{"code run-2:2", "code run-0:0"}, w.find(x, "shared"))
	assert.Equal(t, []string{"code run-2:1"}, w.find(x, "OTHER t"))
}

func TestALineOfAFileIsFoundAtTheFrameThatBroughtIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", file: "other"})
	for _, file := range []string{"needle 1\n", "needle 1\nmore\n", "needle 1\nneedle 2\n", "needle 2\n", "other words"} {
		w.append("a", change{name: "f", file: file})
	}
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	found := hits(t, x, search.Query{Texts: []string{"needle"}})
	require.Len(t, found, 2)
	assert.Equal(t, []int64{3, 1}, []int64{found[0].Frame, found[1].Frame})
	assert.Equal(t, []int{1, 1}, []int{found[0].Later, found[1].Later})
	assert.Len(t, hits(t, x, search.Query{Regex: "needle 2", Limit: 1}), 1)
}

func TestATextIsFoundAtTheFirstFrameOfEachRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "one", output: "same words"})
	w.append("a", change{name: "two", output: "same words", log: "same words"})
	w.create("b", change{name: "one", output: "same words"})
	w.fork("a", "c", 1)
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	assert.Equal(t, []string{"outputs b:0", "logs a:1", "outputs a:0"}, w.find(x, "same words"))
	assert.Len(t, hits(t, x, search.Query{Texts: []string{"words"}, Limit: 2}), 2)
	assert.Len(t, hits(t, x, search.Query{Texts: []string{"words"}, Run: "b"}), 1)
	assert.Len(t, hits(t, x, search.Query{Texts: []string{"words"}, Kinds: []search.Kind{search.Logs, search.Code}}), 1)
}

// Texts in scripts without spaces have no words to look up: each letter is one.
func TestScriptsWithoutSpacesAreSearchedByLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", log: "接続が拒否されました\nการเชื่อมต่อถูกปฏิเสธ", file: "接続が拒否されました"})
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	for _, text := range []string{"接続", "拒否さ", "ถูกปฏิเสธ"} {
		assert.Contains(t, w.find(x, text), "logs a:0", text)
	}
	assert.Equal(t, []string{"code a:0", "logs a:0"}, sorted(w.find(x, "拒否され")))
	assert.Empty(t, w.find(x, "拒続"))
}

func TestWhatAPersonTypesIsNoQueryLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", log: "to be or not to be", file: `x AND "y" OR col:z* ^caret NEAR(a b)`})
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	for _, text := range []string{`b*`, `be" OR "x`, `text:be`, `NOT missing`, `NEAR(to be)`, `{a}`, `'`, `"`, `^to missing`, "\x00", "\xff"} {
		for _, h := range hits(t, x, search.Query{Texts: []string{text}}) {
			assert.Equal(t, search.Code, h.Kind, text) // only where it stands so
		}
	}
	assert.Empty(t, hits(t, x, search.Query{Regex: `ab\x00cd`}), "a zero byte ends no statement")
	for _, text := range []string{`"y" OR col:z*`, `^caret NEAR(a b)`, `:z*`} {
		assert.Equal(t, []string{"code a:0"}, w.find(x, text))
	}
}

// hostile are texts that would harm a terminal, an index or the time of a person.
func hostile() map[string]string {
	return map[string]string{
		"escapes":     "before \x1b]0;title\x07\x1b[31mneedle\x1b[0m \u202e after\r\n",
		"zeros":       "before\x00needle\x00after",
		"no UTF-8":    "\xff\xfe needle \xc3(",
		"a long line": strings.Repeat("x ", 1<<18) + "needle" + strings.Repeat(" é", 1<<17),
		"many":        strings.Repeat("needle needle\n", 20_000),
		"no blanks":   strings.Repeat("x", 1<<19) + " needle",
		"only marks":  strings.Repeat("\u0301", 1<<17) + " needle",
	}
}

func TestHostileTextsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, text := range hostile() {
		id := strings.ReplaceAll(name, " ", "-")
		w.create(strings.ToLower(id), change{name: "f", log: text, file: text[max(0, len(text)-(1<<18)):]})
	}
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	for _, q := range []search.Query{{Texts: []string{"needle"}, Context: 3}, {Regex: "n(ee)+dle", Context: 3}, {Regex: `(x+x+)+y|n[e]+dle`}, {Texts: []string{"needle"}, Kinds: []search.Kind{search.Code}}} {
		seen := make(map[string]bool)
		for _, h := range hits(t, x, q) {
			seen[h.Run] = true
			assert.LessOrEqual(t, len(h.Lines), 40)
			for _, line := range h.Lines {
				assert.LessOrEqual(t, len(line.Text), 300)
				at := 0
				for _, m := range line.Marks {
					assert.True(t, at <= m[0] && m[0] < m[1] && m[1] <= len(line.Text), "%+v", line)
					at = m[1]
				}
				if len(line.Marks) > 0 && len(q.Texts) > 0 && q.Texts[0] == "needle" {
					assert.Equal(t, "needle", line.Text[line.Marks[0][0]:line.Marks[0][1]])
				}
			}
		}
		if len(q.Kinds) == 0 { // one of the files is binary
			assert.Len(t, seen, len(hostile()), "%+v", q)
		}
	}
	for _, q := range []search.Query{
		{},
		{Texts: []string{""}},
		{Texts: []string{strings.Repeat("x", 5000)}},
		{Regex: "(?:x{1000}){1000}"},
		{Regex: "(?<=x)y"},
		{Regex: strings.Repeat("(", 1500)},
	} {
		assert.Equal(t, fault.Usage, fault.CodeOf(q.Check()), "%.40v", q)
	}
}

func TestARunThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("good", change{name: "a", log: "findable"})
	w.create("bad", change{name: "a", log: "findable"})
	tip := w.Git("rev-parse", "refs/smithers/_tip/good")
	w.Git("update-ref", "refs/smithers/_tip/bad", tip) // another run's entry
	x, err := search.Open(t.Context(), w.store)
	require.NoError(t, err)
	defer x.Close() //nolint:errcheck // the test reads only
	problems, err := x.Sync(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	assert.ErrorContains(t, problems[0], "bad")
	assert.Equal(t, []string{"logs good:0"}, w.find(x, "findable"))
	w.Git("update-ref", "-d", "refs/smithers/_tip/bad")
	for ref := range strings.FieldsSeq(w.Git("for-each-ref", "--format=%(refname)", "refs/smithers/bad")) {
		w.Git("update-ref", "-d", ref)
	}
}

// What was indexed stays if the person who searches gives up, and the next search goes on from there.
func TestAnInterruptedIndexGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", log: "word 0"})
	for i := range 20 {
		w.append("a", change{name: "f", log: fmt.Sprintf("word %d", i+1)})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	x, err := search.Open(t.Context(), w.store)
	require.NoError(t, err)
	_, err = x.Sync(ctx, func(done, _ int) {
		if done == 10 {
			cancel(stopped)
		}
	})
	require.ErrorIs(t, err, stopped)
	assert.Len(t, w.find(x, "word"), 10)
	read := 0
	_, err = x.Sync(t.Context(), func(int, int) { read++ })
	require.NoError(t, err)
	assert.Equal(t, 11, read)
	assert.Len(t, w.find(x, "word"), 21)
	require.NoError(t, x.Close())
}

// Runs go on while two others search: each search finds every frame that was there when it began, and nothing twice.
func TestSearchesBesideWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", log: "word 0"})
	const frames = 30
	written := make(chan int, frames+1)
	written <- 0
	var all sync.WaitGroup
	all.Go(func() {
		defer close(written)
		for i := 1; i <= frames; i++ {
			w.append("a", change{name: "f", log: fmt.Sprintf("word %d", i), output: fmt.Sprintf("out %d", i)})
			written <- i
		}
	})
	for range 2 {
		all.Go(func() {
			store, err := timeline.Open(context.Background(), timeline.Options{Dir: w.Dir, Env: w.Env, Now: w.store.Now})
			if !assert.NoError(t, err) {
				return
			}
			defer store.Close() //nolint:errcheck // it only reads
			for least := range written {
				x, err := search.Open(context.Background(), store)
				if !assert.NoError(t, err) {
					return
				}
				problems, err := x.Sync(context.Background(), nil)
				assert.NoError(t, err)
				assert.Empty(t, problems)
				found := make(map[int64]bool)
				for hit, err := range x.Search(context.Background(), search.Query{Texts: []string{"word"}}) {
					assert.NoError(t, err)
					assert.False(t, found[hit.Frame])
					found[hit.Frame] = true
				}
				assert.Greater(t, len(found), least)
				assert.NoError(t, x.Close())
			}
		})
	}
	all.Wait()
}

func TestTheIndexIsNotMuchLargerThanItsTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := rand.New(rand.NewPCG(1, 2))
	l := &library{r: r, zipf: rand.NewZipf(r, 1.15, 4, 200_000)}
	w.create("a", change{name: "f", log: "word"})
	for i := range 60 {
		c := change{name: fmt.Sprintf("t%d", i), log: l.text(30_000)}
		if i%3 == 0 {
			c.file = l.text(20_000)
		}
		w.append("a", c)
	}
	require.NoError(t, w.open().Close())
	info, err := os.Stat(filepath.Join(w.store.Private(), search.FileName))
	require.NoError(t, err)
	assert.LessOrEqual(t, float64(info.Size()), 1.3*float64(l.made))
}

func TestTheIndexIsTheUsersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", change{name: "f", log: "word"})
	x := w.open()
	defer x.Close() //nolint:errcheck // the test reads only
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(filepath.Join(w.store.Private(), search.FileName+suffix))
		if err == nil {
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
		}
	}
}
