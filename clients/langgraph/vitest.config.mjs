import { defineConfig } from "vitest/config";

export default defineConfig({ test: { globals: true, include: ["test/**/*.spec.mjs"], testTimeout: 60_000, hookTimeout: 60_000 } });
