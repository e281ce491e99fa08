package schema

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// plainReasons has sentences of the library, and the words in their place for the person who gave the value.
var plainReasons = []struct {
	form  *lazyregexp.Regexp
	words string // %[1]s is the first group of form
}{
	{lazyregexp.New(`^minimum: (\S+) is less than (\S+)$`), "must be at least %[2]s, not %[1]s"},
	{lazyregexp.New(`^maximum: (\S+) is greater than (\S+)$`), "must be at most %[2]s, not %[1]s"},
	{lazyregexp.New(`^exclusiveMinimum: (\S+) is less than or equal to (\S+)$`), "must be more than %[2]s, not %[1]s"},
	{lazyregexp.New(`^exclusiveMaximum: (\S+) is greater than or equal to (\S+)$`), "must be less than %[2]s, not %[1]s"},
	{lazyregexp.New(`^multipleOf: (\S+) is not a multiple of (\S+)$`), "must be a multiple of %[2]s, not %[1]s"},
	{lazyregexp.New(`(?s)^minLength: .* contains (\d+) Unicode code points, fewer than (\d+)$`), "must have at least %[2]s characters, not %[1]s"},
	{lazyregexp.New(`(?s)^maxLength: .* contains (\d+) Unicode code points, more than (\d+)$`), "must have at most %[2]s characters, not %[1]s"},
	{lazyregexp.New(`^minItems: array length (\d+) is less than (\d+)$`), "must have at least %[2]s items, not %[1]s"},
	{lazyregexp.New(`^maxItems: array length (\d+) is greater than (\d+)$`), "must have at most %[2]s items, not %[1]s"},
}

// plainly returns a reason of the library in plain words, if plainReasons has them.
func plainly(reason string) string {
	for _, r := range plainReasons {
		if groups := r.form.FindStringSubmatch(reason); groups != nil {
			return fmt.Sprintf(r.words, plainRatio(groups[1]), plainRatio(groups[2]))
		}
	}
	return reason
}

// plainRatio returns a number that the library wrote as 9/2 or 5.000000 as people write it.
func plainRatio(text string) string {
	number, ok := new(big.Rat).SetString(text)
	switch {
	case !ok:
		return text
	case number.IsInt():
		return number.Num().String()
	}
	f, _ := number.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
