/** A box to search in, and the answers to what is typed. What is typed goes to `search` and nowhere else. */
import type { Answer, Result } from "../src/search.ts";
import { element, fill } from "./elements.ts";
import { visible, webAddress, withError } from "./texts.ts";

export interface SearchBoxOptions {
  search(text: string): Answer;
  /** The day of the release that is searched. */
  released: string;
  label?: string;
  /** What is said while nothing is typed. */
  hint?: string;
  /** Opens an answer that has an address, instead of following the link. */
  open?(url: string): void;
}

export interface SearchBox {
  readonly box: HTMLElement;
  readonly input: HTMLInputElement;
}

let boxes = 0;

/**
 * An input, and under it a list of links. The arrow keys go up and down, Enter opens (in the input: the first answer),
 * Escape empties the box, and a letter typed on an answer goes on in the input. An answer without an address is a button
 * that completes the text.
 */
export function searchBox({ search, released, label = "Search", hint = "", open }: SearchBoxOptions): SearchBox {
  const id = `search-${++boxes}`;
  const status = element("p", { class: "quiet hint", role: "status", id: `${id}-status` }, hint);
  const results = element("ol", { class: "results", "aria-label": "Answers" });
  const input = element("input", {
    id,
    type: "search",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false", // some browsers send what they check to somebody
    enterkeyhint: "go",
    maxlength: 200,
    "aria-describedby": `${id}-status`,
    oninput: answer,
  });
  const box = element(
    "div",
    { class: "search", role: "search", onkeydown: steer },
    element("label", { for: id }, label),
    input,
    status,
    results,
  );

  function answer(): void {
    const text = input.value;
    const { results: answers, nearest } = text.trim() ? search(text) : { results: [], nearest: false };
    fill(results, answers.map(line));
    const number = answers.length;
    if (!text.trim()) status.textContent = hint;
    else if (nearest) status.textContent = number ? "Nothing found. The nearest:" : "Nothing found.";
    else status.textContent = number === 1 ? "1 answer" : `${number} answers`;
  }

  function line(result: Result): HTMLLIElement {
    const { query, url, share, error, match } = result;
    const href = webAddress(url);
    const name = element("bdi", { class: "answer-query" }, visible(query));
    const follow = (event: Event): void => {
      if (!open) return;
      event.preventDefault();
      open(href!);
    };
    const complete = (): void => {
      input.value = query;
      input.focus();
      answer();
    };
    const target = href
      ? element("a", { href, rel: "noreferrer", onclick: follow }, name, element("bdi", { class: "answer-url" }, visible(url!)))
      : element(
          "button",
          { type: "button", onclick: complete },
          name,
          url !== null && element("bdi", { class: "answer-url" }, visible(url)),
        );
    const kind = match === "typo" ? " · spelt otherwise" : "";
    return element(
      "li",
      {},
      target,
      element("span", { class: "answer-share" }, `${withError(share, error)} · ${released}${kind}`),
    );
  }

  function steer(event: KeyboardEvent): void {
    const stops = [input, ...results.querySelectorAll<HTMLElement>("a, button")];
    const at = stops.indexOf(event.target as HTMLElement);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.isComposing || at < 0) return;
    if (step) stops[(at + step + stops.length) % stops.length]!.focus();
    else if (event.key === "Enter" && !at) stops[1]?.click();
    else if (event.key === "Escape") {
      input.value = "";
      input.focus();
      answer();
    } else {
      const isLetter = [...event.key].length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (at && isLetter) input.focus(); // and the letter goes there
      return;
    }
    event.preventDefault();
  }

  return { box, input };
}
