package lazyregexp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

func TestAPatternIsCompiledAtItsFirstUse(t *testing.T) {
	t.Parallel()
	number, broken := lazyregexp.New(`(\d)\d*`), lazyregexp.New(`(`)
	assert.Equal(t, `(\d)\d*`, number.String())
	assert.True(t, number.MatchString("a 12"))
	assert.True(t, number.Match([]byte("12")))
	assert.Equal(t, "12", number.FindString("a 12 3"))
	assert.Equal(t, []string{"12", "3"}, number.FindAllString("a 12 3", -1))
	assert.Equal(t, [][]byte{[]byte("12"), []byte("1")}, number.FindSubmatch([]byte("a 12")))
	assert.Equal(t, []string{"12", "1"}, number.FindStringSubmatch("a 12"))
	assert.Equal(t, [][]string{{"12", "1"}, {"3", "3"}}, number.FindAllStringSubmatch("12 3", -1))
	assert.Equal(t, "a N", number.ReplaceAllString("a 12", "N"))
	assert.Equal(t, "a [12]", number.ReplaceAllStringFunc("a 12", func(s string) string { return "[" + s + "]" }))
	assert.Panics(t, func() { broken.MatchString("") })
}
