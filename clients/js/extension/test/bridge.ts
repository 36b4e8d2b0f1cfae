// Pages of an extension cannot be driven in Firefox. So tests add one to theirs, within a page of the web, which asks on
// their behalf. It is no part of what is packed.

const CONTENT = `
const frame = document.createElement("iframe");
frame.src = browser.runtime.getURL("bridge.html");
addEventListener("DOMContentLoaded", () => document.body.append(frame));
`;

const PAGE = `<!doctype html><meta charset="utf-8"><script src="bridge.js"></script>`;

const SCRIPT = `
const port = browser.runtime.connect();
port.onMessage.addListener((message) => parent.postMessage(message, "*"));
addEventListener("message", async ({ data }) => {
  if (data.path) return port.postMessage(data);
  parent.postMessage({ number: data.number, value: await browser.runtime.sendMessage(data.message) }, "*");
});
`;

const BACKGROUND = `
/** The text of a part of the page, which opens by itself at an install. */
async function show(section, sign) {
  const view = browser.extension.getViews({ type: "tab" }).find(({ location }) => location.pathname === "/page.html");
  view.location.hash = section;
  for (let i = 0; i < 200 && !view.document.body.innerText.includes(sign); i++) await new Promise((resolve) => setTimeout(resolve, 50));
  return view.document.body.innerText;
}

browser.runtime.onConnect.addListener((port) =>
  port.onMessage.addListener(async ({ number, path, values }) => {
    try {
      if (path === "show") return port.postMessage({ number, value: await show(...values) });
      const names = path.split(".");
      const method = names.pop();
      const owner = names.reduce((object, name) => object[name], path.startsWith("indexedDB") ? globalThis : browser);
      port.postMessage({ number, value: await owner[method](...values) });
    } catch (error) {
      port.postMessage({ number, failure: String(error) });
    }
  }),
);
`;

/** The extension's files with the bridge, for pages of this machine, which it may talk to from the start. */
export function bridged(files: [string, Buffer][], matches: string[]): [string, Buffer][] {
  const manifest = JSON.parse(String(Object.fromEntries(files)["manifest.json"]));
  manifest.host_permissions = matches;
  manifest.content_scripts = [{ matches: ["http://127.0.0.1/bridge"], js: ["bridge_content.js"], run_at: "document_start" }];
  manifest.web_accessible_resources = [{ resources: ["bridge.html"], matches: ["http://127.0.0.1/*"] }];
  // what Firefox asks about data cannot be answered in a test
  const { gecko } = manifest.browser_specific_settings;
  gecko.data_collection_permissions = { required: gecko.data_collection_permissions.optional };
  const policy = manifest.content_security_policy;
  policy.extension_pages = policy.extension_pages.replace("frame-ancestors 'none'; ", "");
  manifest.background.scripts.push("bridge_background.js");
  const added = {
    "manifest.json": JSON.stringify(manifest),
    "bridge.html": PAGE,
    "bridge.js": SCRIPT,
    "bridge_content.js": CONTENT,
    "bridge_background.js": BACKGROUND,
  };
  return Object.entries({ ...Object.fromEntries(files), ...added }).map(([name, contents]) => [name, Buffer.from(contents)]);
}
