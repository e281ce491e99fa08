/** @jsxImportSource smithers-orchestrator */
import { Loop, Sequence, createSmithers } from "smithers-orchestrator";
import { z } from "zod";

// What features.tsx has as a subflow, and what is a run of its own: pages, and how many. With
// perRun, a new run goes on after as many rounds; below 0 pages, the first one fails.
const { Workflow, Task, smithers, outputs } = createSmithers({
  input: z.object({ pages: z.number(), perRun: z.number().default(0) }),
  page: z.object({ number: z.number() }),
  output: z.object({ pages: z.number() }), // of that name: what the subflow gives
});

export default smithers((ctx) => {
  const number = () => Number(ctx.iterations?.pages ?? ctx.iteration);
  const page = () => {
    if (ctx.input.pages < 0) throw Object.assign(new Error("less than none: “no”"), { code: "E_PAGES" });
    return { number: number() };
  };
  return (
    <Workflow name="part">
      <Sequence>
        <Loop id="pages" until={(ctx.outputs.page?.length ?? 0) >= ctx.input.pages && ctx.input.pages >= 0} maxIterations={10} continueAsNewEvery={ctx.input.perRun || undefined}>
          <Task id="page" output={outputs.page} retries={1} retryPolicy={{ backoff: "fixed", initialDelayMs: 5 }}>{page}</Task>
        </Loop>
        <Task id="total" output={outputs.output}>{() => ({ pages: number() })}</Task>
      </Sequence>
    </Workflow>
  );
});
