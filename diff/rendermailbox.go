package diff

import (
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// renderMailbox adds to p the sections about approvals, human requests, waits and signals. It adds no section that
// would be empty.
func (r *Result) renderMailbox(p *printer) {
	renderMail(p, "Approvals", r.ApprovalsAdded, r.ApprovalsRemoved, describeApproval)
	p.heading("Approvals changed:", len(r.ApprovalsChanged))
	for _, c := range r.ApprovalsChanged {
		p.mail(c.Key, approvalDifferences(c.From, c.To))
	}
	renderMail(p, "Human requests", r.HumanRequestsAdded, r.HumanRequestsRemoved, describeRequest)
	p.heading("Human requests changed:", len(r.HumanRequestsChanged))
	for _, c := range r.HumanRequestsChanged {
		p.mail(c.Key, requestDifferences(c.From, c.To))
		if string(c.From.Response) != string(c.To.Response) {
			p.change(c.From.Response, c.To.Response)
		}
	}
	renderMail(p, "Waits", r.WaitsAdded, r.WaitsRemoved, describeWait)
	p.heading("Waits changed:", len(r.WaitsChanged))
	for _, c := range r.WaitsChanged {
		p.mail(c.Key, waitDifferences(c.From, c.To))
	}
	p.signals("Signals added:", added, r.SignalsAdded)
	p.signals("Signals removed:", removed, r.SignalsRemoved)
}

// renderMail adds a section for the rows in plus, which were added, and a section for the rows in minus, which were
// removed. Each row is one line. The headings begin with the text what. describe returns the printable text of a row.
func renderMail[T any](p *printer, what string, plus, minus []Mail[T], describe func(T) string) {
	p.heading(what+" added:", len(plus))
	for _, m := range plus {
		p.row(added, m.Key, describe(m.Row))
	}
	p.heading(what+" removed:", len(minus))
	for _, m := range minus {
		p.row(removed, m.Key, describe(m.Row))
	}
}

// mail adds the line of a changed row: the row's key, and the differences with commas between them. Each difference
// must be a printable phrase.
func (p *printer) mail(key string, differences []string) {
	p.row(changed, key, strings.Join(differences, ", "))
}

// row adds a line with the mark m, the key of a row and a text about the row. text must be printable. Unless
// RenderOptions.Full is set, row shortens text.
func (p *printer) row(m mark, key, text string) {
	if !p.options.Full {
		text = shorten(text, 0)
	}
	p.line(m, "  "+string(m)+" "+printable(key)+": "+text)
}

// signals adds a section with a line for each signal: its number, its name, its correlation id if it has one, and its
// payload. Each line has the mark m. If there are no signals, signals adds nothing.
func (p *printer) signals(heading string, m mark, signals []Signal) {
	p.heading(heading, len(signals))
	for _, s := range signals {
		name := strconv.FormatInt(s.Seq, 10) + " " + printable(s.Name)
		if s.CorrelationID != nil {
			name += " (" + printable(*s.CorrelationID) + ")"
		}
		p.value(m, name, s.Payload)
	}
}

// describeApproval returns the status and the quoted title of an approval, as printable text.
func describeApproval(a snapshot.Approval) string {
	return a.Status + " " + printable(strconv.Quote(a.Title))
}

// describeRequest returns the status and the quoted prompt of a human request, as printable text.
func describeRequest(h snapshot.HumanRequest) string {
	return h.Status + " " + printable(strconv.Quote(h.Prompt))
}

// describeWait returns the status and the signal or timer of a wait, as printable text.
func describeWait(w snapshot.Wait) string { return w.Status + ", " + printable(waitedFor(w)) }

// differences lists the differences between two rows as phrases.
type differences []string

// note adds a phrase to d if the values before and after differ. The phrase consists of the text what and both
// values. An empty value appears as "none".
func (d *differences) note(what, before, after string) {
	if before != after {
		*d = append(*d, what+printable(orNone(before))+" -> "+printable(orNone(after)))
	}
}

// set adds a phrase to d if the optional value after is set and differs from before. The phrase consists of the text
// what and the quoted value after. If after is nil, set adds nothing.
func (d *differences) set(what string, before, after *string) {
	if after != nil && (before == nil || *before != *after) {
		*d = append(*d, what+printable(strconv.Quote(*after)))
	}
}

// words returns the phrases of d. If d is empty, it returns a general phrase, because the rows differ in another
// field.
func (d differences) words() []string {
	if len(d) == 0 {
		return []string{"other details differ"}
	}
	return d
}

// approvalDifferences compares the old row, from, and the new row, to, of an approval. It returns a phrase for each
// difference that users see. The decider and the note have phrases only if the new row has them.
func approvalDifferences(from, to snapshot.Approval) []string {
	var d differences
	d.note("", from.Status, to.Status)
	d.note("attempt ", strconv.Itoa(from.Attempt), strconv.Itoa(to.Attempt))
	d.note("title ", strconv.Quote(from.Title), strconv.Quote(to.Title))
	d.set("by ", from.DecidedBy, to.DecidedBy)
	d.set("note ", from.Note, to.Note)
	return d.words()
}

// requestDifferences compares the old row, from, and the new row, to, of a human request. It returns a phrase for
// each difference that users see. The person who answered has a phrase only if the new row names one. The response
// has no phrase, because renderMailbox adds lines for it.
func requestDifferences(from, to snapshot.HumanRequest) []string {
	var d differences
	d.note("", from.Status, to.Status)
	d.note("attempt ", strconv.Itoa(from.Attempt), strconv.Itoa(to.Attempt))
	d.note("prompt ", strconv.Quote(from.Prompt), strconv.Quote(to.Prompt))
	d.set("by ", from.AnsweredBy, to.AnsweredBy)
	return d.words()
}

// waitDifferences compares the old row, from, and the new row, to, of a wait. It returns a phrase for each difference
// that users see. The signal's number has a phrase only if the new row has a number.
func waitDifferences(from, to snapshot.Wait) []string {
	var d differences
	d.note("", from.Status, to.Status)
	d.note("attempt ", strconv.Itoa(from.Attempt), strconv.Itoa(to.Attempt))
	d.note("for ", waitedFor(from), waitedFor(to))
	if to.SignalSeq != nil && (from.SignalSeq == nil || *from.SignalSeq != *to.SignalSeq) {
		d = append(d, "signal "+strconv.FormatInt(*to.SignalSeq, 10))
	}
	return d.words()
}

// waitedFor returns what ends a wait, for people: "signal" and the signal's name, or the kind of any other wait.
func waitedFor(w snapshot.Wait) string {
	if w.Kind == snapshot.WaitSignal {
		return "signal " + w.Signal
	}
	return w.Kind
}
