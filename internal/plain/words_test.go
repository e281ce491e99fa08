package plain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/plain"
)

func TestWords(t *testing.T) {
	assert.Equal(t, "Fix the parser. It crashes.", plain.Words("Fix the parser.\r\n\n\tIt crashes.\n"))
	assert.Empty(t, plain.Words(" \n"))
}

func TestNumbersAreAlike(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 10_412: "10 412", 1_234_567: "1 234 567", -1234: "-1 234", -123: "-123"} {
		assert.Equal(t, want, plain.Number(n))
	}
	assert.Equal(t, "1 run", plain.Count(1, "run"))
	assert.Equal(t, "12 000 runs", plain.Count(12_000, "run"))
	assert.Equal(t, "$1.92", plain.Cost(1.919))
	assert.Equal(t, "$0.075", plain.Cost(0.0751))
}
