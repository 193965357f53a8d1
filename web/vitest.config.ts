// SPDX-License-Identifier: MIT
// Unit tests: no browser.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/**/*.test.{ts,tsx}"], environment: "node", maxWorkers: 2, minWorkers: 1 },
});
