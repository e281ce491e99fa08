/** The address of this file. */
// @ts-ignore: CommonJS has another here.js, which cjs.mjs writes
export const here: string = import.meta.url;
