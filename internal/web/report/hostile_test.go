package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	markdowntext "github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	content "github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/web/report"
)

// mark is in every hostile text, so that a test finds what became of the text.
const mark = "HOSTILE"

// hostileTexts are texts that try to leave the place where they stand.
func hostileTexts() []string {
	return []string{
		"<script>alert('" + mark + "')</script>", `"onload="alert(1)` + mark, `' onmouseover='` + mark, "javascript:alert(1)//" + mark,
		"]]>" + mark + "<![CDATA[", "<!--" + mark + "-->", "</style><script>" + mark, "</pre></details></main>" + mark, "</title></svg>" + mark,
		"<img src=x onerror=alert(1)>" + mark, "&lt;script&gt;" + mark + "&#x3c;b&#x3e;", "{{.}}" + mark + "{{template \"row\"}}", "${" + mark + "}",
		"\x1b[31m" + mark + "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07", "\u202e" + mark + "\u2066\u200b\u200d\ufeff\u00ad\u061c", "a\x00b\x07c\x08d\x7f\u0085" + mark,
		"\xff\xfe" + mark + "\xc3\x28", "\ufffe\ufdd0" + mark + "\U000e0041\ue000\u2028x\u2029y", mark + "\n# heading\n\n- item\n\n<div>", mark + "\r\n\r\nX: y",
		"`" + mark + "`", "``` \n" + mark + "\n```\n<script>", "~~~\n" + mark, "|" + mark + "|\\|a\\\\|b|\n|--|", "[" + mark + "](javascript:alert(1))", "![x](http://evil.example/" + mark + ".png)",
		"@everyone " + mark + " #1 org/repo#2 https://evil.example <https://evil.example>", "\\`" + mark + "\\", "*" + mark + "* _a_ ~~b~~", "=" + mark + "=cmd|' /C calc'!A0",
		"url(http://evil.example/" + mark + ")", "expression(" + mark + ")", strings.Repeat("`", 40) + mark, strings.Repeat("\u202e", 50) + mark, " " + mark + " ", "`", "``", "|", "\\",
	}
}

// fill sets every text in a value to the next hostile text, every other member to something, and gives every list two elements.
func fill(v reflect.Value, next func() string, states func() content.State, kinds func() content.LineKind) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next, states, kinds)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), next, states, kinds)
			}
		}
	case reflect.Slice:
		size := 2
		if v.Type() == reflect.TypeFor[[]content.Line]() {
			size = 60
		}
		v.Set(reflect.MakeSlice(v.Type(), size, size))
		for i := range size {
			fill(v.Index(i), next, states, kinds)
		}
	case reflect.String:
		switch v.Type() {
		case reflect.TypeFor[content.State]():
			v.SetString(string(states()))
		case reflect.TypeFor[content.LineKind]():
			v.SetString(string(kinds()))
		case reflect.TypeFor[content.PartKind]():
			v.SetString(string(content.CodePart))
		default:
			v.SetString(next())
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(v.Kind())
	}
}

// cycle returns a function that returns the elements of a list over and over, from the one at from.
func cycle[T any](list []T, from int) func() T {
	i := from - 1
	return func() T {
		i++
		return list[i%len(list)]
	}
}

// hostileReport returns a report in which every text is hostile. from says with which text it begins, so that every text comes to every
// place.
func hostileReport(runs, from int) *content.Report {
	r := &content.Report{MadeAtMs: 1}
	next := cycle(hostileTexts(), from)
	states := cycle([]content.State{
		content.Finished, content.Failed, content.Running, content.Stale, content.Waiting, content.Delayed, content.Pending, content.Skipped, content.Cancelled,
	}, from)
	kinds := cycle([]content.LineKind{
		content.TextLine, content.BadLine, content.FileLine, content.HunkLine, content.SameLine, content.AddedLine, content.RemovedLine, content.ChangedLine,
		content.HeadLine, content.PromptLine, content.AnswerLine, content.CallLine, content.OutputLine,
	}, from)
	for range runs {
		run := new(content.Run)
		fill(reflect.ValueOf(run).Elem(), next, states, kinds)
		for i := range run.Rows {
			run.Rows[i].Folded = 0
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

// elements are the elements of a page, with the attributes that each may have.
func elements() map[string]string {
	return map[string]string{
		"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "", "main": "", "footer": "", "section": "id",
		"h1": "", "h2": "class", "h3": "", "p": "class", "b": "", "i": "", "br": "", "a": "href", "code": "class", "pre": "class", "span": "class aria-hidden",
		"dl": "", "div": "class", "dt": "", "dd": "", "table": "class", "thead": "", "tbody": "", "tr": "", "th": "scope class", "td": "class colspan",
		"details": "open", "summary": "", "svg": "class aria-hidden role width height viewbox viewBox", "rect": "class x y width height rx", "line": "class x1 y1 x2 y2", "text": "class x y text-anchor",
		"defs": "", "pattern": "id width height patternunits patterntransform patternUnits patternTransform", "path": "class d", "ins": "", "del": "", "mark": "",
	}
}

// seen checks that a text has no characters that are not seen, but for tabs and line feeds.
func seen(t *testing.T, text string) {
	t.Helper()
	assert.True(t, utf8.ValidString(text))
	for _, r := range text {
		if r != '\t' && r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			assert.Fail(t, "a character that is not seen", "%U in %q", r, text)
			return
		}
	}
}

// checkPage checks that a page has our elements and attributes alone, and that what is stored is text.
func checkPage(t *testing.T, page []byte) {
	t.Helper()
	seen(t, string(page))
	root, err := html.Parse(bytes.NewReader(page))
	require.NoError(t, err)
	ours := elements()
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			allowed, ok := ours[n.Data]
			assert.True(t, ok, "<%s>", n.Data)
			for _, a := range n.Attr {
				assert.Contains(t, strings.Fields(allowed), a.Key, "<%s %s=%q>", n.Data, a.Key, a.Val)
				assert.NotContains(t, a.Val, mark)
				if a.Key == "href" {
					assert.Regexp(t, `^#run-\d+$`, a.Val)
				}
			}
		case html.TextNode:
			seen(t, n.Data)
			if n.Parent.Data == "style" {
				sum := sha256.Sum256([]byte(n.Data))
				assert.Contains(t, html.UnescapeString(string(page)), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the policy allows the style")
				assert.NotContains(t, n.Data, mark)
			}
		case html.CommentNode:
			assert.Fail(t, "a comment", n.Data)
		default:
		}
	}
}

func TestAPageShowsHostileTextsAsText(t *testing.T) {
	t.Parallel()
	for from := range hostileTexts() {
		for _, runs := range []int{1, 2} {
			page, err := report.HTML(hostileReport(runs, from))
			require.NoError(t, err)
			assert.LessOrEqual(t, len(page), report.MaxBytes)
			assert.Contains(t, string(page), mark)
			assert.Contains(t, string(page), "&lt;U+202E&gt;")
			checkPage(t, page)
		}
	}
}

func TestAnImageShowsHostileTextsAsText(t *testing.T) {
	t.Parallel()
	for from := range hostileTexts() {
		checkImage(t, report.SVG(hostileReport(2, from)))
	}
}

// checkImage checks that an image is well-formed, and that what is stored is text.
func checkImage(t *testing.T, image []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(image))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, string(image))
		switch token := token.(type) {
		case xml.StartElement:
			assert.Contains(t, []string{"svg", "title", "style", "rect", "text"}, token.Name.Local)
			for _, a := range token.Attr {
				assert.Contains(t, []string{"xmlns", "width", "height", "viewBox", "role", "aria-labelledby", "id", "class", "x", "y", "rx"}, a.Name.Local)
				assert.NotContains(t, a.Value, mark)
			}
		case xml.CharData:
			seen(t, string(token))
		case xml.Comment, xml.ProcInst, xml.Directive:
			assert.Fail(t, "not ours", "%v", token)
		}
	}
}

func TestACommentShowsHostileTextsAsCode(t *testing.T) {
	t.Parallel()
	for from := range hostileTexts() {
		assert.Equal(t, 2, checkComment(t, report.Markdown(hostileReport(2, from))))
	}
}

// checkComment checks that what is stored stands in code alone, and returns the number of tables.
func checkComment(t *testing.T, text []byte) (tables int) {
	t.Helper()
	seen(t, string(text))
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(markdowntext.NewReader(text))
	require.NoError(t, ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindCodeSpan, ast.KindFencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case ast.KindText:
			node, ok := n.(*ast.Text)
			require.True(t, ok)
			words := string(node.Segment.Value(text))
			for _, bad := range []string{mark, "<", "@", "#", "http", "`", "|"} {
				assert.NotContains(t, words, bad)
			}
		case ast.KindRawHTML, ast.KindHTMLBlock, ast.KindLink, ast.KindAutoLink, ast.KindImage, ast.KindCodeBlock, ast.KindList, ast.KindEmphasis:
			assert.Fail(t, "not ours", "%s in:\n%s", n.Kind(), text)
		default:
		}
		switch n.Kind().String() {
		case "Table":
			tables++
		case "TableRow", "TableHeader":
			assert.Equal(t, 6, n.ChildCount())
		}
		return ast.WalkContinue, nil
	}))
	return tables
}
