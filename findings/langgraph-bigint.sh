#!/bin/sh
# A node of LangGraph.js returns a BigInt. One expects an error from the checkpointer, or a number that comes back. The run
# ends well, and the serializer stores a sentence in the place of the value; the MemorySaver, which serializes the checkpoint
# as one value, has that sentence in the place of the whole checkpoint. What the thread knew is gone, and getState fails
# with words about something else.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const saver = new MemorySaver();
const graph = new StateGraph(Annotation.Root({ name: Annotation(), count: Annotation() }))
  .addNode("tally", () => ({ count: 10n })).addEdge(START, "tally")
  .compile({ checkpointer: saver });
const config = { configurable: { thread_id: "t" } };
const { name, count } = await graph.invoke({ name: "Ada" }, config);
console.log(`the run ends with name ${name}, count ${count}`);
console.log(`a BigInt is stored as ${new TextDecoder().decode((await saver.serde.dumpsTyped(10n))[1])}`);
const { checkpoint } = await saver.getTuple(config);
console.log(`the latest checkpoint: ${JSON.stringify(checkpoint)}`);
console.log(`getState: ${await graph.getState(config).then((state) => JSON.stringify(state.values), (error) => error.message)}`);
JS
cat >seen <<'TEXT'
the run ends with name Ada, count 10
a BigInt is stored as "[unable to serialize, circular reference is too complex to analyze]"
the latest checkpoint: "[unable to serialize, circular reference is too complex to analyze]"
getState: Cannot read properties of undefined (reading 'name')
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
