#!/bin/sh
# Command({goto}) sends a thread of LangGraph.js that waits at a question to another node. One expects that the question
# is left. The other node runs as a task beside the question: next and the question stay. Sent there once more, the node
# runs again, and its write is dropped, since the task has the id of the first one. When the question is answered at
# last, the answer's write comes before the write of the node that ran long before.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ path: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
let calls = 0;
const graph = new StateGraph(State)
  .addNode("ask", () => ({ path: [`asked, ${interrupt("which way?")}`] }), { ends: ["other"] })
  .addNode("other", () => { calls++; return { path: ["other"] }; })
  .addEdge(START, "ask")
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "a" } };
const show = async (what) => {
  const { next, tasks, values } = await graph.getState(config);
  console.log(`${what}: path ${JSON.stringify(values.path)}, next ${JSON.stringify(next)}, questions ${tasks.flatMap((task) => task.interrupts).length}, the other node ran ${calls} time`);
};
await graph.invoke({ path: [] }, config);
await show("stopped at the question");
await graph.invoke(new Command({ goto: "other" }), config);
await show("sent to another node");
await graph.invoke(new Command({ goto: "other" }), config);
await show("sent there again");
await graph.invoke(new Command({ resume: "left" }), config);
await show("answered at last");
JS
cat >seen <<'TEXT'
stopped at the question: path [], next ["ask"], questions 1, the other node ran 0 time
sent to another node: path ["other"], next ["ask"], questions 1, the other node ran 1 time
sent there again: path ["other"], next ["ask"], questions 1, the other node ran 2 time
answered at last: path ["asked, left","other"], next [], questions 0, the other node ran 2 time
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
