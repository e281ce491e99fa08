/** @jsxImportSource smithers-orchestrator */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Approval, Loop, Parallel, Sequence, WaitForEvent, approvalDecisionSchema, createSmithers } from "smithers-orchestrator";
import { z } from "zod";

// A newsletter: what tests of a whole run need, without a model or a network. Its first
// task waits for the file go, one fails at first, and a person and a signal decide.
const news = z.object({ from: z.string(), readers: z.number() });
const { Workflow, Task, smithers, outputs } = createSmithers({
  input: z.object({ topic: z.string(), drafts: z.number().default(2), urgent: z.boolean().optional() }),
  outline: z.object({ title: z.string(), parts: z.array(z.string()), bold: z.boolean(), weight: z.number() }),
  fetched: z.object({ tries: z.number() }),
  pictures: z.object({ name: z.string() }),
  draft: z.object({ round: z.number(), text: z.string() }),
  opinion: z.object({ good: z.boolean(), remark: z.string().nullable() }),
  chiefDecision: approvalDecisionSchema,
  sentOut: news,
  archive: z.object({ line: z.string() }),
});

export default smithers((ctx) => {
  const round = () => Number(ctx.iterations?.polish ?? ctx.iteration);
  return (
    <Workflow name="newsletter">
      <Sequence>
        <Task id="outline" label="Outline" output={outputs.outline}>
          {async () => {
            appendFileSync("outline.md", `${ctx.input.topic}\n`);
            while (!existsSync("go")) await setTimeout(20);
            return { title: `On ${ctx.input.topic}: “naïve” ✓`, parts: ["one", "two"], bold: true, weight: 0.5 };
          }}
        </Task>
        <Task id="fetch" output={outputs.fetched} retries={2} retryPolicy={{ backoff: "fixed", initialDelayMs: 20 }}>
          {() => {
            const marker = `fetched-${ctx.runId}`;
            if (existsSync(marker)) return { tries: 2 };
            writeFileSync(marker, "");
            throw new Error("the first try fails");
          }}
        </Task>
        <Parallel id="gather" maxConcurrency={2}>
          <Task id="left" output={outputs.pictures}>{{ name: "left" }}</Task>
          <Task id="right" output={outputs.pictures}>{() => ({ name: "right" })}</Task>
        </Parallel>
        <Loop id="polish" until={ctx.latest("opinion", "judge")?.good === true} maxIterations={5}>
          <Sequence>
            <Task id="write" output={outputs.draft}>
              {() => {
                writeFileSync("draft.md", `draft ${round()}\n`);
                return { round: round(), text: "words ".repeat(20) };
              }}
            </Task>
            <Task id="judge" output={outputs.opinion}>
              {() => ({ good: round() + 1 >= (ctx.input.drafts ?? 2), remark: round() === 0 ? null : "better" })}
            </Task>
          </Sequence>
        </Loop>
        <Approval id="chief" output={outputs.chiefDecision} request={{ title: "Send it?", summary: "to everybody" }} onDeny="continue" />
        <WaitForEvent id="sent" event="sent" output={outputs.sentOut} outputSchema={news} />
        <Task id="archive" output={outputs.archive} deps={{ outline: outputs.outline }}>
          {(deps: any) => ({ line: `archived: ${deps.outline.title}` })}
        </Task>
      </Sequence>
    </Workflow>
  );
});
