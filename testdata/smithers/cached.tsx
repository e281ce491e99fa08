/** @jsxImportSource smithers-orchestrator */
import { appendFileSync } from "node:fs";
import { createSmithers } from "smithers-orchestrator";
import { z } from "zod";

// A task whose result is used again, and that notes when it runs.
const { Workflow, Task, smithers, outputs } = createSmithers({
  input: z.object({}),
  thing: z.object({ made: z.number() }),
});

export default smithers(() => (
  <Workflow name="cached">
    <Task id="made" output={outputs.thing} cache={{ key: "thing", version: "1" }}>
      {() => {
        appendFileSync("ran.txt", "made\n");
        return { made: 1 };
      }}
    </Task>
  </Workflow>
));
