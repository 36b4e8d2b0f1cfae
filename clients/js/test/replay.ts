// One call of the vectors' protocol, answered by the client under test.
import { NetworkError } from "../src/errors.ts";
import { calls } from "./calls.js";

export interface Case {
  name: string;
  input: unknown;
  output?: unknown;
  reason?: string;
}

export interface Vectors {
  kind: string;
  call: string;
  rules: string[];
  cases: Case[];
}

export type Answer = { output: unknown } | { refused: string } | { unsupported: true };

/** What the client answers; an error without a reason is a fault of the client or the vector, and is thrown on. */
export async function answer(call: string, input: unknown): Promise<Answer> {
  const run = Object.hasOwn(calls, call) ? calls[call] : undefined;
  if (run === undefined) return { unsupported: true };
  try {
    return { output: JSON.parse(JSON.stringify(await run(input))) };
  } catch (error) {
    const { parameter, reason } = error as { parameter?: unknown; reason?: unknown };
    const refused = error instanceof NetworkError ? "network" : (reason ?? parameter);
    if (typeof refused !== "string") throw error;
    return { refused };
  }
}

/** What the vector wants to be answered. */
export function wanted({ output, reason }: Case): Answer {
  return reason === undefined ? { output } : { refused: reason };
}
