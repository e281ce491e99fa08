package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline"
)

func TestLettersThatLookLikeLatinOnesAreVisiblyLatin(t *testing.T) {
	t.Parallel()
	const upper = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
	const greek = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
	assert.Equal(t, "ABEKMHOPCTYXSIJ", timeline.Visible(upper))
	assert.Equal(t, "ABEZHIKMNOPTYX", timeline.Visible(greek), "the last ones of the table")
	for _, id := range []string{"\u0437\u0430\u0434\u0430\u0447\u0430-1", "\u03bb\u03cc\u03b3\u03bf\u03c2", "r\u00e9sum\u00e9", "triage"} {
		assert.Equal(t, id, timeline.Visible(id), "a word of its script is not taken for another one")
		assert.False(t, timeline.Mistakable(id))
	}
}
