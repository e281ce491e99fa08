#!/bin/sh
# A node of LangGraph.js with a cachePolicy asks a question. One expects that what a person answers is not cached, or that
# the question is asked in each thread. The result after the answer is cached by the input of the node alone: another
# thread with the same input is not asked, and goes on with the answer that was given in the first one. So it is with a
# graph of other code whose node has the same name, if it has the same cache: it gets the result of the first.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";
import { InMemoryCache } from "@langchain/langgraph-checkpoint";

const State = Annotation.Root({ file: Annotation(), said: Annotation() });
const cache = new InMemoryCache();
const compile = (review) => new StateGraph(State)
  .addNode("review", review, { cachePolicy: { ttl: 600 } }).addEdge(START, "review")
  .compile({ checkpointer: new MemorySaver(), cache });
const run = async (what, graph, thread_id, answer) => {
  const config = { configurable: { thread_id } };
  await graph.invoke({ file: "main.go" }, config);
  const { next } = await graph.getState(config);
  if (next.length > 0) await graph.invoke(new Command({ resume: answer }), config);
  const { values } = await graph.getState(config);
  console.log(`${what}: ${next.length > 0 ? "asked" : "not asked"}, ${values.said}`);
};
const asking = compile(({ file }) => ({ said: `${interrupt(`is ${file} good?`)}` }));
await run("first thread", asking, "a", "yes, says Ada");
await run("second thread", asking, "b", "no, says Bob");
await run("another graph, which asks nobody", compile(() => ({ said: "tests pass" })), "c");
JS
cat >seen <<'TEXT'
first thread: asked, yes, says Ada
second thread: not asked, yes, says Ada
another graph, which asks nobody: not asked, yes, says Ada
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
