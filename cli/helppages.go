package cli

import (
	"strings"

	"github.com/git-smithers/git-smithers/docs"
)

// helpPage is the page of docs that help shows under a name, for a terminal; "" if no page has that name.
func helpPage(name string) string {
	if name != "back" {
		return ""
	}
	return strings.TrimPrefix(docs.Back, "# ")
}
