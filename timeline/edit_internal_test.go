package timeline

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPathInAHintCanBePastedIntoAShell(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plan":       `outputs.plan`,
		"test.1.25":  `'outputs["test.1.25"]'`,
		"$(touch x)": `'outputs.$(touch x)'`,
		"it's":       `'outputs.it'\''s'`,
		"":           `'outputs[""]'`,
	} {
		assert.Equal(t, want, wordOf("outputs", name))
	}
}
