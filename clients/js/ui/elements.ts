/** Elements of a page from plain values. Text is always text: nothing here reads markup. */

export type Child = Node | string | number | false | null | undefined | readonly Child[];

/** Attributes by name. True is an empty one; false, null and undefined are none; functions listen to the event of "on...". */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | ((event: any) => void)>>;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function drawing<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Replaces what an element holds. */
export const fill = <T extends Element>(parent: T, ...children: Child[]): T => {
  parent.replaceChildren(...nodes(children));
  return parent;
};

function filled<T extends Element>(node: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  node.append(...nodes(children));
  return node;
}

const nodes = (children: readonly Child[]): (Node | string)[] =>
  children.flatMap((child) =>
    Array.isArray(child)
      ? nodes(child)
      : child === false || child == null
        ? []
        : [child instanceof Node ? child : String(child)],
  );
