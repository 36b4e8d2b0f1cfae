// The responder: the protocol by which any client is held to the vectors.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

function ask(...questions: object[]): unknown[] {
  const input = questions.map((question) => `${JSON.stringify(question)}\n`).join("");
  const { status, stdout, stderr } = spawnSync(process.execPath, ["test/responder.mjs"], { input, encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("answers in order: output, refusal, unsupported, fault", () => {
  const normalise = { rule: "blendp-1", level: "query", text: "  Two  Words " };
  const answers = ask(
    { id: 1, call: "normalise", input: normalise },
    { id: "b", call: "document", input: { type: "terms", text: "{}" } },
    { id: 3, call: "toString", input: {} },
    { id: 4, call: "rank", input: null },
  );
  expect(answers.slice(0, 3)).toEqual([
    { id: 1, output: { text: "two words" } },
    { id: "b", refused: "terms" },
    { id: 3, unsupported: true },
  ]);
  expect(answers[3]).toEqual({ id: 4, error: expect.any(String) });
});
