// A collector in a process of its own, as an organisation runs it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const ROOT = resolve(import.meta.dirname, "../../../..");

export class RealCollector {
  private readonly process: ChildProcessByStdio<Writable, Readable, null>;
  private readonly lines: AsyncIterator<string>;
  readonly ready: Promise<{ url: string; key: string; campaign: string }>;

  /** Starts it; `ready` says where it is. */
  constructor() {
    const python = `${ROOT}/.venv/bin/python`;
    this.process = spawn(python, [`${import.meta.dirname}/real_collector.py`], {
      cwd: ROOT,
      env: { ...process.env, PYTHONPATH: ROOT },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.lines = createInterface(this.process.stdout)[Symbol.asyncIterator]();
    this.ready = this.heard();
  }

  private async heard(): Promise<any> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("The collector died.");
    return JSON.parse(value);
  }

  /** Releases the campaign, or stops the server. */
  say(word: "release" | "stop"): Promise<any> {
    this.process.stdin.write(`${word}\n`);
    return this.heard();
  }

  async end(): Promise<void> {
    this.process.stdin.end();
    await new Promise((resolve) => (this.process.exitCode === null ? this.process.once("exit", resolve) : resolve(null)));
  }
}
