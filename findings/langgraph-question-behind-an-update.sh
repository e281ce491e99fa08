#!/bin/sh
# updateState of a LangGraph.js thread that waits at a question takes the question out of the state: getState still has
# the node in next, and no interrupt. One expects that the thread waits no longer, or that the question is still listed.
# An answer is accepted all the same, so a program that shows the open questions of a thread shows none, while the
# thread waits for one.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ said: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
let asked = 0;
const graph = new StateGraph(State)
  .addNode("ask", () => { asked++; return { said: [interrupt("sure?")] }; }).addEdge(START, "ask")
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "a" } };
const show = async (what) => {
  const { values, next, tasks } = await graph.getState(config);
  const questions = tasks.flatMap((task) => task.interrupts).length;
  console.log(`${what}: next ${JSON.stringify(next)}, questions ${questions}, said ${JSON.stringify(values.said)}, the node ran ${asked} time`);
};
await graph.invoke({ said: [] }, config);
await show("asked");
await graph.updateState(config, { said: ["a note"] });
await show("after an update");
await graph.invoke(new Command({ resume: "yes" }), config);
await show("after an answer");
JS
cat >seen <<'TEXT'
asked: next ["ask"], questions 1, said [], the node ran 1 time
after an update: next ["ask"], questions 0, said ["a note"], the node ran 1 time
after an answer: next [], questions 0, said ["a note","yes"], the node ran 2 time
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
