#!/bin/sh
# A run of LangGraph.js that goes on, by invoke(null) or with an answer, takes two steps more than its
# recursionLimit; a new run takes exactly that many. One expects the limit itself, or what is left of it. Whoever
# continues a run one step at a time, to look at each, gets three with a limit of 1, and the limit that stops an agent
# that spends money lets two more steps through after each question.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ steps: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });
const loop = (checkpointer) => new StateGraph(State)
  .addNode("work", () => ({ steps: 1 }))
  .addEdge(START, "work").addConditionalEdges("work", () => "work")
  .compile({ checkpointer });
const asking = (checkpointer) => new StateGraph(State)
  .addNode("ask", () => { interrupt("go on?"); return { steps: 1 }; }).addNode("work", () => ({ steps: 1 }))
  .addEdge(START, "ask").addEdge("ask", "work").addConditionalEdges("work", () => "work")
  .compile({ checkpointer });
const ended = (error) => { if (error.name !== "GraphRecursionError") throw error; };

for (const recursionLimit of [1, 2, 5]) {
  const config = { configurable: { thread_id: "a" }, recursionLimit };
  const taken = [];
  const graph = loop(new MemorySaver());
  let before = 0;
  for (const input of [{ steps: 0 }, null, null]) {
    await graph.invoke(input, config).catch(ended);
    const { steps } = (await graph.getState(config)).values;
    taken.push(steps - before);
    before = steps;
  }
  const other = asking(new MemorySaver());
  await other.invoke({ steps: 0 }, { configurable: { thread_id: "b" } });
  await other.invoke(new Command({ resume: "yes" }), { configurable: { thread_id: "b" }, recursionLimit }).catch(ended);
  const answered = (await other.getState({ configurable: { thread_id: "b" } })).values.steps;
  console.log(`recursionLimit ${recursionLimit}: a new run takes ${taken[0]}, continued ${taken[1]}, continued again ${taken[2]}, after an answer ${answered}`);
}
JS
cat >seen <<'TEXT'
recursionLimit 1: a new run takes 1, continued 3, continued again 3, after an answer 3
recursionLimit 2: a new run takes 2, continued 4, continued again 4, after an answer 4
recursionLimit 5: a new run takes 5, continued 7, continued again 7, after an answer 7
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
