package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestColumnsOfOneNameBecomeDifferentMembers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ columns, want []string }{
		"all different":      {[]string{"a", "b"}, []string{`"a"`, `"b"`}},
		"one name":           {[]string{"a", "a", "a"}, []string{`"a"`, `"a_2"`, `"a_3"`}},
		"a number in a name": {[]string{"a", "a", "a_2", "a_2"}, []string{`"a"`, `"a_3"`, `"a_2"`, `"a_2_2"`}},
		"quotes":             {[]string{`count("x")`}, []string{`"count(\"x\")"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			columns := make([]sqliteindex.Column, len(test.columns))
			for i, column := range test.columns {
				columns[i].Name = column
			}
			names, err := memberNames(columns)
			require.NoError(t, err)
			got := make([]string, len(names))
			for i, member := range names {
				got[i] = string(member)
			}
			assert.Equal(t, test.want, got)
		})
	}
}
