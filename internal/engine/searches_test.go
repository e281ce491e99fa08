package engine_test

import (
	"bytes"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/vault"
)

// searchCounter counts the searches of texts with a word that the engine asks for beside those of an append.
type searchCounter struct {
	*vault.Book
	word     string
	searches atomic.Int64
}

func (c *searchCounter) Mask(text []byte) ([]byte, error) {
	if bytes.Contains(text, []byte(c.word)) {
		c.searches.Add(1)
	}
	return c.Book.Mask(text)
}

// The append that stores an output searches it. The engine searches it no second time, whether or not the cache keeps the result.
func TestAnOutputIsSearchedForSecretsOnce(t *testing.T) {
	t.Parallel()
	w := newCachedWorld(t, repotest.New(t))
	counter := filepath.Join(t.TempDir(), "ran")
	run := func(id, output string) {
		t.Helper()
		wf, err := workflow.Parse("w.yaml", []byte(`{name: w, outputs: {sum: {type: object}}, tasks: [{id: a, output: sum, cache: true,
			run: 'printf x >>`+counter+`; echo "`+output+`" | tr % \"'}]}`))
		require.NoError(t, err)
		head := create(t, w.store, id, wf, nil)
		searches := &searchCounter{Book: w.store.Secrets(head.Row()), word: "the-output"}
		w.opts.Secrets = searches
		_, err = engine.RunParsed(t.Context(), head, wf, w.opts)
		require.NoError(t, err)
		assert.Zero(t, searches.searches.Load(), "searches beside that of the append")
	}
	open := `{%the-output%: 1}`
	run("one", open)
	run("two", open)
	assert.Equal(t, 1, ran(t, counter), "the cache has the result")

	secret := `{%the-output%: %npm_` + `aZ3kQ9mX7pL2vB8nR4tY6wE1sD5fG0hJcVbN%}`
	run("three", secret)
	run("four", secret)
	assert.Equal(t, 3, ran(t, counter), "the cache keeps no result with a secret")
	assert.Empty(t, w.warned)
}
