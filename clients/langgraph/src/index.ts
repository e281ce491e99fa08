export { GitSmithersSaver, type GitSmithersOptions, type Progress } from "./saver.js";
export { GitSmithersError } from "./rpc.js";
