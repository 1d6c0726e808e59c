/** Warns developers in the page's console, where there is no logger: of settings and attributes, never of what they hold. */
export function advise(text: string): void {
  console.warn(text);
}
