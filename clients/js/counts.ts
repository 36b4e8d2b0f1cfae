// After the tests: how many in each engine, and every one that was left out by name; an engine without tests is a failure.
import type { Reporter, TestModule, Vitest } from "vitest/node";

export class Counts implements Reporter {
  private engines: string[] = [];

  onInit(vitest: Vitest) {
    this.engines = vitest.projects.map(({ name }) => name);
  }

  onTestRunEnd(modules: readonly TestModule[]) {
    for (const engine of this.engines) {
      const tests = modules.filter(({ project }) => project.name === engine).flatMap((one) => [...one.children.allTests()]);
      const count = (state: string) => tests.filter((test) => test.result().state === state).length;
      const name = engine.replace(/ .*/, "");
      console.log(`javascript: ${name}: ${count("passed")} tests pass, ${count("failed")} fail`);
      for (const test of tests)
        if (["skipped", "pending"].includes(test.result().state))
          console.log(`javascript: ${name}: LEFT OUT: ${test.module.relativeModuleId}: ${test.fullName}`);
      if (tests.length === 0) {
        console.log(`javascript: ${name}: NO TEST RAN`);
        process.exitCode = 1;
      }
    }
  }
}
