import { Database } from "bun:sqlite";
import { diffSnapshots } from "@smithers-orchestrator/time-travel/diff";
import { parseSnapshot } from "@smithers-orchestrator/time-travel/snapshot/parseSnapshot";

// What Smithers itself says about each frame of a run and the one before, a line each.
const [path, run] = process.argv.slice(2);
const snapshots = new Database(path!, { readonly: true }).query(
  `SELECT s.frame_no AS frameNo, s.vcs_pointer AS vcsPointer, c.nodes_json AS nodesJson, c.outputs_json AS outputsJson, c.ralph_json AS ralphJson,
     c.input_json AS inputJson FROM _smithers_snapshots s JOIN _smithers_snapshot_contents c USING (content_hash)
   WHERE s.run_id = ? ORDER BY s.frame_no`,
).all(run!) as any[];
snapshots.slice(1).forEach((b, i) => {
  const a = snapshots[i];
  console.log(JSON.stringify({ from: a.frameNo, to: b.frameNo, ...diffSnapshots(parseSnapshot(a), parseSnapshot(b)) }));
});
