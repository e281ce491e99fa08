package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A treeElement is an element of a rendered tree, or a text.
type treeElement struct {
	Tag      string            `json:"tag"`
	Props    map[string]string `json:"props"`
	Children []treeElement     `json:"children"`
	Text     string            `json:"text"`
}

// showTree prints the rendered tree of the loaded entry at: an element a line, with the newest state of its task.
func showTree(ctx context.Context, s *session.Session, store *timeline.Store, at *timeline.LoadedEntry) error {
	text, err := store.Rendered(at.Entry)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(term.Document("tree", term.Member("runId", at.Address.Run), term.Member("frame", at.Address.Frame), term.Member("tree", text)))
	}
	state, err := at.Entry.State()
	if err != nil {
		return err
	}
	nodes := make(map[string]snapshot.Node) // by id: the newest iteration
	for n, err := range state.AllNodes() {
		if err != nil {
			return err
		}
		if known, ok := nodes[n.NodeID]; !ok || known.Iteration < n.Iteration {
			nodes[n.NodeID] = n
		}
	}
	var root *treeElement
	if err := json.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("the rendered tree of %s: %w", at.Address, err)
	}
	if root == nil {
		s.Note("frame %s has no rendered tree", plain.Text(at.Address.String()))
		return nil
	}
	view := treeView{p: display.NewPainter(ctx, s), g: display.GlyphsOf(s.Terminal), nodes: nodes}
	return s.Paged(ctx, func() error {
		view.element(root, "", "")
		return s.Printf("%s", view.String())
	})
}

// A treeView writes a rendered tree for people.
type treeView struct {
	strings.Builder

	p     display.Painter
	g     display.Glyphs
	nodes map[string]snapshot.Node
}

// element writes an element and all below it. begin stands before the element, and indent before the lines below it.
func (v *treeView) element(e *treeElement, begin, indent string) {
	if e.Tag == "" {
		if text := plain.OneLine(strings.TrimSpace(e.Text)); text != "" {
			v.WriteString(begin + plain.Shorten(plain.Text(text), display.ValueShown) + "\n")
		}
		return
	}
	word := strings.TrimPrefix(e.Tag, "smithers:")
	if word == "ralph" { // Smithers' word
		word = "loop"
	}
	v.WriteString(begin + v.p.Paint(term.Bold, plain.Text(word)))
	id := e.Props["id"]
	if id != "" {
		v.WriteString(" " + plain.Text(id))
	}
	if n, ok := v.nodes[id]; ok && id != "" {
		sign, word, style := v.g.Node(n.State)
		if n.RalphID != nil || n.Iteration > 0 {
			word += fmt.Sprintf(", iteration %d", n.Iteration)
		}
		v.WriteString("  " + v.p.Paint(style, sign+" "+word))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Props)) {
		if name != "id" {
			v.WriteString("  " + v.p.Paint(term.Dim, plain.Text(name)+"="+plain.Shorten(plain.Text(e.Props[name]), display.ValueShown)))
		}
	}
	v.WriteByte('\n')
	for i := range e.Children {
		branch, below := v.g.Branch+" ", v.g.Bar+" "
		if i == len(e.Children)-1 {
			branch, below = v.g.End+" ", "  "
		}
		v.element(&e.Children[i], indent+branch, indent+below)
	}
}
