package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAnAnswerIsTheOutput(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {name: {type: string}}
tasks:
  - {id: ask, output: name, human: {prompt: "What is {input.what} called?", form: {type: string, minLength: 2}}}
  - {id: after, needs: [ask], run: 'cat > after'}
`, `{"what":"it"}`)
	s.waits(snapshot.RunWaitingHuman)
	assert.Equal(t, []string{"ask waits for an answer", "run waits for an answer (ask)"}, s.subjects())
	got := s.request("ask::0")
	assert.Equal(t, snapshot.HumanAsk, got.Kind)
	assert.Equal(t, "What is it called?", got.Prompt)
	assert.JSONEq(t, `{"type":"string","minLength":2}`, string(got.Form))
	created := `{"runId":"r","nodeId":"ask","iteration":0,"attempt":1,"requestId":"human:r:ask:0","kind":"ask","prompt":"What is it called?"}`
	assert.Equal(t, []string{created}, s.payloads("HumanRequestCreated"))
	assert.Equal(t, []string{created}, s.payloads("NodeWaitingHuman"))

	_, err := s.answer("", `"x"`)
	assert.Equal(t, `answer: must have at least 2 characters, not 1`, fails(t, fault.InvalidInput, err))
	answered, err := s.answer("", ` "Tool" `)
	require.NoError(t, err)
	assert.Equal(t, `"Tool"`, string(answered.Response))
	assert.Equal(t, answered, s.request("ask::0"))
	assert.Equal(t, []string{`{"runId":"r","nodeId":"ask","iteration":0,"attempt":1,"requestId":"human:r:ask:0","kind":"ask","answeredBy":"ben"}`}, s.payloads("HumanRequestAnswered"))

	_, err = s.answer("ask", `"Other"`)
	assert.Contains(t, fails(t, fault.NotPending, err), "the request of ask::0 was answered by ben at ")
	_, err = handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Withdraw, Place: mailbox.Place{Node: "ask"}}, s.opts.Now())
	fails(t, fault.NotPending, err)

	s.finishes()
	assert.Equal(t, map[string]string{"ask::0": `"Tool"`}, s.outputs("name"))
	assert.Contains(t, s.subjects(), "ask answered by ben")
	assert.Contains(t, s.read("after"), `"name":"Tool"`)
}

func TestTheFormSaysWhatKindOfRequestItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ task, kind, good, bad, message string }{
		"no form":           {`human: How?`, "ask", `"so"`, `1`, "the answer must be a text"},
		"text":              {`human: {prompt: How?, form: {type: string}}`, "ask", `"so"`, `1`, `answer: type: 1 has type "integer", want "string"`},
		"yes or no":         {`human: {prompt: How?, form: {type: boolean}}`, "confirm", `true`, `"yes"`, `answer: type: yes has type "string", want "boolean"`},
		"a choice":          {`human: {prompt: How?, form: {enum: [a, b]}}`, "select", `"a"`, `"c"`, "answer: enum: c does not equal any of: [a b]"},
		"a choice of texts": {`human: {prompt: How?, form: {type: string, enum: [a, b]}}`, "select", `"b"`, `2`, `answer: type: 2 has type "integer", want "string"`},
		"a form":            {`human: {prompt: How?, form: {type: object, properties: {n: {type: integer}}}}`, "json", `{"n":1}`, `{"n":"1"}`, `answer.n: type: 1 has type "string", want "integer"`},
		"the table's":       {`output: o, human: How?`, "confirm", `false`, `0`, `answer: type: 0 has type "integer", want "boolean"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, outputs: {o: {type: boolean}}, tasks: [{id: ask, `+c.task+`}]}`, "")
			s.waits(snapshot.RunWaitingHuman)
			assert.Equal(t, c.kind, s.request("ask::0").Kind)
			entries := len(s.entries)
			_, err := s.answer("ask", c.bad)
			assert.Equal(t, c.message, fails(t, fault.InvalidInput, err))
			_, err = s.answer("ask", `{`)
			assert.Equal(t, "answer: not JSON: the text ends in the middle of a value", fails(t, fault.InvalidInput, err))
			assert.Len(t, s.entries, entries, "nothing was changed")
			_, err = s.answer("ask", c.good)
			require.NoError(t, err)
			s.finishes()
		})
	}
}

func TestACancelledRequestFailsItsAttempt(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: ask, human: {prompt: How?, timeout: 1h, on_timeout: skip}}]}`, "")
	s.waits(snapshot.RunWaitingHuman)
	got, err := handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Withdraw, By: "anna"}, s.opts.Now())
	require.NoError(t, err)
	assert.Equal(t, snapshot.HumanCancelled, got.Request.Status)
	assert.Equal(t, "anna", *got.Request.AnsweredBy)
	_, err = s.answer("ask", `"so"`)
	fails(t, fault.NotPending, err)
	_, err = s.run()
	assert.Equal(t, "run r failed: ask: the request was cancelled by anna", fails(t, fault.RunFailed, err))
	assert.Equal(t, "request_cancelled: the request was cancelled by anna", s.attempts()["ask::0::1"].Error)
	assert.Contains(t, s.payloads("HumanRequestCancelled")[0], `"cancelledBy":"anna"`)
}

func TestOnTimeoutSaysWhatNoAnswerMeans(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T, on string) (*scratch, error) {
		t.Helper()
		s := newScratch(t, `{name: w, outputs: {o: {}}, tasks: [{id: ask, output: o, human: {prompt: How?, timeout: 1h`+on+`}}]}`, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingHuman)
		clock.advance(time.Hour)
		_, err := s.run()
		assert.Equal(t, snapshot.HumanExpired, s.request("ask::0").Status)
		assert.Len(t, s.payloads("HumanRequestExpired"), 1)
		assert.Equal(t, "ask::0 expired", s.subjects()[2], "expiry is an entry of its own")
		return s, err
	}
	t.Run("fail", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, "")
		assert.Equal(t, "run r failed: ask: no answer within 1h0m0s", fails(t, fault.RunFailed, err))
		assert.Equal(t, "timeout: no answer within 1h0m0s", s.attempts()["ask::0::1"].Error)
	})
	t.Run("continue", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, ", on_timeout: continue")
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"ask::0": "null"}, s.outputs("o"))
	})
	t.Run("skip", func(t *testing.T) {
		t.Parallel()
		s, err := late(t, ", on_timeout: skip")
		require.NoError(t, err)
		assert.Equal(t, snapshot.NodeSkipped, s.states()["ask::0"])
	})
}

const patient = `{name: w, outputs: {o: {}}, tasks: [{id: ask, output: o, human: {prompt: How?, timeout: 1h, on_timeout: continue}}]}`

func TestOfAnAnswerAndTheExpiryExactlyOneCounts(t *testing.T) {
	t.Parallel()
	t.Run("the answer is first", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, patient, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingHuman)
		late := s.open(t) // knows nothing of the answer
		_, err := s.answer("ask", `"in time"`)
		require.NoError(t, err)
		clock.advance(2 * time.Hour)
		n, err := mailbox.Expire(t.Context(), late, s.opts.Now())
		require.NoError(t, err)
		assert.Zero(t, n)
		s.finishes()
		assert.Equal(t, map[string]string{"ask::0": `"in time"`}, s.outputs("o"))
		assert.Empty(t, s.payloads("HumanRequestExpired"))
	})
	t.Run("the expiry is first", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, patient, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingHuman)
		late := s.open(t)
		clock.advance(time.Hour)
		n, err := mailbox.Expire(t.Context(), s.open(t), s.opts.Now())
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		entries := len(s.entries)
		n, err = mailbox.Expire(t.Context(), late, s.opts.Now())
		require.NoError(t, err)
		assert.Zero(t, n)
		_, err = handIn(t.Context(), late, mailbox.Letter{Verb: mailbox.Answer, Value: []byte(`"late"`), Place: mailbox.Place{Node: "ask"}}, time.UnixMilli(1))
		fails(t, fault.NotPending, err)
		assert.Len(t, s.entries, entries)
		s.finishes()
		assert.Equal(t, map[string]string{"ask::0": "null"}, s.outputs("o"))
	})
	t.Run("nobody has applied the expiry yet", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, patient, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingHuman)
		clock.advance(time.Hour)
		_, err := s.answer("ask", `"late"`)
		assert.Contains(t, fails(t, fault.NotPending, err), "the request of ask::0 was expired at ")
		assert.Equal(t, snapshot.HumanPending, s.request("ask::0").Status)
	})
	t.Run("the answer comes just before the engine's expiry", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, patient, "")
		clock := s.withClock()
		s.waits(snapshot.RunWaitingHuman)
		before := s.opts.Now()
		clock.advance(2 * time.Hour)
		once := false
		s.refuse = func(d snapshot.Draft) error {
			if d.Subject != "ask::0 expired" || once {
				return nil
			}
			once = true
			s.mu.Unlock()
			defer s.mu.Lock()
			_, err := handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Answer, Value: []byte(`"just"`)}, before)
			require.NoError(t, err)
			return fault.New(fault.Conflict, "the tip has moved")
		}
		s.finishes()
		assert.True(t, once)
		assert.Equal(t, map[string]string{"ask::0": `"just"`}, s.outputs("o"))
		assert.Empty(t, s.payloads("HumanRequestExpired"))
	})
}

func TestAnEngineThatStaysExpiresRequestsItself(t *testing.T) {
	t.Parallel()
	s := newScratch(t, patient, "")
	clock := s.withClock()
	_, err := s.beside("ask waits", func() { clock.advance(time.Hour) })
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"ask::0": "null"}, s.outputs("o"))
}

func TestAPlaceNamesARequest(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: one, human: One?}
  - {id: two, human: Two?}
  - {id: work, run: 'true'}
  - {loop: l, until: iteration == 1, max: 2, tasks: [{id: inner, approval: {title: Go on?}}]}
`, "")
	s.waits(snapshot.RunWaitingApproval)
	_, err := s.answer("", `"x"`)
	assert.Equal(t, "several nodes of run r wait for an answer", fails(t, fault.Usage, err))
	assert.Equal(t, []string{"name one of these nodes: one::0, two::0"}, hints(err))
	_, err = s.answer("work", `"x"`)
	assert.Equal(t, "node work of run r does not wait for an answer", fails(t, fault.RequestNotFound, err))
	assert.Equal(t, []string{"name one of the nodes that wait: one::0, two::0"}, hints(err))
	_, err = handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Answer, Value: []byte(`"x"`), Place: mailbox.Place{Node: "one", Iteration: new(1)}}, s.opts.Now())
	assert.Equal(t, "node one of run r does not wait for an answer at iteration 1", fails(t, fault.RequestNotFound, err))
	_, err = s.answer("two::1", `"x"`)
	assert.Equal(t, "node two of run r does not wait for an answer at iteration 1", fails(t, fault.RequestNotFound, err))
	_, err = s.answer("two::0", `"x"`)
	require.NoError(t, err)
	_, err = s.answer("", `"x"`)
	require.NoError(t, err, "now there is one")
	_, err = s.answer("", `"x"`)
	assert.Equal(t, "no node of run r waits for an answer", fails(t, fault.RequestNotFound, err))

	s.decide("inner", true, "", "")
	s.waits(snapshot.RunWaitingApproval)
	_, err = handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Deny, Place: mailbox.Place{Node: "inner", Iteration: new(0)}}, s.opts.Now())
	assert.Contains(t, fails(t, fault.NotPending, err), "the approval of inner::0 was approved at ")
	s.decide("inner", true, "", "")
	assert.Equal(t, snapshot.ApprovalApproved, s.approval("inner::1").Status, "the newest")
	_, err = handIn(t.Context(), s.open(t), mailbox.Letter{Verb: mailbox.Deny, Place: mailbox.Place{Node: "inner"}, Note: "\xff"}, s.opts.Now())
	assert.Equal(t, "the note is not valid UTF-8", fails(t, fault.InvalidInput, err))
}

func TestAnEngineThatLostItsRunExpiresNothing(t *testing.T) {
	t.Parallel()
	s := newScratch(t, patient, "")
	clock := s.withClock()
	s.waits(snapshot.RunWaitingHuman)
	clock.advance(time.Hour)
	once := false
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject != "ask::0 expired" || once {
			return nil
		}
		once = true
		s.mu.Unlock()
		defer s.mu.Lock()
		s.own("0123456789abcdef")
		return fault.New(fault.Conflict, "the tip has moved")
	}
	_, err := s.run()
	fails(t, fault.Conflict, err)
	assert.True(t, once)
	assert.Equal(t, "claimed", s.tip().Subject)
	assert.Equal(t, snapshot.HumanPending, s.request("ask::0").Status)
}
