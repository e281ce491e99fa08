/** @jsxImportSource smithers-orchestrator */
import { setTimeout } from "node:timers/promises";
import { getTaskRuntime } from "@smithers-orchestrator/driver/task-runtime";
import {
  Approval, Branch, HumanTask, Loop, MergeQueue, Parallel, Saga, Sequence, Signal, Subflow, Timer, TryCatchFinally, Worktree,
  approvalSelectionSchema, createScorer, createSmithers, defineTool,
} from "smithers-orchestrator";
import { z } from "zod";
import part from "./part.tsx";

// All that Smithers does without a model or a network.
const form = z.object({ title: z.string(), pages: z.number(), tags: z.array(z.string()).nullable() });
const { Workflow, Task, smithers, outputs } = createSmithers({
  input: z.object({ topic: z.string(), wait: z.string().default("50ms"), people: z.boolean().default(true), nothing: z.string().nullable().optional() }),
  values: z.object({
    empty: z.string(), none: z.string().nullable(), absent: z.string().optional(), long: z.string(), whole: z.number(), tenth: z.number(),
    big: z.number(), small: z.number(), on: z.boolean(), off: z.boolean().nullable(), list: z.array(z.union([z.number(), z.string(), z.null()])),
    tree: z.record(z.string(), z.any()), either: z.union([z.string(), z.number()]), kind: z.enum(["a", "b"]), camelCased: z.any(),
  }),
  saved: z.object({ page: z.number() }),
  written: z.object({ text: z.string(), sources: z.array(z.string()) }),
  cachedThing: z.object({ made: z.number() }),
  lane: z.object({ name: z.string() }),
  note: z.object({ text: z.string() }),
  form,
  choice: approvalSelectionSchema,
  subPages: z.object({ pages: z.number() }),
  mail: z.object({ from: z.string(), at: z.object({ desk: z.number() }).optional() }),
});

const look = defineTool({
  name: "look", schema: z.object({ word: z.string() }),
  execute: async ({ word }) => ({ found: [word, null, 0.1] }),
});
const send = defineTool({
  name: "send", schema: z.object({ to: z.string() }), sideEffect: true,
  execute: async ({ to }, ctx) => ({ to, key: ctx.idempotencyKey ?? null }),
});
const writer = { // an agent is what has generate
  id: "writer", model: "none-1", tools: { look, send },
  async generate(call: any) {
    call.onStdout?.("thinking about “it”\n");
    const { found } = await (look as any).execute({ word: "tea" }, {});
    if (String(call.prompt).includes("send")) await (send as any).execute({ to: "ann" }, {});
    const output = { text: `about ${found[0]}`, sources: [found[0]] };
    return { text: JSON.stringify(output), output, finishReason: "stop", usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 } };
  },
};
let answers = 0;
const unsure = { // what it answers at first is not what was asked for
  id: "unsure",
  async generate() {
    return { text: answers++ === 0 ? "I do not know" : "```json\n" + JSON.stringify({ text: "yes", sources: [] }) + "\n```" };
  },
};
const brief = createScorer({
  id: "brief", name: "Brief", description: "how short it is",
  score: async ({ output }) => ({ score: JSON.stringify(output).length < 100 ? 1 : 0.25, reason: "by length", meta: { n: [1, null] } }),
});

const fail = (message: string) => () => {
  throw new TypeError(message);
};
const noted = (id: string) => <Task id={id} output={outputs.note}>{{ text: id }}</Task>;
const broken = (id: string) => <Task id={id} output={outputs.note} noRetry>{fail(`${id}: “so what”`)}</Task>;

export default smithers((ctx) => (
  <Workflow name="features">
    <Sequence>
      <Task id="values" output={outputs.values}>
        {() => ({
          empty: "", none: null, long: "ü".repeat(200_000), whole: 3, tenth: 0.1, big: 2 ** 47 - 1, small: -1e-7, on: true, off: null,
          list: [1, "two", null, -0.5], tree: { "odd key ü": [{ n: 1 }, {}], "": { deep: null } }, either: 7, kind: "b", camelCased: { aB: [true] },
        })}
      </Task>
      <Task id="saves" output={outputs.saved} retries={1} retryPolicy={{ backoff: "fixed", initialDelayMs: 5 }}>
        {async () => {
          const task = getTaskRuntime() as any;
          if (task.lastHeartbeat) return task.lastHeartbeat;
          task.heartbeat({ page: 7 });
          await setTimeout(600); // it is written twice a second
          throw new Error("what was saved is not lost");
        }}
      </Task>
      <Task id="ask" label="Ask" agent={writer} output={outputs.written} scorers={{ brief: { scorer: brief } }} memory={{ bank: "notes", retain: "on-complete" } as any}>
        {`Write about ${ctx.input.topic} and send it.`}
      </Task>
      <Task id="unsure" agent={unsure} output={outputs.written}>Write.</Task>
      <Parallel id="beside" maxConcurrency={3}>
        <Task id="made" output={outputs.cachedThing} cache={{ key: "thing", version: "1", scope: "global" }}>{() => ({ made: 1 })}</Task>
        <Timer id="soon" duration={ctx.input.wait} />
        <Task id="optional" output={outputs.note} continueOnFail noRetry>{fail("it never works")}</Task>
        <Task id="effect" output={outputs.note} sideEffect={{ idempotent: true }}>{() => ({ text: "done outside" })}</Task>
      </Parallel>
      <Branch if={ctx.outputMaybe("values", { nodeId: "values" })?.kind === "b"} then={noted("taken")} else={noted("otherwise")} />
      <MergeQueue id="queue">
        <Task id="first" output={outputs.lane}>{{ name: "first" }}</Task>
        <Worktree id="lane" path="lanes/second" branch="lane-second">
          <Task id="second" output={outputs.lane}>{() => ({ name: "second" })}</Task>
        </Worktree>
      </MergeQueue>
      <TryCatchFinally id="careful" try={broken("risky")} catch={noted("caught")} finally={noted("after")} />
      <Saga
        id="trip"
        steps={[
          { id: "flight", action: noted("book"), compensation: noted("unbook") },
          { id: "hotel", action: broken("stay"), compensation: noted("leave") },
        ]}
      />
      <Subflow id="pages" workflow={part} input={{ pages: 2 }} output={outputs.subPages} />
      <Loop id="rounds" until={(ctx.outputs.lane ?? []).filter((l: any) => l.name === "round").length >= 2} maxIterations={4}>
        <Task id="round" output={outputs.lane}>{{ name: "round" }}</Task>
      </Loop>
      {ctx.input.people && (
        <Sequence>
          <HumanTask id="fill" output={outputs.form} outputSchema={form} prompt="Fill in the form." maxAttempts={3} />
          <Approval id="pick" mode="select" output={outputs.choice} options={[{ key: "x", label: "X" }, { key: "y", label: "Y", summary: "why" }]} request={{ title: "Which?" }} />
          <Signal id="mail" schema={outputs.mail} correlationId="c-1" />
        </Sequence>
      )}
      <Task id="last" output={outputs.note} needs={{ v: "values" }}>{() => ({ text: "end" })}</Task>
    </Sequence>
  </Workflow>
));
