// The search page in Firefox: kept at the first visit, then used with the collector dead. Talks in lines with its test:
//   node firefox_search.mjs ADDRESS FIREFOX    prints what it sees as JSON; waits for a line before the second visit
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { once } from "node:events";

const puppeteer = createRequire(new URL("../../clients/js/package.json", import.meta.url))("puppeteer-core");
const [address, executablePath] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
const complaints = [];

const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
const page = await browser.newPage();
page.on("console", (message) => complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(error.message));

/** What is found, once the page has said this. */
async function visit(said, text) {
  await page.goto(address);
  await page.waitForFunction((sentence) => document.body.textContent.includes(sentence), {}, said);
  await page.type("input", text);
  const answers = await page.$$eval(".results li a bdi:first-child", (names) => names.map((name) => name.textContent));
  console.log(JSON.stringify({ answers, complaints }));
}

try {
  await visit("Kept in this browser", "weathr");
  await once(lines, "line");
  await visit("The collector cannot be reached", "pancake");
} finally {
  await browser.close();
  lines.close();
}
