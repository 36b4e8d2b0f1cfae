// Requests over a real connection: what a server may try, and what the device makes of it.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { request } from "../../src/http.ts";
import { reasonOf } from "../device_fake.ts";

let server: Server;

async function serving(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const get = (url: string) => request((address, init) => fetch(address, init), { url });

test("redirects are not followed", async () => {
  const asked: string[] = [];
  const url = await serving((incoming, answer) => {
    asked.push(incoming.url!);
    answer.writeHead(302, { location: "/elsewhere" }).end();
  });
  expect((await get(`${url}/v1/keys`)).status).toBe(302);
  expect(asked).toEqual(["/v1/keys"]);
});

test("bytes are counted after decompression, and no more are read", async () => {
  const bomb = gzipSync(new Uint8Array(64 << 20));
  const url = await serving((_, answer) => {
    answer.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length }).end(bomb);
  });
  expect(bomb.length).toBeLessThan(1 << 20);
  expect(await reasonOf(get(url))).toBe("document");
});

test("exactly as many bytes as allowed are taken", async () => {
  let length = 1 << 20;
  const url = await serving((_, answer) => {
    answer.end(new Uint8Array(length));
  });
  expect((await get(url)).body.length).toBe(1 << 20);
  length++;
  expect(await reasonOf(get(url))).toBe("document");
});

test("an answer that drips is given up", async () => {
  const timeout = AbortSignal.timeout;
  AbortSignal.timeout = () => timeout.call(AbortSignal, 200);
  const url = await serving((_, answer) => {
    answer.writeHead(200);
    const timer = setInterval(() => answer.write("x"), 20);
    answer.on("close", () => clearInterval(timer));
  });
  try {
    const start = Date.now();
    expect(await reasonOf(get(url))).toBe("NetworkError");
    expect(Date.now() - start).toBeLessThan(2000);
  } finally {
    AbortSignal.timeout = timeout;
  }
});

test("a connection that is cut, or refused, is no answer", async () => {
  const url = await serving((_, answer) => {
    answer.writeHead(200, { "content-length": 100 });
    answer.write("half");
    setTimeout(() => answer.destroy(), 10);
  });
  expect(await reasonOf(get(url))).toBe("NetworkError");
  expect(await reasonOf(get("http://127.0.0.1:1/"))).toBe("NetworkError");
});

test("no cookie is kept, and what is sent is what was given", async () => {
  const seen: [string | undefined, string | undefined, string | undefined, string][] = [];
  const url = await serving((incoming, answer) => {
    let body = "";
    incoming.on("data", (part) => (body += part));
    incoming.on("end", () => {
      const { cookie, authorization, "content-type": type } = incoming.headers;
      seen.push([cookie, authorization, type, body]);
      answer.writeHead(201, { "set-cookie": "a=b", "retry-after": "7" }).end("yes");
    });
  });
  const send = () =>
    request((address, init) => fetch(address, init), {
      url,
      method: "PUT",
      body: new TextEncoder().encode("bytes"),
      mediaType: "application/x",
      token: "t",
    });
  expect((await send()).retryAfter).toBe("7");
  expect(new TextDecoder().decode((await send()).body)).toBe("yes");
  expect(seen).toEqual([1, 2].map(() => [undefined, "Bearer t", "application/x", "bytes"]));
});
