/** @jsxImportSource smithers-orchestrator */
import { Loop, createSmithers } from "smithers-orchestrator";
import { z } from "zod";

// One task in a loop, with half a kilobyte of output each time.
const { Workflow, Task, smithers, outputs } = createSmithers({
  input: z.object({ times: z.number() }),
  page: z.object({ number: z.number(), text: z.string() }),
});

export default smithers((ctx) => (
  <Workflow name="pages">
    <Loop id="pages" until={!!ctx.outputMaybe("page", { nodeId: "page", iteration: ctx.input.times - 1 })} maxIterations={1000}>
      <Task id="page" output={outputs.page}>
        {() => {
          const number = Number(ctx.iterations?.pages ?? ctx.iteration);
          return { number, text: `page ${number}, `.repeat(60).slice(0, 500) };
        }}
      </Task>
    </Loop>
  </Workflow>
));
