/** The search box over a release that is kept. */
import { utf8 } from "../../src/bytes.ts";
import { readIndex } from "../../src/search.ts";
import type { Child } from "../../ui/elements.ts";
import { searchBox } from "../../ui/search_box.ts";
import { count } from "../../ui/texts.ts";
import { api } from "./api.ts";
import { indexKey, type KeptIndex } from "./state.ts";

export const NOTHING_YET =
  "There is nothing to search yet. When a campaign's result is released, it is fetched once, verified and kept; then you search it here, without a network.";

/** A box that searches this release; what is typed leaves neither the page nor the device. */
export async function finder(kept: KeptIndex, typed = ""): Promise<Child[]> {
  const { title, released } = kept;
  const key = indexKey(kept);
  const index = await readIndex(utf8((await api.storage.local.get(key))[key]));
  const { box, input } = searchBox({
    search: (text) => index.search(text),
    released,
    label: "Search what is popular",
    hint: `${count(index.records)} records of “${title}”, released ${released}. What you type stays on this device.`,
    open: (url) => void api.tabs.create({ url }),
  });
  if (typed) {
    input.value = typed;
    input.dispatchEvent(new Event("input"));
  }
  return [box];
}
