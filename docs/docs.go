// Package docs is the documentation that is installed with the program: the pages of this folder.
package docs

import "embed"

// Pages has the pages, by their file names.
//
//go:embed back.md bisect.md blame.md ci.md courses.md errors.md format.md glossary.md index.md jj.md keeping.md langgraph.md limitations.md recipes.md removing.md scripting.md search.md secrets.md serve.md sessions.md sharing.md smithers.md sweep.md tui.md workflow-reference.md workflow.md
var Pages embed.FS
