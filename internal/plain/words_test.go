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
